"""The dual in float32 with a fixed number of steps: for devices, which must not be waited for.

The same problem as in :mod:`gsina.ops.solvers.dual`, and the same accuracy of the mean, 1e-6, from
three things:

* sums that are exact: weights are counted in whole parts of 2^-40, so that a sum of any number of
  them, added in any order, has no error, and a repeated run has the same bits;
* a search in sections: every step looks at eight duals at once and keeps one of nine sections, so
  that twelve steps narrow any bracket of float32 down to nothing;
* a shift in between: near its threshold ``x + dual`` is a difference of neighbours, which float32
  has exactly, however large both are; what is left to find is a small number.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups

#: Duals that one step looks at.
SECTIONS = 8
#: Steps in sections before and after the shift: float32 has a bracket of 4e9 and, there, steps of
#: 256, so 9^8 and 9^4 are enough for both.
COARSE_STEPS, FINE_STEPS = 8, 4
#: Newton's steps at the end, from a bracket of less than 1: each squares the error.
NEWTON_STEPS = 5
#: Weights are counted in parts of 2^-40, and in larger ones where the sums would overflow.
BITS, MOST_BITS = 40, 62


def parts_of_one(size: int) -> float:
    """In how many parts a weight is counted, for sums of so many of them in int64.

    A size that is not known yet, as in ``torch.export``, is taken to be below 2^30.
    """
    size = size if isinstance(size, int) else 1 << 30
    return float(2.0 ** min(BITS, MOST_BITS - max(size, 1).bit_length()))


def solve_dual32(x: Tensor, ratio: Tensor, groups: Groups) -> Tensor:
    """The logits ``x + dual`` ``[N]`` for which ``mean(sigmoid(x + dual)) = ratio`` in every group.

    Args:
        x: Logits ``[N]``, float32, finite.
        ratio: Shares ``[G]`` in (0, 1]; at 1 the dual is infinite.
        groups: Group of every element, in any order; groups may be empty.
    """
    problem = _Problem(x, ratio, groups)
    low, high = problem.bracket(x)
    for _ in range(COARSE_STEPS):
        low, high = problem.narrow(x, low, high)
    coarse = low + (high - low) / 2
    shifted = x + groups.spread(coarse)
    # Both ends were rounded, and so were the sums that they were compared by.
    margin = 1e-3 + 4e-7 * coarse.abs()
    low, high = low - coarse - margin, high - coarse + margin
    for _ in range(FINE_STEPS):
        low, high = problem.narrow(shifted, low, high)
    fine = problem.polish(shifted, low, high)
    return shifted + groups.spread(torch.where(problem.everything, torch.inf, fine))


class _Problem:
    """What stays the same from step to step; sums are whole numbers of parts."""

    def __init__(self, x: Tensor, ratio: Tensor, groups: Groups) -> None:
        self.everything = ratio >= 1
        share = torch.where(self.everything, 0.5, ratio)
        self.groups, self.logit = groups, torch.logit(share).to(x.dtype)
        counts = groups.counts(torch.empty_like(x[:0], dtype=torch.long))
        self.part = parts_of_one(groups.size)
        self.target = (share * self.part).round().long() * counts
        self.empty = counts == 0

    def bracket(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds of the dual ``[G]``, with a margin for their rounding."""
        low = torch.where(self.empty, 0.0, self.logit - self.groups.max(x))
        high = torch.where(self.empty, 0.0, self.logit - self.groups.min(x))
        margin = 1e-6 * (1 + low.abs() + high.abs())
        return low - margin, high + margin

    def excess(self, logits: Tensor) -> Tensor:
        """What the weights of each group add up to above the target, in parts: exact."""
        parts = (logits.sigmoid_() * self.part).long()
        target = self.target if parts.dim() == 1 else self.target.unsqueeze(1)
        return self.groups.sum(parts) - target

    def narrow(self, x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Keep that of nine sections of the bracket, which the sum of the weights crosses."""
        place = torch.arange(1, SECTIONS + 1, device=x.device, dtype=x.dtype) / (SECTIONS + 1)
        width = (high - low).unsqueeze(1)
        duals = low.unsqueeze(1) + width * place
        above = self.excess(x.unsqueeze(1) + self.groups.spread(duals)) > 0
        ends = torch.cat([low.unsqueeze(1), duals, high.unsqueeze(1)], 1)
        first = SECTIONS - above.sum(1, keepdim=True)  # the sum grows with the dual
        return ends.gather(1, first).squeeze(1), ends.gather(1, first + 1).squeeze(1)

    def polish(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Newton's steps inside the bracket; of all duals the one with the smallest error."""
        dual = low + (high - low) / 2
        best, least = dual, torch.full_like(self.target, torch.iinfo(torch.long).max)
        for _ in range(NEWTON_STEPS):
            weights = (x + self.groups.spread(dual)).sigmoid_()
            parts = (weights * self.part).long()
            excess = self.groups.sum(parts) - self.target
            better = excess.abs() < least
            best, least = torch.where(better, dual, best), torch.where(better, excess.abs(), least)
            low, high = torch.where(excess < 0, dual, low), torch.where(excess > 0, dual, high)
            variance = (weights - weights.square()) * self.part
            slope = self.groups.sum(variance.long()).clamp(min=1)
            step = excess.to(x.dtype) / slope.to(x.dtype)
            dual = torch.minimum(torch.maximum(dual - step, low), high)
        excess = self.excess(x + self.groups.spread(dual))
        return torch.where(excess.abs() < least, dual, best)
