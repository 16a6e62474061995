"""``soft_top_r`` inside ``torch.func``: what can be composed is, and what cannot says so."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap

import tiny
from gsina import soft_top_r
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec

INDEX = torch.tensor([0, 2, 0, 2, 0, 2, 2])


def weigh(scores: Tensor, ratio: Tensor | float = 0.4) -> Tensor:
    return soft_top_r(scores, ratio, INDEX, temperature=0.7, num_groups=3)


@pytest.fixture
def scores() -> Tensor:
    return torch.randn(7, dtype=torch.double, generator=torch.Generator().manual_seed(0))


def test_derivatives_backwards_and_forwards_agree(scores: Tensor) -> None:
    back = jacrev(weigh)(scores)
    torch.testing.assert_close(jacfwd(weigh)(scores), back)
    one = scores.clone().requires_grad_()
    expected = [torch.autograd.grad(weigh(one)[place], one)[0] for place in range(7)]
    torch.testing.assert_close(back, torch.stack(expected))
    direction = torch.ones_like(scores) * torch.arange(7)
    torch.testing.assert_close(jvp(weigh, (scores,), (direction,))[1], back @ direction)
    of_ratio = jvp(lambda share: weigh(scores, share), (torch.tensor(0.4),), (torch.ones(()),))[1]
    near = (weigh(scores, 0.4 + 1e-6) - weigh(scores, 0.4 - 1e-6)) / 2e-6
    torch.testing.assert_close(of_ratio, near, rtol=1e-4, atol=1e-5)


def test_second_derivatives(scores: Tensor) -> None:
    found = hessian(lambda one: weigh(one).square().sum())(scores)
    torch.testing.assert_close(found, found.T)
    assert found.abs().max() > 1e-3


def test_many_at_once_are_each_alone(scores: Tensor) -> None:
    several = torch.stack([scores, 2 * scores, -scores])
    found = vmap(weigh)(several)
    for row, one in zip(found, several, strict=True):
        torch.testing.assert_close(row, weigh(one))
    shares = torch.tensor([0.2, 0.5, 1.0])
    found = vmap(lambda share: weigh(scores, share))(shares)
    for row, share in zip(found, shares, strict=True):
        torch.testing.assert_close(row, weigh(scores, float(share)), rtol=1e-6, atol=1e-7)
    sums = vmap(grad(lambda one: weigh(one).square().sum()))(several)
    alone = grad(lambda one: weigh(one).square().sum())(several[1])
    torch.testing.assert_close(sums[1], alone)


def test_bad_numbers_are_told_where_they_can_be_read(scores: Tensor) -> None:
    with pytest.raises(ValueError, match="finite"):
        grad(lambda one: weigh(one).sum())(scores / 0.0)


def test_a_gradient_of_a_whole_model_by_its_weights() -> None:
    spec = NetworkSpec("gin", tiny.FEATURES, 0, {"hidden_channels": 4, "dropout": 0.0})
    method = build_method("erm", spec, tiny.CLASSES, {}).eval()
    batch = tiny.whole(tiny.motifs(2))
    weights = dict(method.named_parameters())

    def loss(given: dict[str, Tensor]) -> Tensor:
        logits: Tensor = functional_call(method, given, (batch,)).logits
        return logits.square().sum()

    found = grad(loss)(weights)
    expected = torch.autograd.grad(loss(weights), list(weights.values()))
    for one, other in zip(found.values(), expected, strict=True):
        torch.testing.assert_close(one, other)
