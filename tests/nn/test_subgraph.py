"""edge_subgraph graph by graph."""

from __future__ import annotations

import torch

import tiny
from gsina.graphs.packed import PackedGraphs
from gsina.nn.subgraph import edge_subgraph


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
