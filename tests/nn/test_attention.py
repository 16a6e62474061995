"""`GraphSinkhornAttention`: what it promises of every weight."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import tiny
from attention_cases import H, example, run
from gsina.graphs.batch import Batch
from gsina.nn.attention import (
    Attention,
    GraphSinkhornAttention,
    standardise,
)
from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")


class Given(nn.Module):
    """A scorer that returns the given scores, whatever the graph."""

    def __init__(self, scores: Tensor) -> None:
        super().__init__()
        self.scores = scores

    def forward(self, pair: Tensor) -> Tensor:
        return self.scores


@torch.no_grad()
def attend(batch: Batch, h: Tensor, **options: Any) -> Attention:
    torch.manual_seed(1)
    module = GraphSinkhornAttention(h.size(1), **options).to(h.dtype).eval()
    return run(module, batch, h)


def means(weights: Tensor, batch: Batch) -> list[float]:
    """Mean weight of each graph that has edges, by a plain loop."""
    graphs = (weights.detach()[batch.edge_graph == g] for g in range(batch.num_graphs))
    return [float(part.double().mean()) for part in graphs if part.numel()]


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("scorer", ["normed", "plain"])
@pytest.mark.parametrize("ratio", [0.05, 0.5, 0.9])
def test_group_means_are_the_ratio(ratio: float, scorer: str, undirected: bool) -> None:
    batch, h = example(undirected)
    for temperature in (0.01, 0.1, 1.0, 10.0, 100.0):
        weights = attend(batch, h, ratio=ratio, temperature=temperature, scorer=scorer).edge
        assert bool(((weights >= 0) & (weights <= 1)).all())
        assert means(weights, batch) == pytest.approx([ratio] * 5, abs=1e-6)


def test_scope_batch_fixes_the_mean_over_the_batch_only() -> None:
    batch, h = example()
    weights = attend(batch, h, ratio=0.3, scope="batch").edge
    assert float(weights.double().mean()) == pytest.approx(0.3, abs=1e-6)
    assert max(abs(mean - 0.3) for mean in means(weights, batch)) > 0.01


def test_the_exact_solver_is_the_limit_of_the_sweeps() -> None:
    batch, h = example()
    exact = attend(batch, h, ratio=0.4).edge
    sweeps = attend(batch, h, ratio=0.4, solver="sinkhorn", iterations=500).edge
    torch.testing.assert_close(exact, sweeps, atol=1e-5, rtol=0)
    few = attend(batch, h, ratio=0.4, solver="sinkhorn", iterations=1).edge
    assert float((exact - few).abs().max()) > 1e-4


def test_cold_weights_are_the_hard_selection() -> None:
    batch, _ = example()
    scores = torch.rand(batch.num_edges)
    h = torch.zeros(batch.num_nodes, H)
    weights = attend(batch, h, ratio=0.5, temperature=1e-4, scorer=Given(scores)).edge
    for g in range(batch.num_graphs):
        mine = batch.edge_graph == g
        count = int(mine.sum())
        if count and count % 2 == 0:
            best = scores[mine].argsort(descending=True)[: count // 2]
            hard = torch.zeros(count).index_fill_(0, best, 1.0)
            torch.testing.assert_close(weights[mine], hard, atol=1e-4, rtol=0)


def test_hot_weights_are_the_ratio() -> None:
    batch, h = example()
    weights = attend(batch, h, ratio=0.3, temperature=1e7).edge
    torch.testing.assert_close(weights, torch.full_like(weights, 0.3), atol=1e-6, rtol=0)


def test_at_ratio_one_every_weight_is_exactly_one() -> None:
    batch, h = example()
    for solver in ("exact", "sinkhorn"):
        found = attend(batch, h, ratio=1.0, solver=solver)
        assert found.node is not None
        assert bool((found.edge == 1).all())
        assert bool((found.node == 1).all())


@pytest.mark.parametrize("kept", [{"ratio": 0.35}, {"budget": 3}], ids=str)
@pytest.mark.parametrize("undirected", [False, True])
def test_a_graph_is_weighted_the_same_alone_and_in_any_batch(
    undirected: bool, kept: dict[str, float]
) -> None:
    graphs = tiny.ragged(undirected=undirected)
    torch.manual_seed(2)
    states = torch.randn(graphs.x.size(0), H)
    module = GraphSinkhornAttention(H, **kept).eval()

    def weights(ids: list[int]) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
        batch = graphs.batch(ids)
        rows = torch.cat([torch.arange(*graphs.node_ptr[i : i + 2].tolist()) for i in ids])
        found = run(module, batch, states[rows])
        assert found.node is not None
        return (
            {i: found.edge[batch.edge_graph == place] for place, i in enumerate(ids)},
            {i: found.node[batch.node_graph == place] for place, i in enumerate(ids)},
        )

    alone = [weights([i]) for i in range(len(graphs))]
    for ids in ([0, 1, 2, 3, 4, 5, 6], [5, 2, 0], [6, 4, 3, 1]):
        edges, nodes = weights(ids)
        for i in ids:
            torch.testing.assert_close(edges[i], alone[i][0][i], atol=1e-6, rtol=0)
            torch.testing.assert_close(nodes[i], alone[i][1][i], atol=1e-6, rtol=0)


@settings(max_examples=25)
@given(
    st.integers(0, 2**31),
    st.booleans(),
    st.sampled_from(["graph", "batch"]),
    st.sampled_from([None, 2.5]),
)
def test_reordering_nodes_and_edges_reorders_the_weights(
    seed: int, undirected: bool, scope: Any, budget: float | None
) -> None:
    batch, h = example(undirected)
    generator = torch.Generator().manual_seed(seed)
    nodes = torch.randperm(batch.num_nodes, generator=generator)  # old id of every new node
    edges = torch.randperm(batch.num_edges, generator=generator)
    new_id = nodes.argsort()
    torch.manual_seed(1)
    module = GraphSinkhornAttention(H, None if budget else 0.4, scope=scope, budget=budget).eval()
    old = module(h, batch.edge_index, batch.node_graph, num_graphs=batch.num_graphs)
    new = module(
        h[nodes],
        new_id[batch.edge_index[:, edges]],
        batch.node_graph[nodes],
        num_graphs=batch.num_graphs,
    )
    torch.testing.assert_close(new.edge, old.edge[edges], atol=2e-6, rtol=0)
    torch.testing.assert_close(new.node, old.node[nodes], atol=2e-6, rtol=0)


@pytest.mark.parametrize("training", [False, True])
def test_the_two_directions_of_an_edge_have_one_weight(training: bool) -> None:
    batch, h = example(undirected=True)
    module = GraphSinkhornAttention(H).train(training)
    assert batch.reverse is not None
    for reverse in (batch.reverse, "find"):
        found = module(
            h, batch.edge_index, batch.node_graph, num_graphs=batch.num_graphs, reverse=reverse
        )
        assert torch.equal(found.edge, found.edge[batch.reverse])
    apart = module(h, batch.edge_index, batch.node_graph, reverse=None)
    assert not torch.allclose(apart.edge, apart.edge[batch.reverse], atol=1e-3)


def test_constant_scores_and_lonely_edges_weigh_the_ratio() -> None:
    batch, h = example()
    constant = attend(batch, torch.zeros_like(h), ratio=0.3)
    torch.testing.assert_close(constant.edge, torch.full((batch.num_edges,), 0.3))
    lonely = attend(batch, h, ratio=0.3).edge[batch.edge_graph == 2]
    torch.testing.assert_close(lonely, torch.tensor([0.3]))
    module = GraphSinkhornAttention(H, ratio=0.3).train()  # a single edge feels no noise either
    torch.testing.assert_close(run(module, batch, h).edge[batch.edge_graph == 2], lonely)


def test_noise_only_in_training() -> None:
    batch, h = example()
    module = GraphSinkhornAttention(H, ratio=0.5, scorer="plain")
    calm = run(module.eval(), batch, h).edge
    assert torch.equal(run(module, batch, h).edge, calm)
    module.train()
    torch.manual_seed(3)
    first, second = run(module, batch, h).edge, run(module, batch, h).edge
    assert not torch.allclose(first, calm, atol=1e-2)
    assert not torch.allclose(first, second, atol=1e-2)
    torch.manual_seed(3)
    assert torch.equal(run(module, batch, h).edge, first)
    assert means(first, batch) == pytest.approx([0.5] * 5, abs=1e-6)
    module.noise = 0.0
    assert torch.equal(run(module, batch, h).edge, calm)


def test_the_noise_is_gumbel() -> None:
    """Mean and variance of a standard Gumbel: Euler's constant and pi^2 / 6."""
    module = GraphSinkhornAttention(H, noise=2.0).train()
    torch.manual_seed(0)
    negative = module._negative_noise(torch.zeros(200_000), None)
    noise = module._disturb(torch.zeros(200_000), negative, None) / 2.0
    assert float(noise.mean()) == pytest.approx(0.5772, abs=0.01)
    assert float(noise.var()) == pytest.approx(1.6449, abs=0.03)


def test_the_scores_are_returned_without_noise() -> None:
    batch, h = example()
    module = GraphSinkhornAttention(H, scorer="plain").train()
    noisy = run(module, batch, h).scores
    assert noisy is not None
    assert torch.equal(noisy, run(module.eval(), batch, h).scores)


def test_standardise_against_a_loop() -> None:
    batch, _ = example()
    scores = torch.randn(batch.num_edges, dtype=torch.float64) * 3 + 7
    groups = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    found = standardise(scores, groups, eps=1e-12)
    for g in range(batch.num_graphs):
        mine = scores[batch.edge_graph == g]
        if mine.numel() > 1:
            expected = (mine - mine.mean()) / mine.std()
            torch.testing.assert_close(found[batch.edge_graph == g], expected)
        assert bool(found[batch.edge_graph == g].isfinite().all())


def test_isolated_nodes_weigh_the_ratio() -> None:
    batch, h = example()
    found = attend(batch, h, ratio=0.3).node
    assert found is not None
    touched = torch.zeros(batch.num_nodes, dtype=torch.bool).index_fill_(
        0, batch.edge_index.reshape(-1), True
    )
    assert int((~touched).sum()) == 7
    assert bool((found[~touched] == 0.3).all())
    assert attend(batch, h, node="none").node is None


@pytest.mark.parametrize("scope", ["graph", "batch"])
def test_graphs_without_edges(scope: str) -> None:
    none = torch.zeros(2, 0, dtype=torch.long)
    for training in (False, True):
        module = GraphSinkhornAttention(H, 0.4, scope=scope).train(training)  # type: ignore[arg-type]
        found = module(torch.randn(3, H), none, torch.tensor([0, 0, 1]), num_graphs=2)
        assert found.edge.shape == (0,)
        assert found.node.tolist() == pytest.approx([0.4] * 3)
        assert module(torch.randn(3, H), none).edge.shape == (0,)
        assert module(torch.randn(0, H), none, torch.zeros(0).long()).node.shape == (0,)


def test_one_graph_needs_no_batch() -> None:
    h, edge_index = torch.randn(6, H), torch.randint(0, 6, (2, 20))
    module = GraphSinkhornAttention(H).eval()
    alone = module(h, edge_index)
    with_batch = module(h, edge_index, torch.zeros(6).long())
    torch.testing.assert_close(alone.edge, with_batch.edge, atol=1e-6, rtol=0)
    found = module(h, edge_index, edge_groups=Groups(torch.zeros(20).long(), 1, 20))
    torch.testing.assert_close(alone.edge, found.edge, atol=1e-6, rtol=0)


def test_precisions() -> None:
    batch, h = example()
    double = attend(batch, h.double(), ratio=0.3)
    assert double.edge.dtype == torch.float64
    assert means(double.edge, batch) == pytest.approx([0.3] * 5, abs=1e-12)
    half = attend(batch, h.bfloat16(), ratio=0.3)
    assert half.edge.dtype == torch.float32  # bf16 could not hold the constraint
    assert means(half.edge, batch) == pytest.approx([0.3] * 5, abs=1e-6)


def test_a_scorer_of_the_users() -> None:
    batch, h = example()
    mine = nn.Sequential(nn.Linear(2 * H, 5), nn.Tanh(), nn.Linear(5, 1))
    module = GraphSinkhornAttention(H, 0.5, scorer=mine)
    found = run(module, batch, h)
    (found.edge * torch.rand(batch.num_edges)).sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in mine[0].parameters())
    pair = torch.cat([h[batch.edge_index[0]], h[batch.edge_index[1]]], dim=1)
    groups = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    expected = standardise(mine(pair).squeeze(1), groups, module.eps)
    torch.testing.assert_close(found.scores, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": -1.0}, "eps must be above 0, got -1"),
        ({"ratio": 0.0}, r"ratio must lie in \(0, 1\], got 0"),
        ({"ratio": 1.01}, "ratio must lie in"),
        ({"ratio": float("nan")}, "ratio must lie in"),
        ({"temperature": 0.0}, "temperature must be above 0, got 0"),
        ({"noise": -1.0}, "noise must be 0 or more, got -1"),
        ({"iterations": 0}, "iterations must be 1 to 100,000, got 0"),
        ({"scope": "grap"}, "unknown scope 'grap'; did you mean 'graph'"),
        ({"node": "min"}, "unknown node attention 'min'"),
        ({"solver": "exakt"}, "unknown solver 'exakt'; did you mean 'exact'"),
        ({"scorer": "norm"}, "unknown scorer 'norm'; did you mean 'normed'"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphSinkhornAttention(H, **options)


def test_a_scorer_with_a_wrong_output() -> None:
    batch, h = example()
    with pytest.raises(ValueError, match=r"one score per edge, that is \d+ numbers, got shape"):
        attend(batch, h, scorer=nn.Linear(2 * H, 2))


def test_repr_says_the_settings() -> None:
    text = repr(GraphSinkhornAttention(H, 0.25, scope="batch"))
    assert "ratio=0.25" in text
    assert "scope=batch" in text


def test_reverse_edges_and_the_batch_agree() -> None:
    batch, _ = example(undirected=True)
    found = reverse_edges(batch.edge_index, batch.num_nodes)
    assert found is not None
    assert batch.reverse is not None
    assert torch.equal(found, batch.reverse)
