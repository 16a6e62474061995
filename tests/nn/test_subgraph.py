"""edge_subgraph graph by graph."""

from __future__ import annotations

import copy

import pytest
import torch

import tiny
from gsina.graphs.packed import PackedGraphs
from gsina.methods.parts.splitting import represent_part
from gsina.nn.norm import BatchNorm, counted_nodes
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.subgraph import edge_subgraph
from gsina.ops.host import as_on_a_device


def test_keeps_the_marked_edges_and_their_nodes() -> None:
    graphs = tiny.ragged()
    batch = tiny.whole(graphs)
    edges = torch.rand(batch.num_edges) < 0.3
    edges[batch.edge_graph == 0] = False  # one graph loses everything
    part = edge_subgraph(batch, edges)
    assert part.num_graphs == batch.num_graphs
    assert part.y is batch.y
    # Same edges, told by the features of their ends and their own.
    for side in (0, 1):
        assert torch.equal(part.x[part.edge_index[side]], batch.x[batch.edge_index[side]][edges])
    assert part.edge_attr is not None
    assert batch.edge_attr is not None
    assert torch.equal(part.edge_attr, batch.edge_attr[edges])
    touched = batch.edge_index[:, edges].unique()
    assert torch.equal(part.x, batch.x[touched])
    assert torch.equal(part.node_graph, batch.node_graph[touched])
    assert len(PackedGraphs.from_batch(part)) == len(graphs)  # a valid batch


def test_nothing_and_everything() -> None:
    batch = tiny.whole(tiny.ragged(undirected=True))
    none = edge_subgraph(batch, torch.zeros(batch.num_edges, dtype=torch.bool))
    assert (none.num_nodes, none.num_edges, none.num_graphs) == (0, 0, batch.num_graphs)
    every = edge_subgraph(batch, torch.ones(batch.num_edges, dtype=torch.bool))
    assert every.num_edges == batch.num_edges
    assert every.num_nodes == batch.edge_index.unique().numel()


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
def test_on_a_device_nothing_is_taken_out_and_nothing_else_is_seen(how: str) -> None:
    """States, readouts, norms and their statistics are those of the smaller graphs."""
    batch = tiny.whole(tiny.ragged(undirected=True))
    edges = torch.rand(batch.num_edges) < 0.5
    weight = torch.rand(batch.num_edges)
    torch.manual_seed(0)
    network = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0}).network()
    predictor = Predictor(network, None, how)
    other = copy.deepcopy(predictor)
    here = represent_part(predictor, batch, edges, weight)
    with as_on_a_device():
        part = edge_subgraph(batch, edges)
        assert (part.num_nodes, part.num_edges) == (batch.num_nodes + 1, batch.num_edges)
        there = represent_part(other, batch, edges, weight)
        once_more = edge_subgraph(part, torch.ones_like(edges))
    torch.testing.assert_close(there, here, rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(predictor.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(theirs, mine, rtol=1e-4, atol=1e-6)
    assert once_more.inside is not None
    assert part.inside is not None
    assert torch.equal(once_more.inside[:-1], part.inside)


def test_a_part_of_one_node_is_normed_by_the_running_statistics() -> None:
    norm = BatchNorm(2).train()
    x = torch.randn(3, 2)
    with counted_nodes(torch.tensor([False, True, False])):
        found = norm(x)
    torch.testing.assert_close(found[1:2], norm(x[1:2]))
    assert int(norm.num_batches_tracked) == 0
