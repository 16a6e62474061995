"""The one unknown of the two-row transport problem, found by Newton's method.

For logits x and a share r, the weights are ``sigmoid(x + dual)`` with the one number ``dual`` of
each group that makes their mean r. A Sinkhorn sweep moves the dual by ``logit(r) - logit(mean)``;
dividing that step by its own slope g turns the sweep into Newton's method on the logit scale.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gsina.ops.groups import Groups

# A bracket of width 4e6 (scores of 1e4 at temperature 0.01) needs 30 halvings, and at worst every
# second step is a halving.
COARSE_STEPS = 64
FINE_STEPS = 16
# Over a distance d the slope of the mean changes by at most the factor exp(d): a Newton step this
# short proves that the root is about as near, and from here every step squares the error.
NEAR = 0.1


class Dual(NamedTuple):
    """Solution of :func:`solve_dual`.

    Attributes:
        logits: ``x + dual`` for every element ``[N]``, float64.
        dual: The dual of each group ``[G]``, float64; infinite where the ratio is 1.
        iterations: Evaluations of the mean, the same for all groups.
    """

    logits: Tensor
    dual: Tensor
    iterations: int


def solve_dual(x: Tensor, ratio: Tensor, groups: Groups, tolerance: float) -> Dual:
    """Solve ``mean(sigmoid(x + dual)) = ratio`` in every group.

    Two passes of the same loop. The first comes near the dual; the second starts from the shifted
    logits, which around the threshold are exact differences, so that the result does not lose
    digits to large scores. On the CPU a pass ends when all groups have converged;
    elsewhere it makes a fixed number of steps, because asking would stall the device.

    Args:
        x: Logits ``[N]``, float64, finite.
        ratio: Shares ``[G]``, float64, in (0, 1].
        groups: Group of every element.
        tolerance: Largest error of a group mean.
    """
    everything = ratio >= 1
    problem, ordered = _prepare(x, torch.where(everything, 0.5, ratio), groups, tolerance)
    runs, target, full = problem.groups, problem.target, problem.full
    zero = torch.zeros_like(target)
    start = target - runs.sum(ordered) / problem.counts
    low = torch.where(full, target - runs.max(ordered), zero)
    high = torch.where(full, target - runs.min(ordered), zero)
    # Bounds, and the signs that move them, are rounded; a margin gives the rounding error back.
    margin = 1e-6 * (1 + low.abs() + high.abs())
    low, high = low - margin, high + margin
    coarse, low, high, used = _newton(problem, ordered, start, low, high, NEAR, COARSE_STEPS)
    low, high = low - coarse - margin, high - coarse + margin
    shifted = ordered + runs.spread(coarse)
    # A Newton step of length d leaves an error of the mean of at most about d^2 / 4.
    near = tolerance**0.5
    fine, _, _, more = _newton(problem, shifted, zero, low, high, near, FINE_STEPS)
    fine = torch.where(everything, torch.inf, fine)
    logits = (x + groups.spread(coarse)).add_(groups.spread(fine))
    return Dual(logits, coarse + fine, used + more)


class _Problem(NamedTuple):
    ratio: Tensor
    target: Tensor
    groups: Groups
    counts: Tensor
    full: Tensor
    tolerance: float


def _prepare(
    x: Tensor, ratio: Tensor, groups: Groups, tolerance: float
) -> tuple[_Problem, Tensor]:
    """The problem with the elements of each group side by side, and its logits in that order."""
    runs, order = groups.in_runs()
    counts = groups.counts(x)
    problem = _Problem(
        ratio, torch.logit(ratio), runs, counts.clamp(min=1), counts > 0, tolerance
    )
    return problem, x if order is None else x[order]


def _newton(
    problem: _Problem, x: Tensor, dual: Tensor, low: Tensor, high: Tensor, near: float, steps: int
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Newton's method on ``logit(mean) - logit(ratio)`` inside a shrinking bracket.

    A group is done when its mean is within the tolerance or its Newton step is below ``near``.

    Returns:
        The best dual, improved by one more step, the bracket, and the number of evaluations.
    """
    ratio, target, groups, counts, full, tolerance = problem
    on_host = x.device.type == "cpu"
    best, best_error = dual, torch.full_like(dual, torch.inf)
    last = best_error
    used = 0
    for used in range(1, steps + 1):  # noqa: B007
        weights = (x + groups.spread(dual)).sigmoid_()
        mean = torch.where(full, groups.sum(weights) / counts, ratio)
        slope = groups.sum(weights.addcmul_(weights, weights, value=-1)) / counts
        gap = torch.logit(mean) - target
        error = (mean - ratio).abs_()
        # Divide by the slope of logit(mean); a flat stretch gives an infinite or undefined step,
        # which the comparison with the bracket refuses.
        newton = dual - gap * (mean - mean * mean) / slope
        low = torch.where(gap < 0, dual, low)
        high = torch.where(gap > 0, dual, high)
        inside = (newton >= low) & (newton <= high)
        length = (newton - dual).abs_()
        improved = torch.where(inside & (length <= 1), newton, dual)
        better = error < best_error
        best = torch.where(better, improved, best)
        best_error = torch.where(better, error, best_error)
        done = (error <= tolerance) | (inside & (length < near))
        if on_host and bool(done.all()):
            break
        trusted = inside & (gap.abs_() <= 0.5 * last)
        last = gap
        step = torch.where(trusted, newton, (low + high) / 2)
        dual = torch.where(done, best, step)
    return best, low, high, used
