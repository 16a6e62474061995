"""Several aggregations of the same messages in one function, and of multiples of one state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gsina.ops.once import once

AGGREGATORS = ("mean", "min", "max", "std", "sum")
STD_EPS = 1e-5


def multi_aggregate(
    messages: Tensor, target: Tensor, num_nodes: int, aggregators: tuple[str, ...] = AGGREGATORS
) -> Tensor:
    """Aggregate messages at their target by every aggregator, side by side.

    ``std`` is ``sqrt(relu(mean of squares - square of mean) + 1e-5)``. A node without messages gets
    0 (``std``: sqrt(1e-5)). The gradient is the closed form, shared evenly between equal extremes;
    it can be taken once.

    Args:
        messages: ``[E, C]``.
        target: Node of every message ``[E]``.
        num_nodes: Number of nodes N.
        aggregators: Names out of ``mean, min, max, std, sum``.

    Returns:
        ``[N, len(aggregators) * C]``.
    """
    result: Tensor = _MultiAggregate.apply(messages, target, num_nodes, aggregators)  # type: ignore[no-untyped-call]
    return result


def aggregate_multiples(
    states: Tensor, factors: Tensor, aggregators: tuple[str, ...] = AGGREGATORS
) -> Tensor:
    """Aggregate messages that are multiples of the state of their own target.

    The message of an edge e to a node i is ``w_e h_i``, so every aggregate of it is a function of
    ``h_i`` and of the aggregates of the ``w_e`` alone: no message is made.

    Args:
        states: State h of every node ``[N, C]``.
        factors: Aggregates of the factors w by all of ``AGGREGATORS``, in their order ``[N, 5]``.
        aggregators: Names out of ``mean, min, max, std, sum``.

    Returns:
        What :func:`multi_aggregate` gives for the messages, ``[N, len(aggregators), C]``.
    """
    mean, least, most, std, total = factors.unsqueeze(-1).unbind(1)
    above = states.clamp(min=0)
    below = states - above  # at a state of 0 only one of the two has a gradient
    parts = {
        "mean": lambda: states * mean,
        "min": lambda: torch.addcmul(above * least, below, most),
        "max": lambda: torch.addcmul(above * most, below, least),
        "std": lambda: (states.square() * (std.square() - STD_EPS).relu() + STD_EPS).sqrt(),
        "sum": lambda: states * total,
    }
    return torch.stack([parts[name]() for name in aggregators], dim=1)


class _MultiAggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, messages: Tensor, target: Tensor, num_nodes: int, aggregators: tuple[str, ...]
    ) -> Tensor:
        index = target.unsqueeze(-1).expand_as(messages)
        zeros = messages.new_zeros(num_nodes, messages.size(1))
        count = messages.new_zeros(num_nodes).index_add_(
            0, target, messages.new_ones(()).expand(target.numel())
        )
        count = count.clamp_(min=1).unsqueeze(-1)
        parts: dict[str, Tensor] = {}
        parts["sum"] = zeros.scatter_add(0, index, messages)
        parts["mean"] = parts["sum"] / count
        if "std" in aggregators:
            squares = zeros.scatter_add(0, index, messages.square()) / count
            variance = (squares - parts["mean"].square()).clamp_(min=0)
            parts["std"] = variance.add_(STD_EPS).sqrt_()
        for name in ("min", "max"):
            if name in aggregators:
                parts[name] = zeros.scatter_reduce(
                    0, index, messages, f"a{name}", include_self=False
                )
        ctx.save_for_backward(messages, target, count, *(parts[name] for name in aggregators))
        ctx.mean = parts["mean"]
        ctx.aggregators = aggregators
        return torch.cat([parts[name] for name in aggregators], dim=1)

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        messages, target, count, *saved = ctx.saved_tensors
        parts = dict(zip(ctx.aggregators, saved, strict=True))
        grads = dict(zip(ctx.aggregators, grad.chunk(len(ctx.aggregators), dim=1), strict=True))
        constant = torch.zeros_like(count).expand(-1, messages.size(1))
        if "sum" in grads:
            constant = constant + grads["sum"]
        if "mean" in grads:
            constant = constant + grads["mean"] / count
        if "std" in grads:
            std = parts["std"]
            # A variance of 0 was cut there by the relu: no gradient.
            linear = torch.where(std.square() > STD_EPS * (1 + 1e-6), grads["std"], 0)
            linear = linear / (std * count)
            constant = constant - linear * ctx.mean
            result = constant.index_select(0, target)
            result.addcmul_(linear.index_select(0, target), messages)
        else:
            result = constant.index_select(0, target)
        for name in ("min", "max"):
            if name in grads:
                result += _extreme_grad(messages, target, parts[name], grads[name])
        return result, None, None, None


def _extreme_grad(messages: Tensor, target: Tensor, extreme: Tensor, grad: Tensor) -> Tensor:
    hit = torch.empty_like(messages)
    torch.eq(messages, extreme.index_select(0, target), out=hit)
    ties = torch.zeros_like(grad).index_add_(0, target, hit).clamp_(min=1)
    return hit.mul_((grad / ties).index_select(0, target))
