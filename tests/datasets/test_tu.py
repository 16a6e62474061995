from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch

from gsina.datasets import tu
from gsina.datasets.raw.sources import at_hand, raw_file
from gsina.datasets.tu import read_archive, tu_file

#: A path of three nodes, then a pair of nodes; labels 5 and -1.
PARTS = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "5\n-1\n",
    "node_labels": "3\n1\n3\n1\n1\n",
    "edge_labels": "0\n0\n1\n1\n0\n0\n",
}


def archive(path: Path, parts: dict[str, str], folder: str = "TINY/") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{folder}README.txt", "words")
        for part, text in parts.items():
            out.writestr(f"{folder}TINY_{part}.txt", text)
    return path


@pytest.mark.parametrize("folder", ["TINY/", "TINY//", "", "a/b/"])
def test_reads_all_parts(tmp_path: Path, folder: str) -> None:
    data = read_archive(archive(tmp_path / "other name.zip", PARTS, folder))
    graphs = data.graphs
    assert (data.name, data.classes) == ("TINY", (-1, 5))
    assert data.notes == ("graph labels of the file became classes: -1 -> 0, 5 -> 1",)
    assert graphs.y is not None
    assert graphs.y.tolist() == [1, 0]
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.edge_ptr.tolist() == [0, 4, 6]
    assert graphs.edge_index.tolist() == [[0, 1, 1, 2, 0, 1], [1, 0, 2, 1, 1, 0]]
    # Labels 1 .. 3, although 2 does not occur.
    assert graphs.x.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.argmax(1).tolist() == [0, 0, 1, 1, 0, 0]


def test_attributes_come_before_labels(tmp_path: Path) -> None:
    parts = PARTS | {"node_attributes": "1.5, 2\n0, 0\n0, 0\n0, 0\n-1, 1e2\n"}
    x = read_archive(archive(tmp_path / "a.zip", parts)).graphs.x
    assert x[0].tolist() == [1.5, 2, 0, 0, 1]
    assert x[4].tolist() == [-1, 100, 1, 0, 0]


def test_without_features_and_labels(tmp_path: Path) -> None:
    parts = {name: PARTS[name] for name in ("A", "graph_indicator")}
    data = read_archive(archive(tmp_path / "a.zip", parts))
    assert data.graphs.x.tolist() == [[1.0]] * 5
    assert data.graphs.y is None
    assert data.graphs.edge_attr is None
    assert data.notes == ()


def test_graph_attributes_are_targets(tmp_path: Path) -> None:
    parts = {name: PARTS[name] for name in ("A", "graph_indicator")}
    graphs = read_archive(
        archive(tmp_path / "a.zip", parts | {"graph_attributes": "0.5\n2\n"})
    ).graphs
    assert graphs.y is not None
    assert graphs.y.tolist() == [[0.5], [2.0]]


def test_edges_and_nodes_in_any_order(tmp_path: Path) -> None:
    # The same graphs; nodes 1 and 4 have changed places, and the edges are shuffled.
    parts = {
        "A": "5, 1\n4, 2\n2, 3\n1, 5\n2, 4\n3, 2\n",
        "graph_indicator": "2\n1\n1\n1\n2\n",
        "graph_labels": "5\n-1\n",
        "node_labels": "1\n1\n3\n3\n1\n",
        "edge_gt": "1\n0\n0\n1\n0\n0\n",
    }
    data = read_archive(archive(tmp_path / "a.zip", parts), extra=("edge_gt",))
    assert data.graphs.node_ptr.tolist() == [0, 3, 5]
    assert data.graphs.x[:, 2].tolist() == [0, 1, 1, 0, 0]
    assert data.graphs.edge_index.T.tolist() == [[2, 0], [0, 1], [0, 2], [1, 0], [1, 0], [0, 1]]
    assert data.extra["edge_gt"].tolist() == [0, 0, 0, 0, 1, 1]


def test_by_name_from_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    path = archive(tmp_path / "tu" / "TINY.zip", PARTS)
    assert raw_file(tu_file("TINY")) == path
    assert len(read_archive(path).graphs) == 2
    with pytest.raises(FileNotFoundError, match=r"tu/NONE\.zip is missing"):
        raw_file(tu_file("NONE"))
    with pytest.raises(ValueError, match="cannot be the name"):
        tu_file("../TINY")


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("A", "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 6\n", "outside 1 .. 5"),
        ("A", "1, 2\n0, 1\n", "outside 1 .. 5"),
        ("A", "1, 2\n3, 4\n", "edge between two graphs"),
        ("A", "1, 2\n2", r"TINY_A\.txt is truncated"),
        ("A", "1, 2, 3\n", "outside"),
        ("graph_labels", "5\n", "has 1 lines .* ask for 2"),
        ("graph_labels", "5\n1\n1\n", "has 3 lines .* ask for 2"),
        ("node_labels", "3\n1\n", "has 2 lines .* ask for 5"),
        ("edge_labels", "0\n", "has 1 lines .* ask for 6"),
        ("graph_indicator", "", "is empty"),
        ("node_labels", "3\n1\nx\n1\n1\n", r"TINY_node_labels\.txt is truncated"),
    ],
)
def test_contradicting_files(tmp_path: Path, part: str, text: str, message: str) -> None:
    path = archive(tmp_path / "a.zip", PARTS | {part: text})
    with pytest.raises(ValueError, match=message) as caught:
        read_archive(path)
    assert str(path) in str(caught.value)


def test_missing_parts(tmp_path: Path) -> None:
    without = {name: text for name, text in PARTS.items() if name != "graph_indicator"}
    with pytest.raises(ValueError, match=r"has no TINY_graph_indicator\.txt"):
        read_archive(archive(tmp_path / "a.zip", without))
    with pytest.raises(ValueError, match=r"has 0 files that end in _A\.txt"):
        read_archive(archive(tmp_path / "b.zip", {"graph_labels": "1\n"}))


def test_broken_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.zip", PARTS)
    whole = path.read_bytes()
    for content in (whole[:-30], whole[: len(whole) // 2], b"", whole.replace(b"2, 1", b"1, 2")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.zip is not a complete zip archive"):
            read_archive(path)
    path.write_bytes(whole)
    monkeypatch.setattr(tu, "LARGEST", 20)
    with pytest.raises(ValueError, match="would unpack to"):
        read_archive(path)


def test_too_many_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tu, "MOST_CELLS", 100)
    with pytest.raises(ValueError, match="node labels would take 1001 one-hot columns"):
        read_archive(archive(tmp_path / "a.zip", PARTS | {"node_labels": "0\n1\n3\n1\n1000\n"}))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes"),
    [
        ("NCI1", 122_747, 265_506, 37, [2053, 2057]),
        ("NCI109", 122_494, 265_208, 38, [2048, 2079]),
        ("PROTEINS", 43_471, 162_088, 4, [663, 450]),
        ("DD", 334_925, 1_686_092, 89, [691, 487]),
    ],
)
def test_real_archives(
    name: str, nodes: int, edges: int, features: int, classes: list[int]
) -> None:
    if not at_hand(tu_file(name)):
        pytest.skip(f"{name}.zip is not in the data folder")
    graphs = read_archive(raw_file(tu_file(name))).graphs
    assert len(graphs) == sum(classes)
    assert graphs.x.shape == (nodes, features)
    assert graphs.edge_index.size(1) == edges
    assert graphs.y is not None
    assert graphs.y.bincount().tolist() == classes
    assert graphs.reverse is not None
    own = torch.arange(edges) - graphs.edge_ptr[torch.repeat_interleave(graphs.edge_ptr.diff())]
    assert not bool((graphs.reverse == own).any())  # Every edge has its opposite.
