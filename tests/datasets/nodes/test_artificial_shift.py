from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from gsina.datasets import DATASETS, load_dataset
from gsina.datasets.nodes import amazon, artificial_shift
from gsina.datasets.nodes.artificial_shift import LARGEST, invent_labels, load
from gsina.datasets.nodes.random_networks import FAMILIES, Family
from gsina.graphs.dataset import Dataset

NODES, WORDS = 300, 40
#: Nodes of each class with seed 0: one seed must mean one dataset on every machine.
LABELS = {
    "cora": [0, 59, 1438, 6, 236, 42, 101, 66, 51, 709],
    "photo": [849, 3464, 0, 2157, 11, 32, 13, 338, 104, 682],
}
TESTS = [f"test-{number}" for number in range(1, 9)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of Cora a random graph with few words."""
    rng = np.random.default_rng(0)
    features = csr_array((rng.random((NODES, WORDS)) < 0.1).astype(np.float64))
    pairs = np.unique(np.sort(rng.integers(NODES, size=(600, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].T
    edges = np.concatenate([pairs, pairs[::-1]], axis=1)
    monkeypatch.setitem(artificial_shift.READERS, "cora", lambda progress: (features, edges))


def check(dataset: Dataset, words: int) -> None:
    """What the protocol says of all ten environments."""
    assert list(dataset.splits) == ["train", "val", *TESTS]
    assert (dataset.task.kind, dataset.task.level) == ("multiclass", "node")
    first = dataset.train
    assert first.node_y is not None
    assert dataset.task.outputs == int(first.node_y.max()) + 1
    shares = first.node_y.bincount() / len(first.node_y)
    assert (shares > 0.01).sum() >= 5
    assert shares.max() <= LARGEST
    seen = []
    for number, graphs in enumerate(dataset.splits.values()):
        assert len(graphs) == 1
        assert graphs.environment is not None
        assert graphs.environment.tolist() == [number]
        assert graphs.mask is None
        assert graphs.node_y is not None
        assert torch.equal(graphs.node_y, first.node_y)
        assert torch.equal(graphs.edge_index, first.edge_index)
        assert torch.equal(graphs.x[:, :words], first.x[:, :words])
        assert graphs.x.shape[1] == words + 10
        # The shift is one vector for all nodes.
        shift = graphs.x[:, words:] - first.x[:, words:]
        torch.testing.assert_close(shift, shift[:1].expand_as(shift), atol=1e-5, rtol=0)
        assert shift.abs().max() <= 2 / 10**0.5 + 1e-5
        seen.append(shift[0])
    assert len(torch.stack(seen).unique(dim=0)) == 10
    # Spurious features tell something of the label: their means differ by class.
    spurious = first.x[:, words:]
    common = first.node_y.bincount().argsort(descending=True)[:2]
    means = [spurious[first.node_y == label].mean(0) for label in common]
    assert (means[0] - means[1]).abs().max() > 1e-3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("family", FAMILIES)
def test_environments(family: Family) -> None:
    dataset = load_dataset("cora", family=family, seed=3)
    check(dataset, WORDS)
    assert f"random {family} with seed 3, draw " in dataset.notes[0]


@pytest.mark.usefixtures("small")
def test_seed_decides() -> None:
    one, again, other = (load("cora", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.val.x, again.val.x)
    assert not torch.equal(one.val.x[:, WORDS:], other.val.x[:, WORDS:])


class Skewed:
    """Stands for a network whose first draws give all nodes one label."""

    def __init__(self, bad: int) -> None:
        self.bad, self.calls = bad, 0

    def __call__(self, *ignored: object) -> object:
        self.calls += 1
        labels = np.arange(NODES) % 5 if self.calls > self.bad else np.zeros(NODES, dtype=int)
        return lambda x: np.eye(10)[labels]


def test_degenerate_draws_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    features, rng = np.ones((NODES, 1)), np.random.default_rng(0)
    monkeypatch.setattr(artificial_shift, "draw_network", Skewed(6))
    labels, tries = invent_labels(features, np.zeros((2, 0), dtype=np.int64), "gcn", rng)
    assert tries == 7
    assert np.bincount(labels).tolist() == [NODES // 5] * 5
    monkeypatch.setattr(artificial_shift, "draw_network", Skewed(10**9))
    with pytest.raises(ValueError, match=r"none of 1000 random gcn networks .* another seed"):
        invent_labels(features, np.zeros((2, 0), dtype=np.int64), "gcn", rng)


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown family of networks 'gcns'; did you mean 'gcn'"):
        load("cora", family="gcns")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown graph with an artificial shift 'coral'"):
        load("coral")


@pytest.mark.data
@pytest.mark.parametrize(("name", "nodes", "words"), [("cora", 2708, 1433), ("photo", 7650, 745)])
def test_real_files(name: str, nodes: int, words: int) -> None:
    if not DATASETS[name].at_hand():
        pytest.skip(f"{name} is not in the data folder")
    start = time.process_time()  # other processes may take as long as they like
    dataset = load(name)
    assert time.process_time() - start < 5
    check(dataset, words)
    assert dataset.train.x.shape == (nodes, words + 10)
    assert dataset.train.node_y is not None
    assert dataset.train.node_y.bincount().tolist() == LABELS[name]


@pytest.mark.data
def test_missing_one_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the dataset that is there."""
    if not DATASETS["photo"].at_hand():
        pytest.skip("photo is not in the data folder")
    (tmp_path / "amazon").symlink_to(amazon.FILE.target.parent)
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    with pytest.raises(
        FileNotFoundError, match=r"ind\.cora\.allx .* available are good-cbas, photo\.$"
    ):
        load_dataset("cora")
