"""Amazon-Photo: products, the words of their reviews, and what was bought together.

Shchur et al., "Pitfalls of Graph Neural Network Evaluation", 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.datasets.nodes.planetoid import edges_of
from gsina.datasets.raw.compressed_files import open_npz
from gsina.datasets.raw.sources import OnProgress, RawFile, raw_file, verify

FILE = RawFile(
    "amazon/amazon_electronics_photo.npz",
    "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/amazon_electronics_photo.npz",
    ("2b8d158fa1483bca508de5025cf31c17cf15e63600e294c547e6dc87f3189fe0",),
)


def read_photo(progress: OnProgress | None = None) -> tuple[Any, NDArray[np.int64]]:
    """Photo's features and edges; edges that the file has in one direction get the other one.

    Returns:
        0/1 features, a sparse matrix ``[7650, 745]``, and edges ``[2, 238162]`` in order.
    """
    path = raw_file(FILE, progress=progress)
    verify(path, FILE)
    content = "the arrays of two sparse matrices"
    with open_npz(path, content, f" from {FILE.url}") as arrays:
        features, adjacency = (_sparse(arrays, name) for name in ("attr", "adj"))
    return (features > 0).astype(np.float64), edges_of(adjacency + adjacency.T)


def _sparse(arrays: Any, name: str) -> Any:
    from scipy.sparse import csr_array

    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(parts, shape=tuple(arrays[f"{name}_shape"].tolist()))
