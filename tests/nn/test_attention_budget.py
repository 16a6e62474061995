"""`GraphSinkhornAttention` with a budget in edges: so many per graph, each counted once.

That graphs are the same alone and in any batch, in any order, and by the kernels and by torch, is
tested beside that of ratios.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GIN

import tiny
from attention_cases import H, example, run
from gsina.methods.gsina import GSINA
from gsina.nn.attention import GraphSinkhornAttention
from gsina.ops.groups import Groups

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")

#: Edges of the graphs of ``example``, both directions of one counted once.
SIZES = [5, 0, 1, 0, 4, 120, 12]


def attention(budget: float, **options: Any) -> GraphSinkhornAttention:
    torch.manual_seed(1)
    return GraphSinkhornAttention(H, budget=budget, **options).eval()


def sums(weights: Tensor, index: Tensor, groups: int = len(SIZES)) -> list[float]:
    zeros = torch.zeros(groups, dtype=torch.float64)
    return zeros.index_add_(0, index, weights.detach().double()).tolist()


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("budget", [0.02, 1, 3.5, 5, 11, 1e6])
def test_every_graph_keeps_so_many_edges(budget: float, undirected: bool) -> None:
    batch, h = example(undirected)
    copies = 2 if undirected else 1
    for temperature in (0.01, 0.1, 1.0, 10.0, 100.0):
        found = run(attention(budget, temperature=temperature), batch, h)
        for kept, size in zip(sums(found.edge, batch.edge_graph), SIZES, strict=True):
            assert kept == pytest.approx(copies * min(budget, size), abs=1e-6 * copies * size)
        whole = torch.tensor(SIZES)[batch.edge_graph] <= budget
        assert bool((found.edge[whole] == 1).all())


def test_a_node_without_edges_has_the_share_of_its_graph() -> None:
    batch, h = example(undirected=True)
    for node in ("max", "mean"):
        weights = run(attention(3, node=node), batch, h).node
        assert weights is not None
        first = batch.node_graph == 1
        assert weights[first].tolist() == [1, 1, 1]  # there is nothing to leave out
        alone = weights[batch.node_graph == 4][4:]
        assert alone.tolist() == [0.75] * 3


@pytest.mark.parametrize("undirected", [False, True])
def test_over_a_batch_it_is_the_mean(undirected: bool) -> None:
    batch, h = example(undirected)
    copies = 2 if undirected else 1
    found = run(attention(3, scope="batch"), batch, h)
    assert sum(sums(found.edge, batch.edge_graph)) == pytest.approx(copies * 3 * 7, rel=1e-6)
    assert found.node is not None
    alone = found.node[batch.node_graph == 1]
    assert alone.tolist() == pytest.approx([21 / sum(SIZES)] * 3)
    assert bool((run(attention(30, scope="batch"), batch, h).edge == 1).all())


def test_sweeps_come_to_the_same() -> None:
    batch, h = example()
    exact = run(attention(2), batch, h).edge
    sweeps = run(attention(2, solver="sinkhorn", iterations=500), batch, h).edge
    torch.testing.assert_close(exact, sweeps, atol=1e-5, rtol=0)


def test_where_all_graphs_are_equal_it_is_a_ratio() -> None:
    graphs = tiny.ragged(undirected=True).batch([6, 6, 6])
    h = torch.randn(graphs.num_nodes, H)
    torch.manual_seed(1)
    share = GraphSinkhornAttention(H, 0.25).eval()
    for ours, theirs in zip(run(attention(3), graphs, h), run(share, graphs, h), strict=True):
        assert torch.equal(ours, theirs)


def test_edges_with_and_without_an_opposite() -> None:
    """Four edges, one of them a loop and one without an opposite: six are stored."""
    ends = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 2, 0]])
    found = attention(3)(torch.randn(4, H), ends).edge
    assert found.double().mean().item() == pytest.approx(0.75, abs=1e-6)
    assert bool((attention(4)(torch.randn(4, H), ends).edge == 1).all())


def test_no_graphs_and_no_edges() -> None:
    none = torch.zeros(2, 0, dtype=torch.long)
    for scope in ("graph", "batch"):
        found = attention(3, scope=scope)(torch.randn(2, H), none)
        assert found.node.tolist() == [1, 1]
        empty = attention(3, scope=scope)(torch.randn(0, H), none, torch.zeros(0).long())
        assert empty.edge.shape == empty.node.shape == (0,)


def test_groups_without_the_graphs_of_the_nodes_are_refused() -> None:
    batch, h = example()
    groups = Groups(batch.edge_graph, 7, batch.num_edges)
    with pytest.raises(ValueError, match="pass batch, too"):
        attention(3)(h, batch.edge_index, edge_groups=groups)


@pytest.mark.parametrize("bad", [0, -2.0, float("nan"), float("inf")])
def test_bad_budgets(bad: float) -> None:
    with pytest.raises(ValueError, match=f"budget must be a number of edges above 0, got {bad}"):
        attention(bad)


def test_repr_says_the_budget() -> None:
    assert "budget=8," in repr(attention(8))


def test_a_ratio_beside_a_budget_is_refused_and_a_default_is_none() -> None:
    with pytest.raises(ValueError, match=r"got ratio 0\.5 and budget 8; leave one out"):
        GraphSinkhornAttention(H, 0.5, budget=8)
    networks = GIN(H, 4, 2), GIN(H, 3, 2)
    with pytest.raises(ValueError, match=r"got ratio 0\.3 and budget 8; leave one out"):
        GSINA(*networks, channels=4, ratio=0.3, budget=8)
    assert GSINA(*networks, channels=4, budget=8).attention.budget.count == 8
    assert GraphSinkhornAttention(H).budget.share == 0.5
