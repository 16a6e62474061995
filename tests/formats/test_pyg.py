from __future__ import annotations

from typing import Any

import pytest
import torch

from gsina import files
from gsina.formats import from_pyg, read_tu_graphs
from gsina.graphs.task import Task

pyg = pytest.importorskip("torch_geometric.data")


def path_graph(nodes: int, y: Any, **fields: Any) -> Any:
    ends = torch.arange(nodes - 1)
    edges = torch.stack([torch.cat([ends, ends + 1]), torch.cat([ends + 1, ends])])
    return pyg.Data(x=torch.randn(nodes, 2), edge_index=edges, y=torch.as_tensor(y), **fields)


GRAPHS = [path_graph(2 + i, i % 2, year=i) for i in range(12)]


def test_one_list_is_divided() -> None:
    own = from_pyg(GRAPHS)
    assert own.task == Task("binary", 1, "roc_auc")
    assert set(own.origin.names) == {"train", "val", "test"}
    for part, graphs in own.splits.items():
        for place, row in enumerate(own.origin.rows[part]):
            assert torch.equal(graphs.batch([place]).x, GRAPHS[row - 1].x)
            assert graphs.batch([place]).labels.item() == (row - 1) % 2
    assert "12" in from_pyg(GRAPHS, split="size").origin.names["test"]
    assert "12" in from_pyg(GRAPHS, split="time", split_column="year").origin.names["test"]


def test_given_splits_are_kept() -> None:
    own = from_pyg(GRAPHS[:6], GRAPHS[6:9], GRAPHS[9:])
    assert own.origin.rows == {"train": (1, 2, 3, 4, 5, 6), "val": (7, 8, 9), "test": (10, 11, 12)}
    no_val = from_pyg(GRAPHS[:9], test=GRAPHS[9:])
    assert no_val.origin.rows["test"] == (10, 11, 12)
    assert len(no_val.origin.rows["val"]) == 2
    assert set(from_pyg(GRAPHS[:9], GRAPHS[9:]).origin.rows) == {"train", "val"}


def test_labels_of_many_kinds() -> None:
    many = [
        path_graph(3, [[float(i % 2), float("nan") if i == 4 else float(i % 3 > 0)]])
        for i in range(12)
    ]
    assert from_pyg(many).task == Task("binary", 2, "roc_auc")
    numbers = from_pyg([path_graph(3, [i / 7]) for i in range(12)])
    assert numbers.task == Task("regression", 1, "rmse")
    y = numbers.train.y
    assert y is not None
    expected = torch.tensor([(row - 1) / 7 for row in numbers.origin.rows["train"]])
    assert torch.equal(y[:, 0], expected)


def test_bad_objects() -> None:
    with pytest.raises(ValueError, match="graph 0 has no y"):
        from_pyg([pyg.Data(x=torch.ones(2, 1), edge_index=torch.zeros(2, 0).long())] * 3)
    with pytest.raises(ValueError, match="got no graphs"):
        from_pyg([])
    broken = [*GRAPHS, path_graph(3, 1)]
    broken[-1].x[0, 0] = torch.nan
    with pytest.raises(ValueError, match="x of the graphs has values that are missing"):
        from_pyg(broken)


@pytest.mark.data
def test_a_real_tu_dataset() -> None:
    if not (files.data_dir() / "tu/PROTEINS.zip").is_file():
        pytest.skip("tu/PROTEINS.zip is not at hand")
    own = read_tu_graphs("PROTEINS", split="size")
    assert own.task == Task("binary", 1, "roc_auc")
    assert own.class_names == ("1", "2")
    assert sum(map(len, own.origin.rows.values())) == 1113
    sizes = {part: graphs.node_ptr.diff() for part, graphs in own.splits.items()}
    assert int(sizes["test"].min()) >= int(sizes["val"].max()) >= int(sizes["train"].max())
