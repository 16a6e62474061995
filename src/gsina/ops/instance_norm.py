"""Instance normalisation over ragged groups."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gsina.ops.dropout import dropout_mask
from gsina.ops.groups import Groups


def instance_norm(x: Tensor, groups: Groups, eps: float = 1e-5) -> Tensor:
    """Give every channel of every group mean 0 and (biased) variance 1.

    Args:
        x: Values ``[N, C]``.
        groups: Group of every row.
        eps: Added to the variance; a group of equal rows gives 0.

    Returns:
        Normalised values ``[N, C]``. The gradient is the closed form; it can be taken once.
    """
    if x.dtype in (torch.bfloat16, torch.float16):  # sums of 8 or 11 bits stop growing
        return instance_norm(x.float(), groups, eps).to(x.dtype)
    normal: Tensor = _InstanceNorm.apply(x, groups, eps)  # type: ignore[no-untyped-call]
    return normal


def norm_relu_dropout(
    x: Tensor, groups: Groups, p: float = 0.0, training: bool = True, eps: float = 1e-5
) -> Tensor:
    """``dropout(relu(instance_norm(x)))`` in fewer passes over the memory.

    Args:
        x: Values ``[N, C]``.
        groups: Group of every row.
        p: Probability of dropout.
        training: Whether there is dropout.
        eps: Added to the variance.

    Returns:
        Values ``[N, C]``. The gradient is the closed form; it can be taken once.
    """
    if x.dtype in (torch.bfloat16, torch.float16):
        return norm_relu_dropout(x.float(), groups, p, training, eps).to(x.dtype)
    mask = dropout_mask(x, p) if training and p > 0 else None
    result: Tensor = _NormReluDropout.apply(x, groups, mask, eps)  # type: ignore[no-untyped-call]
    return result


def _normalise(x: Tensor, groups: Groups, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """The normalised values ``[N, C]``, one over each standard deviation ``[G, C]``, the counts."""
    count = groups.counts(x).clamp_(min=1).view(-1, 1)
    centred = x - groups.spread(groups.sum(x) / count)
    scale = (groups.sum(centred.square()) / count).add_(eps).rsqrt_()
    return centred.mul_(groups.spread(scale)), scale, count


def _denormalise(
    grad: Tensor, normal: Tensor, scale: Tensor, count: Tensor, groups: Groups
) -> Tensor:
    """With y the output and means over a group, ``dx = (dy - mean(dy) - y mean(y dy)) / std``."""
    along = groups.spread(groups.sum(grad * normal) / count)
    result = grad - groups.spread(groups.sum(grad) / count)
    return result.addcmul_(normal, along, value=-1).mul_(groups.spread(scale))


class _InstanceNorm(torch.autograd.Function):
    """Instance norm with its gradient in closed form."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, groups: Groups, eps: float) -> Tensor:
        normal, scale, count = _normalise(x, groups, eps)
        ctx.save_for_backward(normal, scale, count)
        ctx.groups = groups
        return normal

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        normal, scale, count = ctx.saved_tensors
        return _denormalise(grad, normal, scale, count, ctx.groups), None, None


class _NormReluDropout(torch.autograd.Function):
    """ReLU and dropout are one factor of the normalised values, which is all that is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, groups: Groups, mask: Tensor | None, eps: float) -> Tensor:
        normal, scale, count = _normalise(x, groups, eps)
        positive = normal > 0
        gate = positive.to(x.dtype) if mask is None else mask.mul_(positive)
        ctx.save_for_backward(normal, gate, scale, count)
        ctx.groups = groups
        return normal * gate

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        normal, gate, scale, count = ctx.saved_tensors
        return _denormalise(grad * gate, normal, scale, count, ctx.groups), None, None, None
