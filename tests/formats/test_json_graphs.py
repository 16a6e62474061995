from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from gsina.formats import graph_packer, read_graphs, stream_graphs
from gsina.formats import json_graphs as own_graphs
from gsina.graphs.task import Task


def path_graph(nodes: int, label: Any, **fields: Any) -> dict[str, Any]:
    return {
        "nodes": [[float(i), 1.0] for i in range(nodes)],
        "edges": [[i, i + 1] for i in range(nodes - 1)],
        "label": label,
    } | fields


GRAPHS = [path_graph(2 + i, i % 2, id=f"g{i}", year=2000 + i) for i in range(12)]


def jsonl(path: Path, values: list[Any]) -> Path:
    text = "\n".join(v if isinstance(v, str) else json.dumps(v) for v in values)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def test_lines_a_list_and_a_folder_are_the_same(tmp_path: Path) -> None:
    lines = jsonl(tmp_path / "a.jsonl", GRAPHS)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    whole = tmp_path / "b.json"
    whole.write_text(json.dumps(GRAPHS))
    folder = tmp_path / "c"
    folder.mkdir()
    for number, graph in enumerate(GRAPHS):
        (folder / f"{number:02}.json").write_text(json.dumps(graph))
    first = read_graphs(lines)
    assert first.task == Task("binary", 1, "roc_auc")
    assert sorted(row for rows in first.origin.rows.values() for row in rows) == list(range(1, 13))
    assert first.origin.reading["features"] == {"node": 2, "edge": 0}
    assert first.origin.reading["kind"] == "graphs"
    for path in (packed, whole, folder):
        again = read_graphs(path)
        assert again.origin.names == first.origin.names
        for part, graphs in first.splits.items():
            for name, value in graphs.tensors().items():
                assert torch.equal(value, again.splits[part].tensors()[name])


def test_edges_get_their_opposite_unless_directed(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [path_graph(3, i % 2) for i in range(9)])
    both = read_graphs(path).train.batch([0])
    assert {tuple(pair) for pair in both.edge_index.t().tolist()} == {
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
    }
    one = read_graphs(path, directed=True).train.batch([0])
    assert one.edge_index.tolist() == [[0, 1], [1, 2]]


def test_edge_features_and_bare_nodes(tmp_path: Path) -> None:
    values = [
        {"nodes": 3, "edges": [[0, 1], [1, 2]], "edge_features": [[1, 2], [3, 4]], "label": i % 2}
        for i in range(9)
    ]
    values[4] = {"nodes": 1, "edges": [], "label": 0}
    own = read_graphs(jsonl(tmp_path / "a.jsonl", values))
    batch = own.train.batch(range(len(own.train)))
    assert bool((batch.x == 1).all())
    assert batch.edge_attr is not None
    assert batch.edge_attr[:4].tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]
    assert own.scaling == {
        "node": {"mean": [0], "scale": [1]},  # a constant stays 1
        "edge": {"mean": [2, 3], "scale": [1, 1]},
    }
    assert "1 graphs have no edges and are kept." in own.notes


@pytest.mark.parametrize(
    ("split", "column", "test"),
    [("size", None, "g11"), ("time", "year", "g11"), ("column", "lab", "g0")],
)
def test_splits(tmp_path: Path, split: str, column: str | None, test: str) -> None:
    values = [graph | {"lab": "B" if i < 2 else "A"} for i, graph in enumerate(GRAPHS)]
    own = read_graphs(jsonl(tmp_path / "a.jsonl", values), split=split, split_column=column)
    assert test in own.origin.names["test"]
    assert "id_test" in own.origin.names


def test_labels_of_many_kinds(tmp_path: Path) -> None:
    def task(labels: list[Any], **options: Any) -> Task:
        values = [path_graph(3, label) for label in labels]
        return read_graphs(jsonl(tmp_path / "a.jsonl", values), **options).task

    assert task([True, False, None] * 4) == Task("binary", 1, "roc_auc")
    assert task(["x", "y", "z"] * 4) == Task("multiclass", 3, "accuracy")
    assert task([0.5, 1, 2.5] * 4) == Task("regression", 1, "rmse")
    assert task([[0, 1], [1, None], [1, 0], None] * 3) == Task("binary", 2, "roc_auc")
    with pytest.raises(ValueError, match="row 2: label is 1; expected a list of 2"):
        task([[0, 1], 1, [1, 0]])
    plain = "expected a number, text, true, false or null, as in most rows"
    with pytest.raises(ValueError, match=rf"row 3: label is \[1, 0\]; {plain}"):
        task(["x", "y", [1, 0], "x"])
    with pytest.raises(ValueError, match=f'row 1: label is {{"a": 0}}; {plain}'):
        task([{"a": 0}, {"a": 1}] * 3)
    with pytest.raises(ValueError, match=r"row 1: label is \[\[0, 1\]\]; expected a list of 1"):
        task([[[0, 1]], [[1, 0]]] * 3)
    with pytest.raises(ValueError, match="target 'label' is missing in all 3 rows"):
        task([None] * 3)


BAD: list[tuple[Any, str]] = [
    ("{not json", "it is not JSON"),
    ('{"nodes": 1' + "0" * 5000 + "}", "it is not JSON"),
    ("[1, 2]", "it is a JSON list"),
    ({"edges": []}, "it has no nodes"),
    ({"nodes": []}, "list of nodes is empty"),
    ({"nodes": 0}, "number of nodes is 0"),
    ({"nodes": 10**12}, "number of nodes is 1000000000000"),
    ({"nodes": [[1, 2], [3]]}, "not rows of equally many numbers"),
    ({"nodes": [["1", "2"]]}, "the text '1' where the first graphs have numbers"),
    ({"nodes": [[1, None]]}, "missing or not finite"),
    ('{"nodes": [[1, NaN]]}', "missing or not finite"),
    ({"nodes": [[1, 2, 3]]}, "its nodes have 3 features, expected 2"),
    (
        {"nodes": [[1, 2]], "edges": [[0, 1]]},
        r"its edge \[0, 1\] has an end outside its nodes 0 to 0",
    ),
    ({"nodes": [[1, 2]], "edges": [[0, -1]]}, "outside"),
    ({"nodes": [[1, 2]], "edges": [[0, 0.5]]}, "not pairs of node numbers"),
    ({"nodes": [[1, 2]], "edges": [[0, 0, 0]]}, "not pairs of node numbers"),
    ({"nodes": [[1, 2]], "edges": "ab"}, "not pairs of node numbers"),
    ({"nodes": [[1, 2]], "edges": [[0, 10**30]]}, "not pairs of node numbers"),
    (
        {"nodes": [[1, 2]], "edges": [[0, 0]], "edge_features": [[1], [2]]},
        "1 edges but features of 2",
    ),
    ({"nodes": [[1, 2]], "edges": [[0, 0]], "edge_features": [[1]]}, "edges have 1 features"),
]


@pytest.mark.parametrize(("value", "reason"), BAD)
def test_bad_graphs_have_a_reason_and_the_others_go_on(
    tmp_path: Path, value: Any, reason: str
) -> None:
    own = read_graphs(jsonl(tmp_path / "a.jsonl", [*GRAPHS[:3], value, *GRAPHS[3:]]))
    ((row, why),) = own.origin.unreadable
    assert row == 4
    with pytest.raises(ValueError, match=reason):
        raise ValueError(why)
    assert "1 rows could not be read and are left out: 4" in own.notes[0]
    assert sum(map(len, own.origin.rows.values())) == 12


def test_self_loops_are_kept_and_said(tmp_path: Path) -> None:
    values = [*GRAPHS, {"nodes": [[0, 0]], "edges": [[0, 0]], "label": 1}]
    own = read_graphs(jsonl(tmp_path / "a.jsonl", values))
    assert "1 graphs have edges from a node to itself, which are kept." in own.notes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "a.jsonl has no graph that can be read"),
        ("a.jsonl", "x\n", "the first is 1: it is not JSON"),
        ("a.json", "{", "a.json is not JSON"),
        ("a.json", "[" * 100_000, "a.json is not JSON"),
    ],
)
def test_files_without_graphs(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_graphs(path)


def test_folders_without_graphs_and_other_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no \.json files"):
        read_graphs(tmp_path)
    for number, graph in enumerate(GRAPHS):
        (tmp_path / f"{number}.json").write_text(json.dumps(graph))
    (tmp_path / "README").write_text("")
    assert "1 files of the folder do not end in .json" in " ".join(read_graphs(tmp_path).notes)


def test_fields_rules_and_long_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = jsonl(tmp_path / "a.jsonl", GRAPHS)
    with pytest.raises(ValueError, match=r"unknown field of a.jsonl 'yaer'; did you mean 'year'"):
        read_graphs(path, split="time", split_column="yaer")
    with pytest.raises(ValueError, match="unknown rule of the split 'scaffold'"):
        read_graphs(path, split="scaffold")
    whole = tmp_path / "a.json"
    whole.write_text(json.dumps(GRAPHS))
    monkeypatch.setattr(own_graphs, "LARGEST_LIST", 100)
    with pytest.raises(ValueError, match=r"write one graph per line into a \.jsonl file"):
        read_graphs(whole)


@pytest.mark.parametrize("chunk", [1, 4, 100])
def test_streaming_keeps_order_and_shape(tmp_path: Path, chunk: int) -> None:
    values = [GRAPHS[0], "oops", GRAPHS[1], {"nodes": 4}, {"nodes": [[1, 2]]}]
    chunks = list(stream_graphs(jsonl(tmp_path / "a.jsonl", values), chunk=chunk))
    assert [row["id"] for part in chunks for row in part.rows] == ["g0", "2", "g1", "4", "5"]
    assert [part.rows[i]["id"] for part in chunks for i in part.position.tolist()] == [
        "g0",
        "g1",
        "5",
    ]
    assert [n for part in chunks for n in part.graphs.node_ptr.diff().tolist()] == [2, 3, 1]
    reasons = [why for part in chunks for why in part.reasons.values()]
    assert "not JSON" in reasons[0]
    assert "1 features, expected 2" in reasons[1]
    assert chunks[0].rows[0] == {"id": "g0", "label": "0", "year": "2000"}


def test_streaming_for_a_model_of_another_width(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [GRAPHS[0], {"nodes": [[1, 2, 3]]}])
    (chunk,) = stream_graphs(path, node_features=3, edge_features=0)
    assert chunk.position.tolist() == [1]
    assert chunk.reasons == {0: "its nodes have 2 features, expected 3"}


def test_a_table_is_not_taken_for_graphs(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("smiles\nCCO\n")
    with pytest.raises(ValueError, match=r"new\.csv is a table; expected graphs"):
        list(stream_graphs(path))


@pytest.mark.parametrize("field", ["id", "label", "note", "\ud800"])
def test_half_of_a_character_costs_its_row(field: str, tmp_path: Path) -> None:
    odd = path_graph(3, 0) | {field: "a\ud800b"}
    path = jsonl(tmp_path / "a.jsonl", [*GRAPHS, odd])
    data = read_graphs(path)
    reason = "it has text with half of a character (a lone surrogate)"
    assert data.origin.unreadable == ((13, reason),)
    chunk = next(stream_graphs(path))
    assert chunk.reasons == {12: reason}
    assert chunk.rows[12] == {"id": "13"}


def test_names_of_files_that_are_not_utf8_are_written_with_an_escape(tmp_path: Path) -> None:
    for graph in GRAPHS:
        (tmp_path / f"{graph['id']}-\udcff.json").write_text(json.dumps(graph | {"id": None}))
    names = [name for part in read_graphs(tmp_path).origin.names.values() for name in part]
    assert sorted(names) == sorted(f"{graph['id']}-\\udcff" for graph in GRAPHS)


def test_short_lines_do_not_take_all_memory(tmp_path: Path) -> None:
    most, bare = graph_packer.MOST_NODES, graph_packer.MOST_BARE
    bombs: list[Any] = [{"nodes": bare, "edges": []}] * 2
    bombs += [{"nodes": most, "edges": []}, {"nodes": most + 1, "edges": []}]
    chunks = list(stream_graphs(jsonl(tmp_path / "a.jsonl", bombs)))
    assert [len(chunk.rows) for chunk in chunks] == [1, 1, 1, 1]
    assert [chunk.graphs.x.size(0) for chunk in chunks] == [bare, bare, 0, 0]
    assert f"it has {most} nodes and 0 edges; expected at most {bare} nodes" in chunks[2].reasons[0]
    assert chunks[3].reasons == {0: f"its number of nodes is {most + 1}, expected 1 to {most}"}


def test_an_odd_file_of_a_folder_costs_that_file(tmp_path: Path) -> None:
    for graph in GRAPHS:
        (tmp_path / f"{graph['id']}.json").write_text(json.dumps(graph))
    (tmp_path / "zz-1.json").write_bytes(b"\xff\xfe{\0}\0")
    (tmp_path / "zz-2.json").write_bytes(b" " * (2 << 20))
    os.mkfifo(tmp_path / "zz-3.json")
    data = read_graphs(tmp_path)
    first, second, third = (reason for _, reason in data.origin.unreadable)
    assert "zz-1.json is UTF-16 text" in first
    assert "it is not JSON" in second
    assert "zz-3.json is a pipe or a device" in third


def test_too_many_nodes_to_train_on_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsina.formats.graph_packer.MOST_IN_ALL", 1000)
    path = jsonl(tmp_path / "a.jsonl", [{"nodes": 600, "edges": [], "label": 0}] * 2)
    with pytest.raises(ValueError, match="more than 1,000 nodes in all"):
        read_graphs(path)


def test_many_short_lines_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_packer, "MOST_BARE", 100)
    small = {"nodes": 3, "edges": [[0, 1], [1, 2]]}
    lines = [small | {"label": i % 2} for i in range(100)]  # 300 nodes, but they have edges
    lines += [{"nodes": 154, "edges": [], "label": i % 2} for i in range(10)]
    read = read_graphs(jsonl(tmp_path / "a.jsonl", lines))
    assert len(read.origin.unreadable) == 9
    row, reason = read.origin.unreadable[0]
    assert row == 102
    assert "154 nodes and 0 edges; expected at most 100 nodes without edges" in reason
