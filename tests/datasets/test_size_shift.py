"""The size shift of the TU sets, on made-up sizes and on the real archives."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch

from gsina.datasets import size_shift as tu_size
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.datasets.raw.sources import at_hand
from gsina.datasets.size_shift import TUSource, size_split
from gsina.datasets.tu import tu_file
from gsina.graphs.packed import PackedGraphs

#: Sizes, and class counts of the pool and of test.
REAL = {
    "nci1": ((1942, 215, 412), [1344, 813], [79, 333], 37, 61.1),
    "nci109": ((1872, 207, 421), [1290, 789], [90, 331], 38, 61.1),
    "proteins": ((511, 56, 112), [238, 329], [101, 11], 3, 138.9),
    "dd": ((533, 59, 118), [210, 382], [94, 24], 89, 746.4),
}


def class_counts(graphs: PackedGraphs) -> list[int]:
    assert graphs.y is not None
    return torch.bincount(graphs.y, minlength=2).tolist()


def test_split_by_quantiles() -> None:
    nodes = torch.tensor([5, 1, 2, 3, 4, 6, 7, 8, 9, 10] * 10)
    ids = size_split(nodes, seed=0)
    assert {split: len(part) for split, part in ids.items()} == {"train": 45, "val": 5, "test": 10}
    assert nodes[ids["train"]].max() == 5  # the median is 5.5
    assert nodes[ids["test"]].min() == 10  # the 0.9-quantile is 9.1
    assert len(set(torch.cat(list(ids.values())).tolist())) == 60


def test_the_seed_decides_on_validation_only() -> None:
    nodes = torch.arange(200) % 37 + 3
    first, again, other = (size_split(nodes, seed) for seed in (0, 0, 1))
    assert all(torch.equal(first[split], again[split]) for split in first)
    assert torch.equal(first["test"], other["test"])
    assert not torch.equal(first["val"], other["val"])

    def pool(ids: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat([ids["train"], ids["val"]]).sort().values

    assert torch.equal(pool(first), pool(other))


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty paths of 2 to 41 nodes with two node labels and one attribute."""
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(tu_size.SOURCES, "nci1", TUSource("MADE", 40, 1640, 2))
    graph, edges, labels, start = [], [], [], 1
    for number in range(40):
        count = number + 2
        graph += [number + 1] * count
        edges += [f"{start + i}, {start + i + 1}" for i in range(count - 1)]
        edges += [f"{start + i + 1}, {start + i}" for i in range(count - 1)]
        labels += [i % 2 for i in range(count)]
        start += count
    texts = {
        "A": edges,
        "graph_indicator": graph,
        "graph_labels": [number % 2 for number in range(40)],
        "node_labels": labels,
        "node_attributes": [0.5] * len(labels),
    }
    (tmp_path / "tu").mkdir()
    with zipfile.ZipFile(tmp_path / "tu/MADE.zip", "w") as zipped:
        for part, lines in texts.items():
            zipped.writestr(f"MADE/MADE_{part}.txt", "".join(f"{line}\n" for line in lines))
    return tmp_path / "tu/MADE.zip"


@pytest.mark.usefixtures("archive")
def test_only_node_labels_are_features() -> None:
    dataset = load_dataset("nci1")
    assert dataset.train.num_features == 2  # without the attribute
    assert dataset.task.metric == "mcc"
    assert [len(part) for part in dataset.splits.values()] == [18, 2, 4]
    assert dataset.test.node_ptr.diff().tolist() == [38, 39, 40, 41]
    assert "16 graphs of middle size are unused" in dataset.notes[-1]


@pytest.mark.usefixtures("archive")
def test_iid_has_the_sizes_and_no_shift() -> None:
    dataset = load_dataset("nci1", iid=True)
    assert [len(part) for part in dataset.splits.values()] == [18, 2, 4]
    assert int(dataset.train.node_ptr.diff().max()) > 22
    nodes = torch.cat([part.node_ptr.diff() for part in dataset.splits.values()])
    assert len(set(nodes.tolist())) == 24  # no graph twice
    with pytest.raises(ValueError, match="seed must be 0 or larger, got -1"):
        load_dataset("nci1", seed=-1)


@pytest.mark.usefixtures("archive")
def test_another_archive_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for graphs, edges, labels in ((41, 1640, 2), (40, 3280, 2), (40, 1640, 3)):
        monkeypatch.setitem(tu_size.SOURCES, "nci1", TUSource("MADE", graphs, edges, labels))
        with pytest.raises(ValueError, match="40 graphs, 1640 edges and 3 node features, expected"):
            load_dataset("nci1")


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_counts(name: str) -> None:
    if not at_hand(tu_file(tu_size.SOURCES[name].archive)):
        pytest.skip(f"the archive of {name} is not in the data folder")
    sizes, pool, test, features, mean = REAL[name]
    dataset = load_dataset(name)
    assert DATASETS[name].at_hand()
    assert tuple(len(part) for part in dataset.splits.values()) == sizes
    both = zip(class_counts(dataset.train), class_counts(dataset.val), strict=True)
    assert [a + b for a, b in both] == pool
    assert class_counts(dataset.test) == test
    assert dataset.train.num_features == features
    assert dataset.train.edge_attr is None
    assert dataset.test.x.size(0) / len(dataset.test) == pytest.approx(mean, abs=0.05)
    assert dataset.train.reverse is not None  # both directions are stored
