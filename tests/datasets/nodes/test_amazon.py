from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from gsina.datasets.nodes import amazon
from gsina.datasets.nodes.amazon import FILE, read_photo
from gsina.datasets.raw.sources import RawFile, at_hand


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    monkeypatch.setattr(amazon, "FILE", RawFile(FILE.path))
    path = tmp_path / FILE.path
    path.parent.mkdir()
    arrays = {}
    adjacency = csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]], dtype=np.float32))
    features = csr_array(np.array([[3, 0], [0, 1], [2, 2]], dtype=np.float32))
    for name, matrix in (("adj", adjacency), ("attr", features)):
        arrays |= {
            f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")
        }
        arrays[f"{name}_shape"] = np.array(matrix.shape)
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


@pytest.mark.usefixtures("path")
def test_small_file() -> None:
    x, edges = read_photo()
    assert x.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert edges.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]  # No loop, both directions.


def test_altered_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"photo\.npz is not a complete \.npz file"):
        read_photo()
    np.savez(path, adj_data=np.ones(3))
    with pytest.raises(ValueError, match=r"photo\.npz is not a complete \.npz file.*attr_data"):
        read_photo()
    monkeypatch.setattr(amazon, "FILE", FILE)
    with pytest.raises(ValueError, match=r"photo\.npz is truncated or altered: its SHA-256"):
        read_photo()


@pytest.mark.data
def test_real_file_is_as_pyg_reads_it() -> None:
    if not at_hand(FILE):
        pytest.skip(f"{FILE.path} is not in the data folder")
    from torch_geometric.io import read_npz

    x, edges = read_photo()
    assert x.shape == (7650, 745)
    assert edges.shape == (2, 238162)
    data = read_npz(str(FILE.target), to_undirected=True)
    assert torch.equal(torch.from_numpy(x.toarray()).float(), data.x)
    assert torch.equal(torch.from_numpy(edges), data.edge_index)
