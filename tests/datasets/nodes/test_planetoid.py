from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, csr_matrix

from gsina.datasets.nodes import planetoid
from gsina.datasets.nodes.planetoid import FILES, edges_of, read_cora
from gsina.datasets.raw.sources import RawFile, at_hand

#: Five nodes; rows 0 and 1 of `tx` belong to nodes 4 and 3.
ALLX = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
TX = np.array([[1, 1, 0], [0, 1, 1]], dtype=np.float32)
GRAPH = {0: [1, 1, 4], 1: [0, 1], 2: [], 3: [4], 4: [0, 3]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    small = {part: RawFile(file.path) for part, file in FILES.items()}
    monkeypatch.setattr(planetoid, "FILES", small)
    folder = tmp_path / "planetoid"
    folder.mkdir()
    parts = {"allx": csr_matrix(ALLX), "tx": csr_matrix(TX), "graph": defaultdict(list, GRAPH)}
    for name, value in parts.items():
        (folder / f"ind.cora.{name}").write_bytes(pickle.dumps(value, protocol=2))
    (folder / "ind.cora.test.index").write_text("4\n3\n")
    return folder


@pytest.mark.usefixtures("folder")
def test_small_files() -> None:
    x, edges = read_cora()
    np.testing.assert_array_equal(x.toarray(), np.vstack([ALLX, TX[1], TX[0]]))
    assert edges.T.tolist() == [[0, 1], [0, 4], [1, 0], [3, 4], [4, 0], [4, 3]]


def test_altered_files(folder: Path) -> None:
    path = folder / "ind.cora.allx"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"ind\.cora\.allx is not a complete pickle"):
        read_cora()


def test_checksum(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planetoid, "FILES", FILES)
    with pytest.raises(ValueError, match=r"ind\.cora\.allx is truncated or altered: its SHA-256"):
        read_cora()


def test_edges_of_a_matrix() -> None:
    rows, columns = [1, 0, 0, 2], [0, 1, 1, 2]
    matrix = csr_array((np.ones(4, dtype=np.int8), (rows, columns)), shape=(3, 3))
    assert edges_of(matrix).tolist() == [[0, 1], [1, 0]]


@pytest.mark.data
def test_real_files_are_as_pyg_reads_them() -> None:
    if not at_hand(*FILES.values()):
        pytest.skip("planetoid/ind.cora.* is not in the data folder")
    from torch_geometric.io import read_planetoid_data

    x, edges = read_cora()
    assert x.shape == (2708, 1433)
    assert edges.shape == (2, 10556)
    data = read_planetoid_data(str(FILES["allx"].target.parent), "cora")
    assert torch.equal(torch.from_numpy(x.toarray()).float(), data.x)
    assert torch.equal(torch.from_numpy(edges), data.edge_index.flip(0))  # In another order.
    assert set(np.unique(x.data)) == {1.0}
    assert np.array_equal(edges, edges_of(csr_array((np.ones(10556), tuple(edges[::-1])))))
