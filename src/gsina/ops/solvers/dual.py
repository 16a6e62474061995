"""The one unknown of the two-row transport problem, found by Newton's method.

For logits x and a share r, the weights are ``sigmoid(x + dual)`` with the one number ``dual`` of
each group that makes their mean r. A Sinkhorn sweep moves the dual by ``logit(r) - logit(mean)``;
dividing that step by its own slope g turns the sweep into Newton's method on the logit scale.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gsina.ops import compiled
from gsina.ops.groups import Groups
from gsina.ops.host import at_hand

# A bracket of width 4e6 (scores of 1e4 at temperature 0.01) needs 30 halvings, and at worst every
# second step is a halving.
COARSE_STEPS = 64
FINE_STEPS = 16
# The curvature of logit(mean) is at most twice its slope. So a Newton step of length d <= NEAR
# proves that the root is about as near, and leaves an error of about d^2, that is d^2 / 4 of the
# mean; every further step squares the error.
NEAR = 0.1
# An error of the mean this small is rounding. Where the mean is flat, no step is ever short.
ROUNDING = 1e-13
TINY = torch.finfo(torch.float64).tiny
EPSILON = torch.finfo(torch.float64).eps


class Dual(NamedTuple):
    """Solution of :func:`solve_dual`.

    Attributes:
        logits: ``x + dual`` for every element ``[N]``, float64.
        dual: The dual of each group ``[G]``, float64; infinite where the ratio is 1.
        iterations: Evaluations of the mean; the most of any group.
    """

    logits: Tensor
    dual: Tensor
    iterations: int


def solve_dual(x: Tensor, ratio: Tensor, groups: Groups, tolerance: float = 1e-13) -> Dual:
    """Solve ``mean(sigmoid(x + dual)) = ratio`` in every group.

    On the CPU the compiled kernel solves small groups, if it was built, and Newton's method alone
    nearly always the others. Where it does not, or where the dual is so large that ``x + dual`` has
    lost digits, and on other devices, the dual is found twice: first to come near, then again from
    the shifted logits, which around the threshold are exact differences.

    Args:
        x: Logits ``[N]``, float64, finite.
        ratio: Shares ``[G]``, float64, in (0, 1].
        groups: Group of every element.
        tolerance: Largest error of the dual, at least 1e-13.
    """
    everything = ratio >= 1
    runs, order = groups.in_runs
    ordered = x if order is None else x[order]
    near = tolerance**0.5
    solved = compiled.solve(ordered, ratio, runs, near)
    if solved is not None:
        finite, used = solved
        exact = torch.where(everything, torch.inf, finite)
        return Dual(x + groups.spread(exact), exact, used)
    problem = _Problem(torch.where(everything, 0.5, ratio), runs, runs.counts(x))
    start = problem.target - runs.sum(ordered) / problem.counts
    dual, used = _newton(problem, ordered, start, near) if at_hand(x) else (None, 0)
    if dual is not None and EPSILON * _largest(dual) <= tolerance:
        dual = torch.where(everything, torch.inf, dual)
        return Dual(x + groups.spread(dual), dual, used)
    coarse, more = _safe_newton(
        problem, ordered, start if dual is None else dual, NEAR, COARSE_STEPS
    )
    shifted = ordered + runs.spread(coarse)
    fine, most = _safe_newton(problem, shifted, torch.zeros_like(coarse), near, FINE_STEPS)
    fine = torch.where(everything, torch.inf, fine)
    logits = (x + groups.spread(coarse)).add_(groups.spread(fine))
    return Dual(logits, coarse + fine, used + more + most)


class _Problem:
    """What stays the same from step to step; an empty group has the mean it should have."""

    def __init__(self, ratio: Tensor, groups: Groups, counts: Tensor) -> None:
        self.ratio = ratio
        self.target = torch.logit(ratio)
        self.groups = groups
        self.empty = counts == 0
        self.counts = counts.clamp(min=1)
        self.bonus = torch.where(self.empty, ratio, 0.0)

    def bracket(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds of the dual ``[G]``, with a margin for their rounding."""
        low = (self.target - self.groups.max(x)).masked_fill_(self.empty, 0.0)
        high = (self.target - self.groups.min(x)).masked_fill_(self.empty, 0.0)
        margin = 1e-6 * (1 + low.abs() + high.abs())
        return low - margin, high + margin

    def evaluate(self, x: Tensor, dual: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean of the weights, distance of its logit from the target, and the Newton step."""
        weights = (x + self.groups.spread(dual)).sigmoid_()
        mean = torch.addcdiv(self.bonus, self.groups.sum(weights), self.counts)
        slope = self.groups.sum(weights.addcmul_(weights, weights, value=-1)).clamp_(min=TINY)
        gap = self.target - torch.logit(mean)
        step = mean.addcmul(mean, mean, value=-1).mul_(self.counts).mul_(gap).div_(slope)
        return mean, gap, step


def _newton(problem: _Problem, x: Tensor, dual: Tensor, near: float) -> tuple[Tensor | None, int]:
    """Plain Newton steps for all groups; ``None`` as soon as the largest step does not shrink."""
    used, last = 0, torch.inf
    while True:
        used += 1
        _, _, step = problem.evaluate(x, dual)
        dual = dual + step
        length = _largest(step)
        if length <= near:
            return dual, used
        if not length <= 0.7 * last:
            return None, used
        last = length


def _largest(values: Tensor) -> float:
    return float(torch.linalg.vector_norm(values, torch.inf)) if values.numel() else 0.0


def _safe_newton(
    problem: _Problem, x: Tensor, dual: Tensor, near: float, steps: int
) -> tuple[Tensor, int]:
    """Newton steps inside a shrinking bracket, which is halved where a step cannot be trusted.

    On the CPU the loop ends when all groups are done; elsewhere it makes all its steps, because
    asking would stall the device.
    """
    low, high = problem.bracket(x)
    best, best_error = dual, torch.full_like(dual, torch.inf)
    last = best_error
    used = 0
    for used in range(1, steps + 1):  # noqa: B007
        mean, gap, step = problem.evaluate(x, dual)
        error = (mean - problem.ratio).abs_()
        low = torch.where(gap > 0, dual, low)
        high = torch.where(gap < 0, dual, high)
        newton, length = dual + step, step.abs()
        inside = (newton >= low) & (newton <= high)
        better = error < best_error
        best = torch.where(better, torch.where(inside & (length <= 1), newton, dual), best)
        best_error = torch.where(better, error, best_error)
        done = (error <= ROUNDING) | (inside & (length <= near))
        if at_hand(x) and bool(done.all()):
            break
        distance = gap.abs()
        trusted = inside & (distance <= 0.5 * last)
        last = distance
        dual = torch.where(done, best, torch.where(trusted, newton, (low + high) / 2))
    return best, used
