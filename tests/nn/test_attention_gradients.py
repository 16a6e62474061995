"""`GraphSinkhornAttention`: its gradients, and the same numbers by the kernels and by torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_cases import H, example, run
from gsina.nn.attention import GraphSinkhornAttention
from gsina.ops.compiled import torch_alone

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")


@pytest.mark.parametrize("node", ["max", "mean", "none"])
@pytest.mark.parametrize("scope", ["graph", "batch"])
@pytest.mark.parametrize("budget", [None, 3.0])
def test_the_kernels_get_all_settings(budget: float | None, scope: Any, node: Any) -> None:
    """A step in training by the kernels, if they were built, and by torch alone."""
    batch, h = example(undirected=True)
    kept = {"ratio": 0.23} if budget is None else {"budget": budget}
    module = GraphSinkhornAttention(
        H, temperature=0.6, noise=1.7, scope=scope, **kept, scorer="plain", node=node, eps=0.3
    ).train()

    def step() -> list[Tensor]:
        torch.manual_seed(8)
        module.zero_grad()
        found = run(module, batch, h)
        loss = (found.edge * torch.linspace(-1, 1, batch.num_edges)).sum()
        if found.node is not None:
            loss = loss + (found.node * torch.linspace(-1, 2, batch.num_nodes)).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        weights = [part.detach() for part in found if part is not None]
        return weights + [p.grad for p in module.parameters() if p.grad is not None]

    found = step()
    with torch_alone():
        expected = step()
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("budget", [None, 3.0])
def test_gradients_reach_the_embeddings(budget: float | None) -> None:
    batch, h = example(undirected=True)
    h = h.double().requires_grad_()
    module = GraphSinkhornAttention(H, None if budget else 0.4, budget=budget, scorer="plain")
    module = module.double().eval()
    target = torch.rand(batch.num_edges, dtype=torch.float64)

    def loss(states: Tensor) -> Tensor:
        return (run(module, batch, states).edge * target).sum()

    (grad,) = torch.autograd.grad(loss(h), h)
    direction = torch.randn_like(h)
    step = 1e-6
    with torch.no_grad():
        slope = (loss(h + step * direction) - loss(h - step * direction)) / (2 * step)
    assert float((grad * direction).sum()) == pytest.approx(float(slope), rel=1e-4)


def test_second_derivatives_by_torch_alone_and_refused_otherwise() -> None:
    batch, h = example()
    h = h.double().requires_grad_()
    module = GraphSinkhornAttention(H, 0.4, scorer=nn.Sequential(nn.Linear(2 * H, 1), nn.Tanh()))
    module = module.double().eval()
    target = torch.rand(batch.num_edges, dtype=torch.float64)

    def slope(states: Tensor) -> Tensor:
        loss = (run(module, batch, states).edge * target).sum()
        return torch.autograd.grad(loss, states, create_graph=True)[0]

    direction = torch.randn_like(h)
    (curved,) = torch.autograd.grad((slope(h) * direction).sum(), h)
    step = 1e-5
    ahead, behind = (
        slope((h.detach() + way * direction).requires_grad_()).detach() for way in (step, -step)
    )
    torch.testing.assert_close(curved, (ahead - behind) / (2 * step), atol=1e-5, rtol=1e-4)
    single = GraphSinkhornAttention(H, 0.4).eval()  # the scorer has a gradient that is taken once
    states = h.detach().float().requires_grad_()
    loss = (run(single, batch, states).edge * target.float()).sum()
    (grad,) = torch.autograd.grad(loss, states, create_graph=True)
    with pytest.raises(RuntimeError, match="can be taken once"):
        torch.autograd.grad(grad.square().sum(), states)
