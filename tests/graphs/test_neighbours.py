"""Neighbour sampling: what a batch holds, that nothing is lost, and that training on it works."""

from __future__ import annotations

import pytest
import torch

import tiny
import tiny_nodes
from gsina.graphs.neighbours import count_seeds, sample_edges, sampled_batches, subgraph
from gsina.graphs.packed import PackedGraphs
from gsina.ops.adjacency import adjacency


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("mask", [False, True])
def test_every_node_that_counts_is_a_seed_once(count: int, mask: bool) -> None:
    graphs = tiny_nodes.graphs(count, mask=mask)
    seen = []
    for batch in sampled_batches(graphs, 16, [3, 2], generator()):
        assert batch.mask is not None
        assert int(batch.mask.sum()) <= 16
        seen.append(batch.x[batch.mask])
        assert bool((batch.node_graph.diff() >= 0).all())
        assert bool((batch.edge_graph.diff() >= 0).all())
        assert torch.equal(*batch.node_graph[batch.edge_index])
        assert torch.equal(batch.node_graph[batch.edge_index[0]], batch.edge_graph)
        assert int(batch.node_graph.max()) == batch.num_graphs - 1
    found = torch.cat(seen)
    expected = graphs.x if graphs.mask is None else graphs.x[graphs.mask]
    assert found.size(0) == count_seeds(graphs)
    assert torch.equal(found.sort(0).values, expected.sort(0).values)


def test_limits_hold_and_draws_are_without_replacement() -> None:
    graphs = tiny_nodes.graphs(nodes=80, degree=12)
    whole = graphs.batch([0])
    edges = adjacency(whole.edge_index, whole.num_nodes).by_target
    seeds = torch.arange(10)
    found = sample_edges(edges, seeds, [4, 2], generator())
    assert bool((found.diff() > 0).all())  # ascending, none twice
    targets = torch.bincount(whole.edge_index[1, found], minlength=whole.num_nodes)
    degree = torch.bincount(whole.edge_index[1], minlength=whole.num_nodes)
    assert torch.equal(targets[:10], degree[:10].clamp(max=4))
    assert bool((targets[10:] <= 2).all())
    assert not torch.equal(found, sample_edges(edges, seeds, [4, 2], generator(1)))
    assert torch.equal(found, sample_edges(edges, seeds, [4, 2], generator()))
    # Every edge of a node has the same chance.
    node = int(degree.argmax())
    hits = torch.zeros(whole.num_edges)
    for seed in range(300):
        hits[sample_edges(edges, torch.tensor([node]), [3], generator(seed))] += 1
    own = hits[whole.edge_index[1] == node]
    assert float(own.sum()) == 900
    expected = 900 / own.numel()
    assert bool(((own - expected).abs() < 5 * expected**0.5).all())


def test_all_edges_of_two_hops_give_the_outputs_of_the_whole_graph() -> None:
    from gsina.nn.backbones import SAGE

    graphs = tiny_nodes.graphs(2)
    network = SAGE(tiny_nodes.FEATURES, 8, num_layers=2).eval()
    whole = graphs.batch([0, 1])
    expected = network(whole.x, whole.edge_index)
    edges = adjacency(whole.edge_index, whole.num_nodes).by_target
    seeds = torch.tensor([3, 70, 11])
    part = subgraph(whole, seeds, sample_edges(edges, seeds, [-1, -1], generator()))
    assert part.num_nodes < whole.num_nodes
    assert part.mask is not None
    found = network(part.x, part.edge_index)[part.mask]
    torch.testing.assert_close(found, expected[seeds.sort().values])


def test_graph_without_edges() -> None:
    graphs = PackedGraphs(
        x=torch.randn(3, 2),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        node_ptr=torch.tensor([0, 3]),
        edge_ptr=torch.tensor([0, 0]),
        node_y=torch.tensor([0, 1, 0]),
    )
    batches = list(sampled_batches(graphs, 2, [5], generator()))
    assert [batch.num_nodes for batch in batches] == [2, 1]
    assert all(batch.num_edges == 0 for batch in batches)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="labels of nodes, and these have none"):
        next(sampled_batches(tiny.ragged(), 4, [2], generator()))
    for size, hops in ((0, [2]), (4, []), (4, [0])):
        with pytest.raises(ValueError, match="at least one hop of positive numbers"):
            next(sampled_batches(tiny_nodes.graphs(), size, hops, generator()))


def test_pyg_lib_draws_what_is_asked_for() -> None:
    pytest.importorskip("pyg_lib", reason="pyg-lib is not installed")
    graphs = tiny_nodes.graphs(nodes=80, degree=12)
    for batch in sampled_batches(graphs, 10, [4], generator()):
        degree = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes)
        assert int(degree.max()) <= 4
