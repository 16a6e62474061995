"""GOOD-CMNIST, rebuilt: digits as graphs of coloured superpixels.

The graphs are those of :mod:`gsina.datasets.images.mnist75sp`, of all 70,000 images, without the
weights of edges. A node has three features, the red, green and blue of the digit's colour times the
superpixel's intensity; where it lies is not said. The colour is the domain
(:mod:`gsina.datasets.good.shifts`): seven colours with the covariate shift, ten, as many as digits,
with the concept shift.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from gsina.datasets.good.shifts import (
    COLOURS,
    TRAINING_COLOURS,
    Part,
    Shift,
    assign_domains,
    check_shift,
)
from gsina.datasets.images.mnist75sp import build_graphs, read_split
from gsina.datasets.images.superpixels import OnProgress, Superpixels, superpixels
from gsina.datasets.raw.sources import OnProgress as OnDownload
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

VERSION = 2
#: Images below which a split could be left without a digit.
FEWEST = 100


def load(
    *,
    shift: Shift = "covariate",
    seed: int = 0,
    limit: int | None = None,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    download: OnDownload | None = None,
) -> Dataset:
    """The splits ``train``, ``id_val``, ``id_test``, ``val``, ``test``; without shift three.

    Args:
        shift: ``covariate``, ``concept`` or ``none``.
        seed: Seed of the division and of the colours.
        limit: Use only the first images; the published set has all 70,000.
        jobs: Processes that make superpixels; one per core by default.
        progress: Called with the number of images done and the total while superpixels are made.
        download: Called with bytes done and the total during a download.
    """
    check_shift(shift, seed)
    if limit is not None and limit < FEWEST:
        raise InputError(f"limit is {limit}; expected at least {FEWEST} images, or None.")

    def make() -> Dataset:
        parts = [read_split(file, None, download) for file in ("train", "test")]
        images = np.concatenate([images for images, _ in parts])[:limit]
        label = np.concatenate([labels for _, labels in parts])[:limit].astype(np.int64)
        pixels = superpixels(images, jobs=jobs, progress=progress)
        rng = np.random.default_rng(seed)
        domains = assign_domains(label, shift, TRAINING_COLOURS, rng)
        splits = {split: _coloured(pixels, label, part) for split, part in domains.items()}
        return Dataset("good-cmnist", Task("multiclass", 10, "accuracy"), splits)

    limited = "" if limit is None else f"-limit{limit}"
    return cached(f"good/cmnist-v{VERSION}-{shift}-seed{seed}{limited}", make)


def _coloured(pixels: Superpixels, label: np.ndarray, part: Part) -> PackedGraphs:
    """The graphs of a split, in the colours of their domains; ``x`` is ``[N, 3]``."""
    graphs = build_graphs(pixels, torch.from_numpy(label), torch.from_numpy(part.ids))
    colour = torch.tensor(COLOURS)[torch.from_numpy(part.domain)]
    return replace(
        graphs,
        x=graphs.x[:, :1] * colour.repeat_interleave(graphs.node_ptr.diff(), dim=0),
        edge_attr=None,
        environment=torch.from_numpy(part.environment),
    )
