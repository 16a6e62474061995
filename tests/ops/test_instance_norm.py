"""Instance norm over ragged groups, against torch's on each group."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gsina.ops.groups import Groups
from gsina.ops.instance_norm import instance_norm, norm_relu_dropout
from transport_problems import random

SIZES = (5, 0, 2, 40, 1)


def problem(ordered: bool) -> tuple[Tensor, Groups]:
    """Rows of five groups, one empty, one of a single row."""
    index = torch.cat([torch.full((size,), group) for group, size in enumerate(SIZES)])
    if not ordered:
        index = index[torch.randperm(len(index), generator=torch.Generator().manual_seed(0))]
    size = len(index)
    return 3 * random(size * 4).view(size, 4) + 7, Groups(index, len(SIZES), size)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_torch_on_every_group(dtype: torch.dtype, ordered: bool) -> None:
    x, groups = problem(ordered)
    x, upstream = x.to(dtype), random(x.numel(), seed=1).view_as(x).to(dtype)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    y = instance_norm(ours, groups)
    y.backward(upstream)
    expected = torch.zeros_like(x)
    assert groups.index is not None
    for group, size in enumerate(SIZES):
        if size > 1:  # torch refuses a single row
            own = groups.index == group
            normal = F.instance_norm(theirs[own].T.unsqueeze(0)).squeeze(0).T
            expected[own] = normal.detach()
            normal.backward(upstream[own])
    torch.testing.assert_close(y.detach(), expected)
    assert theirs.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("ordered", [True, False])
def test_gradient(ordered: bool) -> None:
    x, groups = problem(ordered)
    assert gradcheck(lambda rows: instance_norm(rows, groups), x.requires_grad_())


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("correction", [0, 1])
def test_second_derivatives(correction: int, ordered: bool) -> None:
    x, groups = problem(ordered)
    own = groups if ordered is False else groups.in_runs[0]
    x = x[:, :2].clone().requires_grad_()
    assert gradgradcheck(lambda rows: instance_norm(rows, own, 1e-2, correction), x)


def test_one_group() -> None:
    x = random(60).view(20, 3)
    expected = F.instance_norm(x.T.unsqueeze(0)).squeeze(0).T
    torch.testing.assert_close(instance_norm(x, Groups.single(20)), expected)
    assert gradcheck(lambda rows: instance_norm(rows, Groups.single(20)), x.requires_grad_())


def test_equal_rows_and_single_rows_become_zero() -> None:
    x = torch.full((4, 3), 1e3, requires_grad=True)
    y = instance_norm(x, Groups(torch.tensor([0, 0, 0, 1]), 2, 4))
    assert torch.equal(y, torch.zeros(4, 3))
    y.sum().backward()
    assert x.grad is not None
    assert bool(x.grad.isfinite().all())


def test_a_large_mean_costs_no_accuracy() -> None:
    x = random(3000).view(1000, 3).float()
    y = instance_norm(x + 1000, Groups.single(1000))
    torch.testing.assert_close(y, instance_norm(x, Groups.single(1000)), atol=1e-3, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_adds_up_in_float32(dtype: torch.dtype) -> None:
    x = random(6000).view(2000, 3).to(dtype).requires_grad_()
    groups = Groups(torch.zeros(2000, dtype=torch.long), 1, 2000)
    y = instance_norm(x, groups)
    assert y.dtype == dtype
    torch.testing.assert_close(y, instance_norm(x.float(), groups).to(dtype))
    assert float(y.detach().float().square().mean()) == pytest.approx(1, abs=1e-2)
    y.square().sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == dtype


def test_input_and_upstream_gradient_are_left_alone() -> None:
    x, groups = problem(ordered=True)
    x.requires_grad_()
    before, upstream = x.detach().clone(), torch.ones_like(x)
    y = instance_norm(x, groups)
    result = y.detach().clone()
    y.backward(upstream)
    assert torch.equal(x.detach(), before)
    assert torch.equal(y.detach(), result)
    assert torch.equal(upstream, torch.ones_like(x))


def test_no_rows() -> None:
    x = torch.zeros(0, 3, requires_grad=True)
    y = instance_norm(x, Groups(torch.zeros(0, dtype=torch.long), 2, 0))
    assert y.shape == (0, 3)
    y.sum().backward()


def test_a_second_derivative_is_refused() -> None:
    x, groups = problem(ordered=True)
    x.requires_grad_()
    loss = norm_relu_dropout(x, groups).square().sum()
    (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="can be taken once"):
        torch.autograd.grad(gradient.sum(), x)


@pytest.mark.parametrize("ordered", [True, False])
def test_norm_relu_dropout_is_the_three_in_a_row(ordered: bool) -> None:
    x, groups = problem(ordered)
    x.requires_grad_()
    upstream = torch.randn(x.shape, generator=torch.Generator().manual_seed(5), dtype=x.dtype)
    for p, training in ((0.0, True), (0.5, False)):
        expected = F.relu(instance_norm(x, groups))
        found = norm_relu_dropout(x, groups, p, training)
        torch.testing.assert_close(found, expected)
        (grad,) = torch.autograd.grad(expected, x, upstream)
        torch.testing.assert_close(torch.autograd.grad(found, x, upstream)[0], grad)


def test_norm_relu_dropout_drops_and_its_gradient_follows() -> None:
    x, groups = problem(ordered=True)
    x.requires_grad_()
    torch.manual_seed(0)
    found = norm_relu_dropout(x, groups, 0.5)
    plain = F.relu(instance_norm(x, groups))
    kept = found != 0
    torch.testing.assert_close(found[kept], 2 * plain[kept])
    assert 0.2 < float(kept.sum() / (plain > 0).sum()) < 0.8
    (grad,) = torch.autograd.grad(found.sum(), x)
    expected = instance_norm(x, groups)[kept].mul(2).sum()
    torch.testing.assert_close(grad, torch.autograd.grad(expected, x)[0])
