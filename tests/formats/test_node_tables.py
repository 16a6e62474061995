from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from gsina.formats import edge_lists, read_node_graph, read_nodes
from gsina.formats import node_tables as nodes
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task

COUNT = 20


def write(folder: Path, node_rows: list[str], edge_rows: list[str], header: str) -> dict[str, Path]:
    paths = {"nodes_csv": folder / "nodes.csv", "edges_csv": folder / "edges.csv"}
    paths["nodes_csv"].write_text("\n".join([header, *node_rows]) + "\n")
    paths["edges_csv"].write_text("\n".join(["source,target", *edge_rows]) + "\n")
    return paths


def ring(folder: Path, **changes: str) -> dict[str, Path]:
    """A ring of accounts; ``changes`` replace a row: ``node3="..."``, ``edge5="..."``."""
    header = "id,label,age,amount,region,day,fold"
    fold = ["train"] * 12 + ["val"] * 4 + ["test"] * 3 + [""]
    node_rows = [
        f"acc-{i},{('ok', 'fraud')[i % 2]},{i},{i / 2},r{i // 4},2024-01-{i + 1:02},{fold[i]}"
        for i in range(COUNT)
    ]
    edge_rows = [f"acc-{i},acc-{(i + 1) % COUNT}" for i in range(COUNT)]
    for name, row in changes.items():
        rows = node_rows if name.startswith("node") else edge_rows
        rows[int(name[4:])] = row
    return write(folder, node_rows, edge_rows, header)


def read(paths: dict[str, Path], **options: Any) -> Dataset:
    return read_nodes(**paths, features=["age", "amount"], **options)  # type: ignore[arg-type]


def test_one_graph_with_a_mask_a_split(tmp_path: Path) -> None:
    own = read(ring(tmp_path))
    assert own.task == Task("binary", 1, "roc_auc", "node")
    assert own.class_names == ("fraud", "ok")
    assert own.origin.names["all"][3] == "acc-3"
    assert own.origin.rows["all"] == tuple(range(2, COUNT + 2))
    masks = []
    for part, graphs in own.splits.items():
        assert len(graphs) == 1
        assert graphs.x.tolist() == [[i, i / 2] for i in range(COUNT)]
        assert graphs.edge_index.size(1) == 2 * COUNT
        assert graphs.node_y is not None
        assert graphs.node_y[:4, 0].tolist() == [1, 0, 1, 0]
        assert graphs.mask is not None
        places = graphs.mask.nonzero().flatten().tolist()
        assert own.origin.rows[part] == tuple(place + 2 for place in places)
        assert own.origin.names[part] == tuple(f"acc-{place}" for place in places)
        masks.append(graphs.mask)
    assert [int(mask.sum()) for mask in masks] == [12, 4, 4]
    assert bool((torch.stack(masks).sum(0) == 1).all())
    assert own.origin.reading["features"] == ["age", "amount"]


def test_by_environment_the_last_are_held_out(tmp_path: Path) -> None:
    own = read(ring(tmp_path), environment="region")
    assert own.origin.names["test"] == tuple(f"acc-{i}" for i in range(16, 20))
    assert own.origin.names["val"] == tuple(f"acc-{i}" for i in range(12, 16))
    assert len(own.origin.names["train"] + own.origin.names["id_test"]) == 12
    assert own.origin.split["rule"] == "environment"


def test_environments_of_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    rows = [f"{i},{i % 2},{9 + i // 4}" for i in range(12)]  # 9, 10, 11
    paths = write(tmp_path, rows, ["0,1"], "id,label,env")
    own = read_nodes(**paths, environment="env")
    assert own.origin.names["test"] == ("8", "9", "10", "11")
    assert "no feature columns; every node gets a constant 1" in own.notes[-1]


def test_two_environments_and_one(tmp_path: Path) -> None:
    rows = [f"{i},{i % 2},{'AB'[i // 6]},x" for i in range(12)]
    paths = write(tmp_path, rows, ["0,1"], "id,label,env,one")
    own = read_nodes(**paths, environment="env", features=[])
    assert own.origin.names["test"] == tuple(map(str, range(6, 12)))
    assert "validation is drawn at random" in own.notes[0]
    with pytest.raises(ValueError, match="column 'one' has one environment only, 'x'"):
        read_nodes(**paths, environment="one", features=[])


def test_by_time_the_latest_are_held_out(tmp_path: Path) -> None:
    own = read(ring(tmp_path), time="day")
    assert own.origin.names["test"] == tuple(f"acc-{i}" for i in range(16, 20))
    assert own.origin.names["val"] == tuple(f"acc-{i}" for i in range(12, 16))


def test_ones_own_split_and_gaps(tmp_path: Path) -> None:
    own = read(ring(tmp_path), split_column="fold")
    assert own.origin.names["test"] == ("acc-16", "acc-17", "acc-18")
    assert "1 nodes have an empty 'fold' and are in no split." in own.notes
    with pytest.raises(
        ValueError, match=r"row 3 of nodes\.csv: column 'fold' is 'nope'; expected train"
    ):
        read(ring(tmp_path, node1="acc-1,ok,1,1,r0,2024-01-02,nope"), split_column="fold")


@pytest.mark.parametrize(("option", "column"), [("environment", "region"), ("time", "day")])
def test_an_empty_cell_of_a_split_column_is_in_no_split(
    tmp_path: Path, option: str, column: str
) -> None:
    row = {"region": "acc-1,fraud,1,1,,2024-01-02,train", "day": "acc-1,fraud,1,1,r0,,train"}
    own = read(ring(tmp_path, node1=row[column]), **{option: column})
    assert f"1 nodes have an empty {column!r} and are in no split." in own.notes
    assert not any("acc-1" in own.origin.names[part] for part in own.splits)
    assert own.origin.names["test"] == tuple(f"acc-{i}" for i in range(16, 20))


def test_missing_labels_are_masked_and_counted(tmp_path: Path) -> None:
    own = read(ring(tmp_path, node2="acc-2,,1,1,r0,2024-01-03,train"), split_column="fold")
    assert "1 of 20 rows have no label and do not count." in own.notes
    mask, y = own.train.mask, own.train.node_y
    assert mask is not None
    assert y is not None
    assert not mask[2]
    assert y[2].isnan().all()
    assert len(own.origin.names["train"]) == 11


def test_edges_are_said_and_kept_or_counted_once(tmp_path: Path) -> None:
    own = read(ring(tmp_path, edge3="acc-0,acc-1", edge4="acc-7,acc-7", edge5="acc-1,acc-0"))
    repeat, loop = own.notes[-2:]
    assert repeat == "1 rows of edges.csv repeat an edge, which counts once; the first is row 5."
    kept = "lead from a node to itself and are kept; the first is row 6."
    assert loop == f"1 edges of edges.csv {kept}"
    pairs = own.train.edge_index.t().tolist()
    assert pairs.count([0, 1]) == pairs.count([1, 0]) == pairs.count([7, 7]) == 1
    one_way = read(ring(tmp_path), directed=True).train.edge_index
    assert one_way.size(1) == COUNT


NODE = "r0,2024-01-02,train"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge4": "acc-4,acc-99"}, "row 6 of edges.csv: target is 'acc-99', which is no id in"),
        ({"edge4": "acc-4"}, "row 6 of edges.csv: it has 1 cells"),
        ({"node4": f"acc-1,ok,1,1,{NODE}"}, "row 6 of nodes.csv: the id 'acc-1' is that of row 3"),
        ({"node4": f",ok,1,1,{NODE}"}, "row 6 of nodes.csv: the id '' is empty"),
        ({"node4": "acc-4,ok"}, "row 6 of nodes.csv: it has 2 cells"),
        ({"node4": f"acc-4,ok,old,1,{NODE}"}, "row 6 of nodes.csv: the feature 'age' is 'old'"),
        ({"node4": f"acc-4,ok,1,inf,{NODE}"}, "row 6 of nodes.csv: the feature 'amount' is 'inf'"),
        ({"node4": f'acc-4,ok,1,"1,5",{NODE}'}, "'amount' is '1,5', .* it has a decimal comma"),
        ({"node4": f"acc-4,ok,1,<1646,{NODE}"}, "'amount' is '<1646', .* it is a bound and not"),
        (
            {"node4": f"acc-4,ok,1,1e60,{NODE}"},
            "row 6 of nodes.csv: the feature 'amount' is 1e60, which is too large for 32 bits",
        ),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(ring(tmp_path, **changes))


@pytest.mark.parametrize(
    ("name", "options", "use"),
    [
        ("label", {}, "the column to predict"),
        ("id", {}, "the column of ids"),
        ("day", {"time": "day"}, "the column to split by"),
        ("region", {"environment": "region"}, "the column to split by"),
        ("fold", {"split_column": "fold"}, "the column to split by"),
    ],
)
def test_a_column_with_another_use_is_no_feature(
    tmp_path: Path, name: str, options: dict[str, str], use: str
) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is {use} and cannot be a feature too"):
        read_nodes(**ring(tmp_path), features=["age", name], **options)  # type: ignore[arg-type]


def test_the_scaling_is_that_of_the_training_nodes(tmp_path: Path) -> None:
    own = read(ring(tmp_path), split_column="fold")
    told = own.scaling["node"]
    assert told["mean"] == [5.5, 2.75]  # of accounts 0 to 11
    assert told["scale"] == pytest.approx([143**0.5 / 12**0.5, 143**0.5 / 12**0.5 / 2])
    bare = read_nodes(**ring(tmp_path), features=[], split_column="fold")
    assert bare.scaling == {}


def test_messages_name_the_file_and_say_what_to_do(tmp_path: Path) -> None:
    bad = ring(tmp_path, node1="acc-1,ok,1,1,r0,soon,train")
    with pytest.raises(ValueError, match=r"row 3 of nodes\.csv: column 'day' is 'soon'.*correct"):
        read(bad, time="day")
    rows = {f"node{i}": f"acc-{i},{i % 2},1,1,,2024-01-02,train" for i in range(COUNT)}
    with pytest.raises(ValueError, match=r"nodes\.csv: column 'region' is empty in all 20 .*fill"):
        read(ring(tmp_path, **rows), environment="region")
    bad = ring(tmp_path, edge4="acc-4,acc-99", edge7="acc-98,acc-99")
    with pytest.raises(ValueError, match=r"row 6 .*'acc-99', which is no id .*\(2 rows have such"):
        read(bad)
    # In predictions the features are those of the model.
    bad = ring(tmp_path, node4=f"acc-4,ok,old,1,{NODE}")
    with pytest.raises(ValueError, match=r"the feature 'age' is 'old'.*fill it in") as error:
        read_node_graph(**bad, features=["age"])
    assert "--feature" not in str(error.value)
    unknown = {f"node{i}": f"acc-{i},,1,1,{NODE}" for i in range(COUNT)}
    with pytest.raises(ValueError, match="missing in all 20 rows; fill in the labels"):
        read(ring(tmp_path, **unknown))


def test_one_class_in_training_is_named(tmp_path: Path) -> None:
    same = {f"node{i}": f"acc-{i},ok,1,1,r0,2024-01-02,train" for i in range(12)}
    with pytest.raises(ValueError, match="all 12 training nodes with a label are of class 'ok'"):
        read(ring(tmp_path, **same), split_column="fold")
    same |= {f"node{i}": f"acc-{i},ok,1,1,r0,2024-01-02,val" for i in range(12, 16)}
    with pytest.raises(ValueError, match="the training side has class 'ok' only"):
        read(ring(tmp_path, **same), split_column="fold")


def test_bad_rows_of_later_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "BLOCK", 3)
    monkeypatch.setattr(edge_lists, "BLOCK", 3)
    assert read(ring(tmp_path)).train.x[:, 0].tolist() == list(range(COUNT))
    with pytest.raises(ValueError, match=r"row 12 of edges.csv"):
        read(ring(tmp_path, edge10="acc-4,nowhere"))


def test_columns_and_empty_tables(tmp_path: Path) -> None:
    paths = ring(tmp_path)
    with pytest.raises(ValueError, match=r"unknown column of nodes.csv 'lable'"):
        read(paths, label="lable")
    with pytest.raises(ValueError, match=r"unknown column of edges.csv 'from'"):
        read(paths, source="from")
    with pytest.raises(ValueError, match="at most one of environment, time and split_column"):
        read(paths, environment="region", time="day")
    with pytest.raises(ValueError, match=r"edges.csv has no edges.*add a row for every edge"):
        read_nodes(**write(tmp_path, ["1,0"], [], "id,label"))
    with pytest.raises(ValueError, match=r"nodes.csv has a header but no rows"):
        read_nodes(**write(tmp_path, [], ["1,2"], "id,label"))


def test_a_graph_without_labels(tmp_path: Path) -> None:
    paths = write(tmp_path, ["a,1,x", "b,2,y"], ["a,b"], "id,f,note")
    found = read_node_graph(**paths, features=["f"], extra=["note"])
    assert found.graphs.x.tolist() == [[1], [2]]
    assert found.graphs.node_y is None
    assert (found.names, found.rows, found.cells) == (("a", "b"), (2, 3), {"note": ["x", "y"]})


def people(folder: Path, **changes: str) -> dict[str, Path]:
    """Twelve people with a city, an age and a name each; edges with a weight and a kind."""
    cities = ["Bern", "Ulm", "Bern", "Ulm", "Linz", "Bern", "Ulm", "Bern", "Graz", "", "Rom", "Ulm"]
    ages = ["20", "30", "", "40", "50", "60", "70", "80", "", "90", "25", "35"]
    fold = ["train"] * 6 + ["val"] * 3 + ["test"] * 3
    node_rows = [f"{i},{'ab'[i % 2]},{cities[i]},{ages[i]},Person {i},{fold[i]}" for i in range(12)]
    paths = write(folder, node_rows, [], "id,label,city,age,name,fold")
    edge_rows = [f"{i},{(i + 1) % 12},{i / 4},{('kin', 'work')[i % 2]},x" for i in range(12)]
    for name, row in changes.items():
        edge_rows[int(name[4:])] = row
    paths["edges_csv"].write_text("\n".join(["source,target,weight,kind,more", *edge_rows]) + "\n")
    return paths


def test_categories_and_gaps_are_features(tmp_path: Path) -> None:
    own = read_nodes(**people(tmp_path), split_column="fold")
    # Of the training rows: Bern and Ulm come back, the mean age is 40 (one is missing).
    assert own.train.x.tolist()[:3] == [[1, 0, 0, 20, 0], [0, 1, 0, 30, 0], [1, 0, 0, 40, 1]]
    assert own.train.x[4, :3].tolist() == [0, 0, 1]  # Linz, once
    assert own.train.x[8].tolist() == [0, 0, 1, 40, 1]  # Graz was never seen, and no age
    assert own.scaling["node"]["mean"][:3] == [0, 0, 0]
    assert own.scaling["node"]["scale"][:3] == [1, 1, 1]
    assert own.scaling["node"]["mean"][3:] == [40, 0]
    notes = " ".join(own.notes)
    assert "empty cells of nodes.csv count as the training mean: age (2)." in notes
    assert "taken together: city (4 rows)." in notes
    assert "not used: name (12 different texts)." in notes
    assert own.origin.reading["features"] == ["city", "age"]
    assert json.loads(json.dumps(own.origin.reading)) == own.origin.reading
    with pytest.raises(ValueError, match=r"'name' of nodes\.csv has 12 different texts in 12 rows"):
        read_nodes(**people(tmp_path), features=["name"])


def test_columns_of_the_edge_table_are_features_of_edges(tmp_path: Path) -> None:
    own = read_nodes(
        **people(tmp_path, edge2="1,2,9,kin,x"),  # repeats an edge: it does not count
        features=["age"],
        edge_features=["weight", "kind"],
        directed=True,
    )
    assert own.train.edge_attr is not None
    assert own.train.edge_attr.shape == (11, 4)
    assert own.train.edge_attr[2].tolist() == [0.75, 0, 1, 0]
    assert own.scaling["edge"]["mean"][1:] == [0, 0, 0]
    assert any("edges.csv that are not used: more (--edge-feature" in note for note in own.notes)
    both = read_nodes(**people(tmp_path), features=["age"], edge_features=["weight"])
    pairs = both.train.edge_index.t().tolist()
    attr = both.train.edge_attr
    assert attr is not None
    assert attr[pairs.index([2, 3])] == attr[pairs.index([3, 2])] == 0.5
    bare = read_nodes(**people(tmp_path), features=[], edge_features=["weight"])
    assert bare.scaling["node"] == {"mean": [0], "scale": [1]}  # a constant 1 stays 1
    assert bare.scaling["edge"]["mean"] == pytest.approx([11 / 8])
    for name, why in (("source", "is an end of the edges"), ("none", "unknown column")):
        with pytest.raises(ValueError, match=why):
            read_nodes(**people(tmp_path), edge_features=[name])


def test_new_tables_are_read_as_in_training(tmp_path: Path) -> None:
    own = read_nodes(**people(tmp_path), split_column="fold", edge_features=["kind"])
    new = tmp_path / "new"
    new.mkdir()
    paths = write(new, ["a,Ulm,", "b,Oslo,33"], [], "id,city,age")
    paths["edges_csv"].write_text("kind,target,source\nfriend,a,b\n")
    found = nodes.read_again(list(paths.values()), own.origin.reading, None)
    assert found.graphs.x.tolist() == [[0, 1, 0, 40, 1], [0, 0, 1, 33, 0]]
    assert found.graphs.edge_attr is not None
    assert found.graphs.edge_attr.tolist() == [[0, 0, 1]] * 2
    # A model of an earlier version has no mean for an empty cell.
    old = own.origin.reading | {"features": ["age"]}
    del old["encoding"]
    with pytest.raises(ValueError, match=r"row 2 of nodes\.csv: the feature 'age' is empty"):
        nodes.read_again(list(paths.values()), old, None)
