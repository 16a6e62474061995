"""Amazon-Photo: products, the words of their reviews, and what was bought together.

Shchur et al., "Pitfalls of Graph Neural Network Evaluation", 2018.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.datasets.nodes.planetoid import edges_of
from gsina.datasets.raw.sources import OnProgress, RawFile, raw_file, verify
from gsina.errors import InputError

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
    try:
        with np.load(path, allow_pickle=False) as arrays:
            features, adjacency = (_sparse(arrays, name) for name in ("attr", "adj"))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} is not a complete .npz file with the arrays of two sparse matrices ({error}); "
            f"delete it and fetch it again from {FILE.url}."
        ) from error
    return (features > 0).astype(np.float64), edges_of(adjacency + adjacency.T)


def _sparse(arrays: Any, name: str) -> Any:
    from scipy.sparse import csr_array

    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(parts, shape=tuple(arrays[f"{name}_shape"].tolist()))
