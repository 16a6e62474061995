"""GOOD-HIV, rebuilt: ogbg-molhiv with shifts of scaffold or size.

The domain is the Bemis-Murcko scaffold of a molecule or its number of atoms
(:mod:`gsina.datasets.good.shifts`). Covariate: scaffolds in alphabetical order, or molecules from
large to small, so that the smallest are for test. The paper does not say so, but its numbers of
molecules do: with sizes they come out exactly, with scaffolds but for what versions of RDKit
disagree on.

Concept: half of the scaffolds, or of the molecules by size, go with the label 1 and the others with
0, in training; :func:`~gsina.datasets.good.shifts.split_by_agreement` divides the molecules.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.good.shifts import (
    SHARES,
    Ints,
    Shift,
    check_shift,
    divide,
    split_by_agreement,
    split_by_domain,
)
from gsina.datasets.ogbg import MAPPING, SOURCES, OGBSource, fetch, read_table
from gsina.datasets.raw.sources import OnProgress
from gsina.errors import check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.task import Task
from gsina.molecules.features import ATOM_FEATURE_SIZES, FEATURES_VERSION
from gsina.molecules.packing import pack_smiles
from gsina.molecules.scaffolds import scaffolds

Domain = Literal["scaffold", "size"]

VERSION = 1
DOMAINS = ("scaffold", "size")
#: Environments that the training molecules of a covariate shift are grouped into, in their order.
GROUPS = 10


def load(
    *,
    domain: Domain = "scaffold",
    shift: Shift = "covariate",
    seed: int = 0,
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Dataset:
    """The splits ``train``, ``id_val``, ``id_test``, ``val``, ``test``; without shift three.

    Args:
        domain: ``scaffold`` or ``size``.
        shift: ``covariate``, ``concept`` or ``none``.
        seed: Seed of what is drawn: the in-distribution splits, and all of a concept.
        jobs: Number of processes that make graphs, by default one per core.
        progress: Called with the number of molecules done and the total, the first time.
    """
    check_name(domain, DOMAINS, "domain")
    check_shift(shift, seed)
    source = SOURCES["ogbg-molhiv"]
    fetch(source)
    digest = hashlib.sha256(source.file(MAPPING).target.read_bytes()).hexdigest()[:16]
    key = f"good/hiv-v{VERSION}.{FEATURES_VERSION}-{domain}-{shift}-seed{seed}-{digest}"
    return cached(key, lambda: _prepare(source, domain, shift, seed, jobs, progress))


def _prepare(
    source: OGBSource,
    domain: str,
    shift: str,
    seed: int,
    jobs: int | None,
    progress: OnProgress | None,
) -> Dataset:
    table = read_table(source)
    graphs, kept, failures = pack_smiles(table.smiles, jobs=jobs, progress=progress)
    y = table.y[kept.numpy()]
    smiles = [table.smiles[row] for row in kept.tolist()]
    place = (
        np.unique(scaffolds(smiles, jobs=jobs), return_inverse=True)[1].reshape(-1)
        if domain == "scaffold"
        else np.unique(-graphs.node_ptr.diff().numpy(), return_inverse=True)[1].reshape(-1)
    )
    ids, environment = divide_molecules(place, y[:, 0] > 0, domain, shift, seed)
    graphs = replace(
        graphs,
        y=torch.from_numpy(y),
        environment=torch.from_numpy(environment),
        edge_attr=None,  # as of the other sets of molecules
    )
    notes = [f"row {row}: {text} is left out ({reason})" for row, text, reason in failures]
    return Dataset(
        "good-hiv",
        Task("binary", 1, "roc_auc"),
        {split: graphs[torch.from_numpy(part)] for split, part in ids.items()},
        tuple(notes),
        node_sizes=ATOM_FEATURE_SIZES,
    )


def divide_molecules(
    place: Ints, active: NDArray[np.bool_], domain: str, shift: str, seed: int
) -> tuple[dict[str, Ints], Ints]:
    """Numbers of the molecules of every split, and the environment of every molecule ``[M]``.

    Args:
        place: Place of the molecule's domain in the order of domains ``[M]``.
        active: Which molecules have the label 1 ``[M]``.
        domain: ``scaffold`` or ``size``.
        shift: As of :func:`load`.
        seed: The same.
    """
    rng = np.random.default_rng([seed, DOMAINS.index(domain)])
    rank = np.empty_like(place)
    rank[np.argsort(place, kind="stable")] = np.arange(place.size)
    groups = rank * GROUPS // place.size
    if shift == "none":
        return divide(rng.permutation(place.size), SHARES["none"]), groups
    if shift == "covariate":
        return split_by_domain(place, rng), groups
    if domain == "size":
        first = rank < place.size // 2
    else:
        first = (rng.random(int(place.max()) + 1) < 0.5)[place]
    return split_by_agreement(first == active, rng)
