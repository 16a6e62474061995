"""Tests of `Batch`: what it counts, moves and converts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data

from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs


def triangle(**changes: Any) -> Data:
    """Three nodes, four edges of which two are opposite."""
    parts = {
        "x": torch.rand(3, 2),
        "edge_index": torch.tensor([[0, 1, 2, 1], [1, 2, 0, 0]]),
        "edge_attr": torch.rand(4, 1),
        "edge_truth": torch.tensor([True, False, False, True]),
        "node_truth": torch.tensor([True, True, False]),
        "y": torch.tensor([1]),
        "environment": torch.tensor([2]),
    }
    return Data(**{**parts, **changes})


def dots(nodes: int) -> Data:
    """Nodes without edges."""
    return triangle(
        x=torch.rand(nodes, 2),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        edge_attr=torch.zeros(0, 1),
        edge_truth=torch.zeros(0, dtype=torch.bool),
        node_truth=torch.zeros(nodes, dtype=torch.bool),
    )


def test_one_graph() -> None:
    data = triangle(train_mask=torch.tensor([True, False, True]))
    batch = Batch.from_pyg(data)
    assert (batch.num_graphs, batch.num_nodes, batch.num_edges) == (1, 3, 4)
    assert batch.node_graph.tolist() == [0, 0, 0]
    assert batch.edge_graph.tolist() == [0, 0, 0, 0]
    assert batch.reverse is not None
    assert batch.reverse.tolist() == [3, 1, 2, 0]
    assert batch.mask is not None
    assert batch.mask.tolist() == [True, False, True]
    assert batch.labels.tolist() == [1]


@pytest.mark.parametrize("last", [0, 2], ids=["empty graph last", "edgeless graph last"])
def test_from_pyg_is_what_packing_gives(last: int) -> None:
    graphs = [dots(1), triangle(), dots(0), triangle(), dots(last)]
    found = Batch.from_pyg(PygBatch.from_data_list(graphs))
    expected = PackedGraphs.from_pyg(graphs).batch(range(5))
    for field in fields(Batch):
        left, right = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(right, Tensor):
            assert torch.equal(left, right), field.name
        else:
            assert left == right, field.name


def test_to_pyg_and_back() -> None:
    graphs = [triangle(), dots(2), triangle(y=torch.tensor([0]))]
    pyg = PackedGraphs.from_pyg(graphs).batch([2, 0, 1]).to_pyg()
    for found, expected in zip(pyg.to_data_list(), [graphs[2], graphs[0], graphs[1]], strict=True):
        assert set(found.keys()) == set(expected.keys())
        for name in expected.keys():  # noqa: SIM118 - Data iterates over pairs.
            assert torch.equal(found[name], expected[name]), name


def test_only_nodes() -> None:
    batch = Batch.from_pyg(dots(3))
    assert (batch.num_graphs, batch.num_nodes, batch.num_edges) == (1, 3, 0)
    assert batch.reverse is None
    assert batch.to_pyg().num_nodes == 3


def test_features_are_made_up_or_widened() -> None:
    edge_index = torch.tensor([[0], [1]])
    assert torch.equal(Batch.from_pyg(Data(edge_index=edge_index, num_nodes=2)).x, torch.ones(2, 1))
    narrow = Batch.from_pyg(Data(x=torch.ones(2), edge_index=edge_index, edge_attr=torch.ones(1)))
    assert narrow.x.shape == (2, 1)
    assert narrow.edge_attr is not None
    assert narrow.edge_attr.shape == (1, 1)
    assert narrow.y is None


def test_to_moves_every_tensor_and_nothing_else() -> None:
    batch = Batch.from_pyg(triangle())
    moved = batch.to("meta")
    assert moved.num_graphs == 1
    assert moved.mask is None
    for field in fields(Batch):
        if isinstance(getattr(batch, field.name), Tensor):
            assert getattr(moved, field.name).device.type == "meta", field.name
    assert batch.x.device.type == "cpu"


def test_labels_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="no labels"):
        _ = Batch.from_pyg(triangle(y=None)).labels


def test_edges_out_of_order_are_refused() -> None:
    """Appended edges (self loops, say) would silently count as another graph's."""
    pyg = PygBatch.from_data_list([triangle(), triangle()])
    pyg.edge_index = pyg.edge_index.flip(1)
    with pytest.raises(ValueError, match="edges of this PyG batch are not in the order"):
        Batch.from_pyg(pyg)
    pyg.batch = pyg.batch.flip(0)
    with pytest.raises(ValueError, match="nodes of this PyG batch are not in the order"):
        Batch.from_pyg(pyg)


def test_no_edge_index() -> None:
    with pytest.raises(ValueError, match="got a Data without"):
        Batch.from_pyg(Data(x=torch.ones(2, 1)))


def test_no_graphs_to_pyg() -> None:
    with pytest.raises(ValueError, match="no graphs"):
        PackedGraphs.from_pyg([triangle()]).batch([]).to_pyg()


@pytest.mark.cuda
def test_to_a_gpu() -> None:
    batch = Batch.from_pyg(triangle()).to("cuda", non_blocking=True)
    assert batch.x.is_cuda
    assert batch.edge_index.is_cuda
