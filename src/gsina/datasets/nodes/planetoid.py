"""Cora in the Planetoid format: papers, their words and citations.

Yang et al., "Revisiting Semi-Supervised Learning with Graph Embeddings", ICML 2016. The nodes of
the test part come last and in another order than in the graph; ``ind.cora.test.index`` gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.datasets.raw.number_files import read_column
from gsina.datasets.raw.pickles import read_arrays
from gsina.datasets.raw.sources import OnProgress, RawFile, raw_file, verify

URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
SHA256 = {
    "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
}
FILES = {
    part: RawFile(f"planetoid/ind.cora.{part}", f"{URL}/ind.cora.{part}", (digest,))
    for part, digest in SHA256.items()
}


def read_cora(progress: OnProgress | None = None) -> tuple[Any, NDArray[np.int64]]:
    """Cora's features and edges; both directions of every edge, no loops, no duplicates.

    Returns:
        0/1 features, a sparse matrix ``[2708, 1433]``, and edges ``[2, 10556]`` in order.
    """
    from scipy.sparse import csr_array, vstack

    paths = {}
    for part, file in FILES.items():
        paths[part] = raw_file(file, progress=progress)
        verify(paths[part], file)
    allx, tx, graph = (read_arrays(paths[part]) for part in ("allx", "tx", "graph"))
    test = read_column(paths["test.index"].read_bytes(), str(paths["test.index"]))
    place = np.arange(allx.shape[0] + tx.shape[0])
    place[test] = place[allx.shape[0] :]
    source = np.repeat(list(graph), [len(targets) for targets in graph.values()])
    target = np.concatenate(list(graph.values()))
    ones = np.ones(len(source), dtype=np.int8)
    adjacency = csr_array((ones, (source, target)), shape=(len(place), len(place)))
    return csr_array(vstack([allx, tx]))[place], edges_of(adjacency)


def edges_of(adjacency: Any) -> NDArray[np.int64]:
    """Edges ``[2, E]`` of a sparse matrix in order of rows; no loops, each once."""
    rows = adjacency.tocsr()
    rows.sum_duplicates()
    source, target = rows.nonzero()
    proper = source != target
    return np.stack([source[proper], target[proper]]).astype(np.int64)
