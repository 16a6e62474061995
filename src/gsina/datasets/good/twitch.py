"""GOOD-Twitch, rebuilt: streamers in six languages; who streams mature content?

The graphs are those of :mod:`gsina.datasets.nodes.twitch` without that of Taiwan, friendships both
ways. The domain is the language (:mod:`gsina.datasets.good.shifts`). Covariate: German, English and
Spanish for training, French for validation, Portuguese and Russian for test, which the published
numbers of nodes leave as the only way. Concept: German and French streamers go with the label 1 in
training, the others with 0. Every split has whole graphs and a mask of the nodes that count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from gsina.datasets.good.shifts import (
    SHARES,
    Ints,
    Shift,
    check_shift,
    divide,
    hold_out,
    split_by_agreement,
)
from gsina.datasets.nodes import twitch
from gsina.datasets.raw.sources import OnProgress
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs

#: Countries of the languages; those for training, validation and test with the covariate shift.
TRAIN, VAL, TEST = ("DE", "ENGB", "ES"), ("FR",), ("PTBR", "RU")
LANGUAGES = (*TRAIN, *VAL, *TEST)
#: Countries, about half of the nodes, that go with the label 1 in training.
MATURE = ("DE", "FR")


def load(
    *, shift: Shift = "covariate", seed: int = 0, progress: OnProgress | None = None
) -> Dataset:
    """The splits ``train``, ``id_val``, ``id_test``, ``val``, ``test``; without shift three.

    Args:
        shift: ``covariate``, ``concept`` or ``none``.
        seed: Seed of what is drawn: the in-distribution splits, and all of a concept.
        progress: Called during a download.
    """
    check_shift(shift, seed)
    known = twitch.load(undirected=True, progress=progress)
    graph_of = {country: known.splits[split] for split, country in twitch.SPLITS.items()}
    rng = np.random.default_rng(seed)
    if shift == "covariate":
        every = [_join(graph_of, names) for names in (TRAIN, VAL, TEST)]
        count = sum(graphs.x.size(0) for graphs in every)
        pool = hold_out(rng.permutation(every[0].x.size(0)), count)
        splits = {split: _masked(every[0], ids) for split, ids in pool.items()}
        splits |= {"val": every[1], "test": every[2]}
    else:
        graphs = _join(graph_of, LANGUAGES)
        assert graphs.node_y is not None
        mature = [country in MATURE for country in LANGUAGES]
        first = np.repeat(mature, graphs.node_ptr.diff().numpy())
        label = graphs.node_y[:, 0].numpy() > 0
        parts = (
            divide(rng.permutation(label.size), SHARES["none"])
            if shift == "none"
            else split_by_agreement(first == label, rng)[0]
        )
        splits = {split: _masked(graphs, ids) for split, ids in parts.items()}
    return Dataset("good-twitch", known.task, splits, known.notes)


def _join(graph_of: dict[str, PackedGraphs], names: tuple[str, ...]) -> PackedGraphs:
    """The graphs of some countries, each an environment."""
    graphs = PackedGraphs.join([graph_of[name] for name in names])
    return replace(graphs, environment=torch.tensor([LANGUAGES.index(name) for name in names]))


def _masked(graphs: PackedGraphs, ids: Ints) -> PackedGraphs:
    """The same graphs, of which only some nodes count."""
    mask = torch.zeros(graphs.x.size(0), dtype=torch.bool)
    mask[torch.from_numpy(ids)] = True
    return replace(graphs, mask=mask)
