"""Problems and independent answers for the tests of the operator."""

from __future__ import annotations

import math

import numpy as np
import ot
import torch
from scipy.optimize import brentq
from scipy.special import expit
from torch import Tensor

TEMPERATURES = (0.01, 0.1, 1.0, 10.0, 100.0)
RATIOS = (0.001, 0.02, 0.3, 0.5, 2 / 3, 0.9, 0.999)


def random(size: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def families(size: int, seed: int = 0) -> list[Tensor]:
    """Scores ``[size]``, float64, up to 1e4: smooth, tied, far apart, in clumps, with outliers."""
    x = random(size, seed)
    first = torch.arange(size) == 0
    return [
        x,
        x.round(),
        torch.zeros_like(x) + 0.37,
        1e4 * torch.tanh(x),
        torch.where(x > 0, 1e4, -1e4).double(),
        torch.where(first, 1e4, x),
        torch.where(first, -1e4, x),
        x.sign() * (2 * x).abs().exp().clamp(max=1e4),
        1e-12 * x,
        x + 9990,
    ]


def ragged(sizes: tuple[int, ...], seed: int = 0) -> tuple[Tensor, Tensor, int]:
    """All families at all sizes as one problem: scores, index, number of groups."""
    groups = [scores for size in sizes for scores in families(size, seed)]
    index = [torch.full((len(scores),), group) for group, scores in enumerate(groups)]
    return torch.cat(groups), torch.cat(index), len(groups)


def mean_errors(weights: Tensor, ratio: float, index: Tensor | None, groups: int) -> list[float]:
    """|mean - ratio| of every group that has elements, summed without rounding error."""
    parts = [weights] if index is None else [weights[index == g] for g in range(groups)]
    return [abs(math.fsum(p.tolist()) / len(p) - ratio) for p in parts if len(p)]


def by_root_finding(scores: Tensor, ratio: float, temperature: float) -> Tensor:
    """Weights ``[N]`` of one group, its dual from Brent's method."""
    x = 2 * scores.double().numpy() / temperature
    target = math.log(ratio / (1 - ratio))
    low, high = target - x.max() - 1, target - x.min() + 1
    dual = brentq(lambda d: expit(x + d).mean() - ratio, low, high, xtol=1e-15, rtol=1e-15)
    return torch.from_numpy(expit(x + dual))


def by_transport(scores: Tensor, ratio: float, temperature: float) -> Tensor:
    """Weights ``[N]`` of one group by POT's entropic solver: a plan of two rows, log domain."""
    size = scores.numel()
    cost = np.stack([scores.numpy(), -scores.numpy()])
    plan = ot.bregman.sinkhorn_log(
        np.array([1 - ratio, ratio]),
        np.full(size, 1 / size),
        cost,
        temperature,
        numItermax=200_000,
        stopThr=1e-14,
    )
    return torch.from_numpy(plan[1] * size)
