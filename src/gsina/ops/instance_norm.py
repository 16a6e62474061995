"""Instance normalisation over ragged groups."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.ops.dropout import dropout_mask
from gsina.ops.groups import Groups
from gsina.ops.host import is_transformed
from gsina.ops.once import once


def instance_norm(x: Tensor, groups: Groups, eps: float = 1e-5, correction: int = 0) -> Tensor:
    """Give every channel of every group mean 0 and variance 1.

    Args:
        x: Values ``[N]`` or ``[N, C]``.
        groups: Group of every row.
        eps: Added to the variance; a group of equal rows gives 0.
        correction: 0 for the biased variance, 1 for the unbiased.

    Returns:
        Normalised values of the shape of ``x``. The gradient is the closed form, and can be
        differentiated again.
    """
    if x.dtype in (torch.bfloat16, torch.float16):  # sums of 8 or 11 bits stop growing
        return instance_norm(x.float(), groups, eps, correction).to(x.dtype)
    if is_transformed():
        return _composed(x, groups, eps, correction)
    normal: Tensor = _InstanceNorm.apply(  # type: ignore[no-untyped-call]
        x, groups, eps, correction
    )[0]
    return normal


def standardise(scores: Tensor, groups: Groups, eps: float) -> Tensor:
    """Scores ``[E]`` with mean 0 and unbiased variance 1 in every group; 0 where all are equal."""
    scores = scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
    runs, order = groups.in_runs
    return instance_norm(scores, groups if order is not None else runs, eps, correction=1)


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
    if is_transformed():
        normal = F.relu(_composed(x, groups, eps, 0))
        return normal if mask is None else normal * mask
    result: Tensor = _NormReluDropout.apply(x, groups, mask, eps)  # type: ignore[no-untyped-call]
    return result


def _composed(x: Tensor, groups: Groups, eps: float, correction: int) -> Tensor:
    """Instance norm of functions that ``torch.func`` knows, also forwards and many at once."""
    plain = Groups(groups.index, groups.num, groups.size)
    count = plain.counts(x).view(-1, *[1] * (x.dim() - 1))
    centred = x - plain.spread(plain.sum(x) / count.clamp(min=1))
    variance = plain.sum(centred.square()) / (count - correction).clamp(min=1)
    return centred * plain.spread((variance + eps).rsqrt())


def _normalise(
    x: Tensor, groups: Groups, eps: float, correction: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normalised values, one over each standard deviation ``[G, ...]``, counts, their freedom."""
    count = groups.counts(x).view(-1, *[1] * (x.dim() - 1))
    free = (count - correction).clamp_(min=1) if correction else count.clamp_(min=1)
    count = count.clamp_(min=1)
    centred = x - groups.spread(groups.sum(x) / count)
    scale = (groups.sum(centred.square()) / free).add_(eps).rsqrt_()
    return centred.mul_(groups.spread(scale)), scale, count, free


def _denormalise(
    grad: Tensor, normal: Tensor, scale: Tensor, count: Tensor, free: Tensor, groups: Groups
) -> Tensor:
    """With y the output and means over a group, ``dx = (dy - mean(dy) - y mean(y dy)) / std``."""
    along = groups.spread(groups.sum(grad * normal) / free)
    result = grad - groups.spread(groups.sum(grad) / count)
    return result.addcmul_(normal, along, value=-1).mul_(groups.spread(scale))


class _InstanceNorm(torch.autograd.Function):
    """Instance norm with its gradient in closed form.

    The scale is an output, too, so that the gradient is written in terms of outputs and can be
    differentiated again: ``d scale = - scale^2 <y, dx> / free``.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, groups: Groups, eps: float, correction: int
    ) -> tuple[Tensor, Tensor]:
        normal, scale, count, free = _normalise(x, groups, eps, correction)
        ctx.save_for_backward(normal, scale, count, free)
        ctx.groups = groups
        ctx.set_materialize_grads(False)
        return normal, scale

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor | None, of_scale: Tensor | None
    ) -> tuple[Tensor | None, None, None, None]:
        normal, scale, count, free = ctx.saved_tensors
        dx = None
        if grad is not None:
            dx = _denormalise(grad, normal, scale, count, free, ctx.groups)
        if of_scale is not None:
            change = normal * ctx.groups.spread(of_scale * scale.square() / free)
            dx = -change if dx is None else dx - change
        return dx, None, None, None


class _NormReluDropout(torch.autograd.Function):
    """ReLU and dropout are one factor of the normalised values, which is all that is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, groups: Groups, mask: Tensor | None, eps: float) -> Tensor:
        normal, *statistics = _normalise(x, groups, eps)
        positive = normal > 0
        gate = positive.to(x.dtype) if mask is None else mask.mul_(positive)
        ctx.save_for_backward(gate, normal, *statistics)
        ctx.groups = groups
        return normal * gate

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        gate, normal, scale, count, free = ctx.saved_tensors
        dx = _denormalise(grad * gate, normal, scale, count, free, ctx.groups)
        return dx, None, None, None
