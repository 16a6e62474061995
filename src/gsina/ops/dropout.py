"""Dropout whose random mask is cheap on the CPU."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.errors import InputError


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Set elements to zero with probability ``p`` and scale the rest, as ``F.dropout`` does.

    On the CPU the mask is compared from random bytes (two bytes per element where one cannot hold
    ``p`` exactly), taken from torch's default generator: about twenty times cheaper than one
    uniform number per element. The scale is that of the probability really used, which differs from
    ``p`` by at most 2^-17, so the expectation is exact.
    """
    if not 0 <= p < 1:
        raise InputError(f"dropout probability must lie in [0, 1), got {p}.")
    if not training or p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return x * dropout_mask(x, p)


def dropout_mask(x: Tensor, p: float) -> Tensor:
    """What :func:`dropout` multiplies ``x`` by: 0, or one over the probability of being kept."""
    if x.device.type != "cpu":
        return F.dropout(torch.ones_like(x), p)
    width = 1 if (p * 256).is_integer() else 2
    levels = 256**width
    cut = min(round(p * levels), levels - 1)
    words = torch.empty(math.ceil(x.numel() * width / 8), dtype=torch.int64)
    words.random_(-(2**63), None)  # all 64 bits; the default leaves the sign bit out
    numbers = words.view(torch.int8 if width == 1 else torch.int16)[: x.numel()].view(x.shape)
    mask = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(numbers, cut - levels // 2, out=mask)
    return mask.mul_(levels / (levels - cut))
