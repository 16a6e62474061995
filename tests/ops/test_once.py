"""Gradients that can be taken once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from gsina.ops.once import once


class Cube(torch.autograd.Function):
    """A cube whose gradient is computed by code that autograd does not see."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, power: int) -> Tensor:
        ctx.save_for_backward(x)
        return x**power

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        assert not torch.is_grad_enabled()
        return 3 * x.detach() ** 2 * grad, None


def gradient(**options: Any) -> tuple[Tensor, Tensor]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (grad,) = torch.autograd.grad(Cube.apply(x, 3).sum(), x, **options)  # type: ignore[no-untyped-call]
    return x, grad


def test_once_is_fine() -> None:
    for options in ({}, {"create_graph": True}):
        _, grad = gradient(**options)
        assert grad.tolist() == [3.0, 12.0]
    assert not gradient()[1].requires_grad


def test_twice_is_refused() -> None:
    x, grad = gradient(create_graph=True)
    with pytest.raises(RuntimeError, match="can be taken once"):
        torch.autograd.grad(grad.sum(), x)
    _, grad = gradient(create_graph=True)
    with pytest.raises(RuntimeError, match="can be taken once"):
        grad.sum().backward()


def test_where_the_gradient_that_comes_in_depends_on_the_input() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    (grad,) = torch.autograd.grad(Cube.apply(x, 3).square().sum(), x, create_graph=True)  # type: ignore[no-untyped-call]
    assert grad.tolist() == [2 * 8 * 12]
    with pytest.raises(RuntimeError, match="can be taken once"):
        torch.autograd.grad(grad, x)
