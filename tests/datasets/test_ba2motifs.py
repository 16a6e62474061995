from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gsina.datasets import ba2motifs
from gsina.datasets.ba2motifs import ARRAYS, PICKLE, load
from gsina.datasets.raw.sources import at_hand
from raw_files import no_raw_files

CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
HOUSE = [*CYCLE, (1, 4)]


def arrays(count: int = 20) -> dict[str, NDArray[Any]]:
    y = np.arange(count) % 2
    adjacency = np.zeros((count, 25, 25), np.uint8)
    for number in range(count):
        pairs = [(i, i + 1) for i in range(20)]  # A path that ends in the motif.
        pairs += [(20 + a, 20 + b) for a, b in (CYCLE, HOUSE)[y[number]]]
        for a, b in pairs:
            adjacency[number, a, b] = adjacency[number, b, a] = 1
    adjacency[0, 20, 20] = 1
    return {"adj": adjacency, "x": np.full((count, 25, 10), 0.1, np.float32), "y": y}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    monkeypatch.setattr(ba2motifs, "GRAPHS", 20)
    (tmp_path / "ba2motifs").mkdir()
    return tmp_path / "ba2motifs"


def test_truth_is_the_motif(folder: Path) -> None:
    np.savez(folder / "BA_2Motifs.npz", **arrays())
    dataset = load()
    assert [len(part) for part in dataset.splits.values()] == [16, 2, 2]
    for graphs in dataset.splits.values():
        assert graphs.y is not None
        assert graphs.x.shape == (25 * len(graphs), 10)
        for number in range(len(graphs)):
            batch = graphs.batch([number])
            assert batch.edge_truth is not None
            assert batch.node_truth is not None
            assert batch.node_truth.nonzero().flatten().tolist() == [20, 21, 22, 23, 24]
            found = {(a - 20, b - 20) for a, b in batch.edge_index[:, batch.edge_truth].T.tolist()}
            motif = HOUSE if graphs.y[number, 0] == 1 else CYCLE
            # The self-loop of graph 0 and the edge that attaches the motif are not part of it.
            assert found == {*motif, *((b, a) for a, b in motif)}
            assert batch.reverse is not None


@pytest.mark.parametrize("protocol", [2, 5])
def test_published_pickle_gives_the_same(folder: Path, protocol: int) -> None:
    data = arrays()
    content = (data["adj"].astype(float), data["x"].astype(float), np.eye(2)[data["y"]])
    (folder / "BA_2Motifs.pkl").write_bytes(pickle.dumps(content, protocol))
    from_pickle = load(seed=5)
    np.savez(folder / "BA_2Motifs.npz", **data)
    for file in (folder.parent / "cache").iterdir():
        file.unlink()
    from_arrays = load(seed=5)
    for split, graphs in from_arrays.splits.items():
        for name, value in graphs.tensors().items():
            assert torch.equal(value, from_pickle.splits[split].tensors()[name])


def test_bad_files(folder: Path) -> None:
    path = folder / "BA_2Motifs.npz"
    with pytest.raises(FileNotFoundError, match=r"BA_2Motifs\.pkl is missing"):
        load()
    data = arrays()
    np.savez(path, **(data | {"adj": data["adj"][:, :24, :24]}))
    with pytest.raises(ValueError, match=r"BA_2Motifs\.npz is truncated or altered"):
        load()
    np.savez(path, **(data | {"y": 1 - data["y"]}))
    with pytest.raises(ValueError, match=r"BA_2Motifs\.npz is altered: nodes 20 to 24"):
        load()
    np.savez(path, adj=data["adj"])
    with pytest.raises(ValueError, match=r"BA_2Motifs\.npz is not a complete"):
        load()
    np.savez(path, **(data | {"x": np.array([None])}))
    with pytest.raises(ValueError, match=r"BA_2Motifs\.npz is not a complete"):
        load()
    np.savez_compressed(path, **data)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"BA_2Motifs\.npz is not a complete"):
        load()


@pytest.mark.data
def test_real_file() -> None:
    if not at_hand(ARRAYS) and not at_hand(PICKLE):
        pytest.skip(f"neither {ARRAYS.path} nor {PICKLE.path} is in the data folder")
    dataset = load()
    assert [len(part) for part in dataset.splits.values()] == [800, 100, 100]
    y = torch.cat([part.y for part in dataset.splits.values() if part.y is not None])
    assert y.long().flatten().bincount().tolist() == [500, 500]
    assert dataset.train.x.shape == (800 * 25, 10)
    truths = [part.edge_truth for part in dataset.splits.values()]
    assert sum(int(truth.sum()) for truth in truths if truth is not None) == 500 * 10 + 500 * 12
    with no_raw_files():
        load()
