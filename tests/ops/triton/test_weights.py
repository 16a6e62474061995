"""The kernel for GPUs in Triton's interpreter, beside the solver of the CPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from gsina.ops.groups import Groups
from gsina.ops.soft_top_r import exact_weights, soft_top_r
from gsina.ops.triton import weights as kernels

SIZES = (1, 2, 5, 40, 0, 300)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a group of 300 is longer than a block."""
    monkeypatch.setattr(kernels, "BLOCK", 128)


def ragged() -> Groups:
    index = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))
    order = torch.randperm(index.numel(), generator=torch.Generator().manual_seed(0))
    return Groups(index[order], len(SIZES), index.numel())


def scores(kind: str, size: int, largest: float) -> Tensor:
    values = torch.randn(size, generator=torch.Generator().manual_seed(1))
    made = {"normal": values, "equal": values.sign(), "heavy": values**3}[kind]
    return made / made.abs().max() * largest


@pytest.mark.parametrize("kind", ["normal", "equal", "heavy"])
@pytest.mark.parametrize(("temperature", "largest"), [(0.01, 1e4), (1.0, 3.0), (100.0, 1.0)])
def test_weights_and_gradients_are_those_of_the_cpu(
    kind: str, temperature: float, largest: float
) -> None:
    groups = ragged()
    x = (2 * scores(kind, groups.size, largest) / temperature).requires_grad_()
    pull = torch.randn(groups.size, generator=torch.Generator().manual_seed(2))
    shares = torch.tensor([0.5, 0.3, 0.999, 0.001, 0.5, 0.3])
    found = kernels.solve(x.detach(), shares, groups)
    assert found is not None
    weights, complement = found
    exact = exact_weights(x, shares, groups)
    torch.testing.assert_close(weights, exact.detach(), rtol=0, atol=2e-6)
    means = groups.sum(weights.double()) / groups.counts(weights.double())
    assert (means - shares)[torch.tensor(SIZES) > 0].abs().max() <= 1e-6
    (grad,) = torch.autograd.grad(exact, x, pull)
    mine = kernels.gradient(weights, complement, pull, groups)
    torch.testing.assert_close(mine, grad, rtol=1e-3, atol=2e-5)


def test_soft_top_r_calls_it_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once differentiated, that is; for a second time torch writes the gradient."""
    x = torch.randn(30, generator=torch.Generator().manual_seed(0), requires_grad=True)
    index = torch.arange(30) % 3
    plain = soft_top_r(x, 0.3, index)
    (expected,) = torch.autograd.grad(plain.square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(expected.square().sum(), x)
    monkeypatch.setattr(kernels, "available", lambda values: True)
    calls = []
    for name in ("solve", "gradient"):
        real = getattr(kernels, name)
        monkeypatch.setattr(
            kernels, name, lambda *given, real=real, name=name: calls.append(name) or real(*given)
        )
    found = soft_top_r(x, 0.3, index)
    torch.testing.assert_close(found, plain, rtol=0, atol=1e-6)
    (grad,) = torch.autograd.grad(found.square().sum(), x, retain_graph=True)
    torch.testing.assert_close(grad, expected, rtol=1e-4, atol=1e-6)
    assert calls == ["solve", "gradient"]
    (grad,) = torch.autograd.grad(found.square().sum(), x, create_graph=True)
    (again,) = torch.autograd.grad(grad.square().sum(), x)
    torch.testing.assert_close(again, second, rtol=1e-3, atol=1e-5)


def test_a_share_of_one_keeps_all() -> None:
    groups = ragged()
    found = kernels.solve(scores("normal", groups.size, 3.0), torch.ones(groups.num), groups)
    assert found is not None
    assert bool((found[0] == 1).all())
    assert bool((found[1] == 0).all())


def test_one_large_group_is_left_to_torch() -> None:
    assert kernels.solve(torch.zeros(5), torch.tensor([0.5]), Groups.single(5)) is None
    assert not kernels.available(torch.zeros(5))
