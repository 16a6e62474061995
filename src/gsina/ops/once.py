"""Gradients that can be taken once, and say so.

PyTorch's ``once_differentiable`` notices a second derivative only where the whole graph is walked
(``backward()``); ``torch.autograd.grad`` walks around it and returns a number that lacks a term.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A ``backward`` of a ``torch.autograd.Function`` that may be any code and returns a tuple.

    If a graph of it is wanted (``create_graph=True``), what it returns depends on the tensors that
    were saved and on the gradients that came in, by a function without a derivative.
    """

    @wraps(backward)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with torch.no_grad():
            found = backward(ctx, *grads)
        if not torch.is_grad_enabled():
            return found
        sources = [
            tensor
            for tensor in (*ctx.saved_tensors, *grads)
            if isinstance(tensor, Tensor) and tensor.requires_grad
        ]
        return tuple(_mark(part, sources) for part in found) if sources else found

    return wrapped


def _mark(part: Any, sources: list[Tensor]) -> Any:
    if not isinstance(part, Tensor):
        return part
    return _NotAgain.apply(part, *sources)  # type: ignore[no-untyped-call]


class _NotAgain(torch.autograd.Function):
    """The first argument, as a function of the others."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *sources: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        raise RuntimeError(
            "this gradient can be taken once, and here it is differentiated again; for second "
            "derivatives work inside gsina.ops.compiled.torch_alone(), with scorer='plain'."
        )
