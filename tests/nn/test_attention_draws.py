"""Hard subgraphs in training, and draws that belong to the graph."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from attention_cases import H, example, run
from gsina.nn.attention import Attention, GraphSinkhornAttention
from gsina.nn.node_weights import node_attention

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")


def drawn(module: GraphSinkhornAttention, undirected: bool, count: int = 3) -> list[Attention]:
    batch, h = example(undirected)
    known = {"edge_groups": batch.edge_groups, "reverse": batch.reverse}
    return module.draws(count, h, batch.edge_index, batch.node_graph, **known)[1]


@pytest.mark.parametrize("options", [{}, {"regulariser": "quadratic"}, {"node": "mean"}])
@pytest.mark.parametrize("undirected", [False, True])
def test_a_graph_has_as_many_edges_as_its_budget(undirected: bool, options: dict[str, str]) -> None:
    batch, h = example(undirected)
    module = GraphSinkhornAttention(H, budget=3, hard=True, **options)  # type: ignore[arg-type]
    torch.manual_seed(0)
    for _ in range(20):
        found = run(module, batch, h)
        assert bool(((found.edge == 0) | (found.edge == 1)).all())
        for graph in range(batch.num_graphs):
            edges = int((batch.edge_graph == graph).sum()) // (2 if undirected else 1)
            kept = float(found.edge.detach()[batch.edge_graph == graph].sum()) / (
                2 if undirected else 1
            )
            assert kept == min(3, edges)
        if batch.reverse is not None:
            assert torch.equal(found.edge, found.edge[batch.reverse])


def test_a_share_is_rounded_down_or_up() -> None:
    batch, h = example(True)
    module = GraphSinkhornAttention(H, ratio=0.3, hard=True)
    found = run(module, batch, h).edge.detach()
    for graph in range(batch.num_graphs):
        share = 0.3 * int((batch.edge_graph == graph).sum()) / 2
        kept = float(found[batch.edge_graph == graph].sum()) / 2
        assert kept in (math.floor(share), math.ceil(share))


def test_nodes_follow_the_hard_edges() -> None:
    batch, h = example()
    found = run(GraphSinkhornAttention(H, ratio=0.4, hard=True), batch, h)
    expected = node_attention(found.edge, batch.edge_index, batch.num_nodes, 0.4, "max")
    assert torch.equal(found.node, expected)  # type: ignore[arg-type]


def test_the_mean_of_many_draws_is_the_soft_weight() -> None:
    batch, h = example()
    module = GraphSinkhornAttention(H, ratio=0.3, noise=0.0, hard=True, scorer="plain")
    soft = run(module.eval(), batch, h).edge.detach()
    module.train()
    torch.manual_seed(0)
    mean = sum(run(module, batch, h).edge.detach() for _ in range(2000)) / 2000
    assert isinstance(mean, Tensor)
    assert bool(((mean - soft).abs() < 5 * (soft * (1 - soft) / 2000).sqrt() + 1e-6).all())


def test_the_gradient_is_that_of_the_soft_weights() -> None:
    batch, h = example(True)
    push = torch.randn(batch.edge_index.size(1))
    gradients = []
    for hard in (True, False):
        torch.manual_seed(3)
        module = GraphSinkhornAttention(H, scorer="plain", hard=hard, node="none")
        torch.manual_seed(4)
        (run(module, batch, h).edge * push).sum().backward()
        gradients.append([p.grad for p in module.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_evaluation_is_soft_and_the_noise_of_training_as_before() -> None:
    batch, h = example()
    torch.manual_seed(1)
    hard, soft = GraphSinkhornAttention(H, hard=True).eval(), GraphSinkhornAttention(H).eval()
    soft.load_state_dict(hard.state_dict())
    torch.testing.assert_close(run(hard, batch, h).edge, run(soft, batch, h).edge)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("undirected", [False, True])
def test_draws_can_be_repeated_and_differ(undirected: bool, hard: bool) -> None:
    torch.manual_seed(2)
    module = GraphSinkhornAttention(H, ratio=0.4, hard=hard).eval()
    first, again = drawn(module, undirected), drawn(module, undirected)
    for one, other in zip(first, again, strict=True):
        assert torch.equal(one.edge, other.edge)
    assert not torch.equal(first[0].edge, first[1].edge)
    state = torch.get_rng_state()
    drawn(module, undirected)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("hard", [False, True])
def test_a_graph_has_the_same_draws_alone(hard: bool) -> None:
    batch, h = example(True)
    torch.manual_seed(2)
    module = GraphSinkhornAttention(H, ratio=0.4, hard=hard, scorer="plain").eval()
    together = drawn(module, True)
    for graph in range(batch.num_graphs):
        nodes, own = batch.node_graph == graph, batch.edge_graph == graph
        start = int(nodes.nonzero()[0])
        _, alone = module.draws(3, h[nodes], batch.edge_index[:, own] - start)
        for one, other in zip(alone, together, strict=True):
            torch.testing.assert_close(one.edge, other.edge[own])
