"""NCI1, NCI109, PROTEINS and DD with a size shift: small graphs for training, large ones for test.

Bevilacqua et al., "Size-Invariant Graph Representations for Graph Classification Extrapolations"
(ICML 2021), as in the CIGA benchmark. Graphs with at most as many nodes as the median are for
training and validation, those with at least the 0.9-quantile are for test, the rest is unused. The
classes are unbalanced, differently in small and large graphs, hence Matthews correlation.

Which tenth of the small graphs is for validation was published as index files that are not to be
had; here it is drawn at random under ``seed``. Node features are the one-hot node labels only.

In-distribution oracle (``iid``): the papers do not define theirs; here as many graphs for train,
val and test as in the size split, drawn at random from the whole dataset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gsina.datasets.raw.sources import OnProgress, checksum_notes, names_checksum, raw_file
from gsina.datasets.tu import read_archive, tu_file
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

VERSION = 1


@dataclass(frozen=True)
class TUSource:
    """One dataset of the collection.

    Attributes:
        archive: Name of its archive.
        graphs: Number of graphs in the archive.
        edges: Number of its edges, each direction one: a truncated list of edges is no error of
            the format, and as graphs come class by class it would give the class away.
        labels: Number of one-hot columns of the node labels.
    """

    archive: str
    graphs: int
    edges: int
    labels: int


SOURCES = {
    "nci1": TUSource("NCI1", 4110, 265506, 37),
    "nci109": TUSource("NCI109", 4127, 265208, 38),
    "proteins": TUSource("PROTEINS", 1113, 162088, 3),
    "dd": TUSource("DD", 1178, 1686092, 89),
}


def load(
    name: str, seed: int = 0, iid: bool = False, progress: OnProgress | None = None
) -> Dataset:
    """Load one of :data:`SOURCES`.

    Args:
        name: ``nci1``, ``nci109``, ``proteins`` or ``dd``.
        seed: Seed of the draw of validation graphs, and of all splits with ``iid``.
        iid: Random splits of the same sizes, without a shift.
        progress: Called during a download.
    """
    if seed < 0:
        raise InputError(f"seed must be 0 or larger, got {seed}.")
    source = SOURCES[name]

    def make() -> Dataset:
        file = tu_file(source.archive)
        path = raw_file(file, progress=progress)
        with names_checksum(file):
            graphs, file_notes = _read(path, source)
        file_notes = (*file_notes, *checksum_notes(file))
        ids = size_split(graphs.node_ptr.diff(), seed)
        unused = len(graphs) - sum(len(part) for part in ids.values())
        notes = (*file_notes, f"{unused} graphs of middle size are unused")
        if iid:
            ids = _shuffled(ids, len(graphs), seed)
            notes = (*file_notes, f"{unused} graphs, drawn at random, are unused")
        splits = {split: graphs[part] for split, part in ids.items()}
        return Dataset(name, Task("multiclass", 2, "mcc"), splits, notes)

    kind = "iid" if iid else "size"
    return cached(f"{name}-v{VERSION}-{kind}-seed{seed}", make)


def _read(path: Path, source: TUSource) -> tuple[PackedGraphs, tuple[str, ...]]:
    """The graphs of an archive with their node labels as features, and notes."""
    data = read_archive(path)
    graphs = replace(data.graphs, x=data.graphs.x[:, -source.labels :], edge_attr=None)
    one_hot = (graphs.x.sum(1) == 1) & ((graphs.x == 0) | (graphs.x == 1)).all(1)
    found = (len(graphs), graphs.edge_index.size(1))
    if found != (source.graphs, source.edges) or not bool(one_hot.all()):
        raise InputError(
            f"{path} has {found[0]} graphs, {found[1]} edges and {data.graphs.num_features} "
            f"node features, expected {source.graphs} graphs, {source.edges} edges and "
            f"{source.labels} node labels: delete it and fetch it again."
        )
    return graphs, data.notes


def size_split(nodes: Tensor, seed: int) -> dict[str, Tensor]:
    """Numbers of the graphs in train, val and test, ascending.

    Args:
        nodes: Number of nodes of every graph ``[G]``.
        seed: Seed of the draw of the tenth for validation.
    """
    half, most = np.quantile(nodes.numpy(), (0.5, 0.9))
    pool = (nodes <= half).nonzero()[:, 0]
    order = _permutation(len(pool), seed)
    val = len(pool) // 10
    return {
        "train": pool[order[val:].sort().values],
        "val": pool[order[:val].sort().values],
        "test": (nodes >= most).nonzero()[:, 0],
    }


def _shuffled(ids: dict[str, Tensor], count: int, seed: int) -> dict[str, Tensor]:
    """As many graphs for each split, drawn from all ``count``."""
    sizes = [len(part) for part in ids.values()]
    drawn = torch.split(_permutation(count, seed)[: sum(sizes)], sizes)
    return {split: part.sort().values for split, part in zip(ids, drawn, strict=True)}


def _permutation(count: int, seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).permutation(count))
