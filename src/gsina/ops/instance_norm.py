"""Instance normalisation over ragged groups."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

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


class _InstanceNorm(torch.autograd.Function):
    """With y the output and means over a group, ``dx = (dy - mean(dy) - y mean(y dy)) / std``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, groups: Groups, eps: float) -> Tensor:
        count = groups.counts(x).clamp_(min=1).view(-1, 1)
        centred = x - groups.spread(groups.sum(x) / count)
        scale = (groups.sum(centred.square()) / count).add_(eps).rsqrt_()
        normal = centred.mul_(groups.spread(scale))
        ctx.save_for_backward(normal, scale, count)
        ctx.groups = groups
        return normal

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        normal, scale, count = ctx.saved_tensors
        groups: Groups = ctx.groups
        along = groups.spread(groups.sum(grad * normal) / count)
        result = grad - groups.spread(groups.sum(grad) / count)
        return result.addcmul_(normal, along, value=-1).mul_(groups.spread(scale)), None, None
