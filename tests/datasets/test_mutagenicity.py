from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets import mutagenicity
from gsina.datasets.mutagenicity import FILE, load
from gsina.datasets.raw.sources import at_hand
from gsina.datasets.registry import load_dataset
from raw_files import no_raw_files

#: Twenty paths of three atoms, five of each kind; the first edge is labelled in kinds 0 and 2.
KINDS = ((0, True), (0, False), (1, True), (1, False))
GRAPHS = 20


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    monkeypatch.setattr(mutagenicity, "COUNTS", (GRAPHS, 4 * GRAPHS, GRAPHS))
    kinds = [KINDS[number % 4] for number in range(GRAPHS)]
    pairs = ((1, 2), (2, 1), (2, 3), (3, 2))
    parts = {
        "A": [f"{3 * g + a}, {3 * g + b}" for g in range(GRAPHS) for a, b in pairs],
        "edge_gt": [int(true and i < 2) for _, true in kinds for i in range(4)],
        "edge_labels": [0, 0, 1, 1] * GRAPHS,
        "graph_indicator": [g + 1 for g in range(GRAPHS) for _ in range(3)],
        "graph_labels": [label for label, _ in kinds],
        "node_labels": [4, 1, 0] * GRAPHS,
    }
    target = tmp_path / FILE.path
    target.parent.mkdir()
    with zipfile.ZipFile(target, "w") as out:
        for name, lines in parts.items():
            out.writestr(f"Mutagenicity_{name}.txt", "".join(f"{line}\n" for line in lines))
    return target


@pytest.mark.usefixtures("path")
def test_all_molecules() -> None:
    dataset = load(seed=1)
    assert [len(part) for part in dataset.splits.values()] == [16, 2, 2]
    assert (dataset.task.kind, dataset.task.outputs) == ("binary", 1)
    for graphs in dataset.splits.values():
        assert graphs.y is not None
        assert graphs.edge_truth is not None
        assert graphs.node_truth is not None
        assert graphs.y.shape == (len(graphs), 1)
        assert graphs.edge_attr is None
        for truth, nodes in zip(
            graphs.edge_truth.view(-1, 4).tolist(),
            graphs.node_truth.view(-1, 3).tolist(),
            strict=True,
        ):
            assert truth in ([True, True, False, False], [False] * 4)
            assert nodes == [truth[0], truth[0], False]
    total = sum(
        int(g.edge_truth.sum()) for g in dataset.splits.values() if g.edge_truth is not None
    )
    assert total == GRAPHS


@pytest.mark.usefixtures("path")
def test_as_gsat_has_it() -> None:
    dataset = load(subset="gsat")
    assert sum(len(part) for part in dataset.splits.values()) == 15
    assert "left out 5 mutagens" in dataset.notes[-1]
    for graphs in dataset.splits.values():
        assert graphs.y is not None
        assert graphs.edge_truth is not None
        explained = graphs.edge_truth.view(-1, 4).any(dim=1)
        assert torch.equal(explained, graphs.y[:, 0] == 0)  # All mutagens, no nonmutagen.


@pytest.mark.usefixtures("path")
def test_options() -> None:
    bonds = load(bonds=True).train.edge_attr
    assert bonds is not None
    assert bonds.shape[1] == 2
    train = [load_dataset("mutagenicity", seed=seed).train.y for seed in (0, 0, 1)]
    assert train[0] is not None
    assert train[1] is not None
    assert torch.equal(train[0], train[1])
    with pytest.raises(ValueError, match="unknown subset 'GSAT'"):
        load(subset="GSAT")  # type: ignore[arg-type]


def test_altered_file_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutagenicity, "COUNTS", (4337, 266_894, 7352))
    with pytest.raises(ValueError, match="20 graphs, 80 edges, 20 of them labelled; expected 4337"):
        load()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"Mutagenicity_edge_gt\.zip is not a complete zip"):
        load()


@pytest.mark.data
def test_real_file() -> None:
    if not at_hand(FILE):
        pytest.skip(f"{FILE.path} is not in the data folder")
    dataset = load()
    assert [len(part) for part in dataset.splits.values()] == [3469, 433, 435]
    y = torch.cat([part.y for part in dataset.splits.values() if part.y is not None])
    assert y.long().flatten().bincount().tolist() == [2401, 1936]
    assert dataset.train.num_features == 14
    truths = [part.edge_truth for part in dataset.splits.values()]
    assert sum(int(truth.sum()) for truth in truths if truth is not None) == 7352
    for part in dataset.splits.values():
        batch = part.batch(np.arange(len(part)).tolist())
        assert batch.reverse is not None
        assert batch.edge_truth is not None
        assert torch.equal(batch.edge_truth[batch.reverse], batch.edge_truth)
    with no_raw_files():
        load()
    assert sum(len(part) for part in load(subset="gsat").splits.values()) == 2951
