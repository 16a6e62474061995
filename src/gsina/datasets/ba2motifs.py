"""BA-2Motifs: a random base graph with a five-cycle (class 0) or a house (class 1).

Luo et al., "Parameterized Explainer for Graph Neural Networks", 2020. Every graph has 25 nodes; the
motif is on nodes 20 to 24. In 40 of the 1,000 graphs of the published file the motif hangs on
itself, by a self-loop, instead of on the base; they are kept as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.random_split import random_split
from gsina.datasets.raw.compressed_files import open_npz
from gsina.datasets.raw.pickles import read_arrays
from gsina.datasets.raw.sources import (
    OnProgress,
    RawFile,
    at_hand,
    checksum_notes,
    names_checksum,
    raw_file,
)
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

VERSION = 1
#: Arrays ``adj`` [G, 25, 25], ``x`` [G, 25, 10] and ``y`` [G]; preferred where it exists.
ARRAYS = RawFile("ba2motifs/BA_2Motifs.npz")
#: The published form: a pickled tuple (adjacency, features, one-hot labels).
PICKLE = RawFile(
    "ba2motifs/BA_2Motifs.pkl",
    "https://github.com/divelab/DIG_storage/raw/main/xgraph/datasets/BA_2Motifs.pkl",
)
GRAPHS, NODES, BASE = 1000, 25, 20
#: Edges of the motifs (both directions, without self-loops): five-cycle, house.
MOTIF_EDGES = (10, 12)


def load(*, seed: int = 0, progress: OnProgress | None = None) -> Dataset:
    """Load BA-2Motifs, split at random 80/10/10 with ``seed``.

    Features are ten constant numbers. Both directions of every edge are stored. True are the nodes
    of the motif and the edges inside it.

    Args:
        seed: Decides on the split.
        progress: Called while the file is downloaded.
    """

    def make() -> Dataset:
        file = ARRAYS if at_hand(ARRAYS) else PICKLE
        path = raw_file(file, progress=progress)
        with names_checksum(file):
            splits = random_split(_read(path), seed)
        return Dataset("ba2motifs", Task("binary", 1), splits, tuple(checksum_notes(file)))

    return cached(f"ba2motifs-v{VERSION}-seed{seed}", make)


def _read(path: Path) -> PackedGraphs:
    adjacency, x, y = _from_npz(path) if path.suffix == ".npz" else _from_pickle(path)
    shapes = (adjacency.shape, x.shape[:2], y.shape)
    expected = ((GRAPHS, NODES, NODES), (GRAPHS, NODES), (GRAPHS,))
    if shapes != expected or x.ndim != 3:
        raise InputError(
            f"{path} is truncated or altered: its arrays have shapes {shapes}, expected "
            f"{expected}; delete it and fetch it again."
        )
    return _graphs(path, adjacency != 0, x, y)


def _graphs(path: Path, adjacency: NDArray[Any], x: NDArray[Any], y: NDArray[Any]) -> PackedGraphs:
    graph, source, target = np.nonzero(adjacency)
    truth = (source >= BASE) & (target >= BASE) & (source != target)
    in_motif = np.bincount(graph[truth], minlength=len(y))
    if not np.isin(y, (0, 1)).all() or (in_motif != np.take(MOTIF_EDGES, y)).any():
        raise InputError(
            f"{path} is altered: nodes {BASE} to {NODES - 1} of a graph do not form the five-cycle "
            f"of class 0 or the house of class 1; delete it and fetch it again."
        )
    return PackedGraphs(
        x=torch.from_numpy(x.reshape(-1, x.shape[-1]).astype(np.float32)),
        edge_index=torch.from_numpy(np.stack([source, target])),
        node_ptr=torch.arange(len(y) + 1) * NODES,
        edge_ptr=offsets(torch.from_numpy(np.bincount(graph, minlength=len(y)))),
        y=torch.from_numpy(y.astype(np.float32))[:, None],
        edge_truth=torch.from_numpy(truth),
        node_truth=(torch.arange(NODES) >= BASE).repeat(len(y)),
    )


def _from_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    with open_npz(path, "plain arrays adj, x and y") as arrays:
        return arrays["adj"], arrays["x"], arrays["y"]


def _from_pickle(path: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    content = read_arrays(path)
    if not (isinstance(content, (tuple, list)) and len(content) == 3):
        raise InputError(f"{path} does not hold three arrays; delete it and fetch it again.")
    adjacency, x, onehot = (np.asarray(part) for part in content)
    return adjacency, x, onehot.argmax(axis=1) if onehot.ndim == 2 else onehot
