"""The quadratic soft top-r: weights that are exactly 0 and exactly 1 outside a band of scores.

The same transport problem of two rows, with half the squared norm of the plan in place of its
negative entropy. For scores s and temperature tau the weights are ``clip(s / tau + dual, 0, 1)``,
with the one number ``dual`` of each group that makes their sum r N: a projection. The scores of
the band, where weights lie strictly between 0 and 1, span at most tau. (In the middle the slope is
1 / tau; that of the entropic weights is half of it.)

In the order of falling scores the weights are 1 for the first j elements, 0 from k on, and rise
with slope 1 in between. The sum of the weights grows with the dual, and bends where an element
enters the band or leaves it at its upper end; so k and then j are found by halving, and the dual
follows from them. All sums are of differences of scores within the band: no digits are lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.ops.groups import Groups, Runs
from gsina.ops.host import at_hand, widest
from gsina.ops.shared import SharedGroup

#: A number of elements r N this close to a whole one, relatively, is meant to be whole.
ROUNDING = 1e-12


class Projection(NamedTuple):
    """Solution of :func:`project`.

    Attributes:
        weights: Weight of every element ``[N]``, float64.
        dual: The dual of each group ``[G]``, float64; infinite where the ratio is 1.
        iterations: Evaluations of the sum of the weights.
    """

    weights: Tensor
    dual: Tensor
    iterations: int


def quadratic_weights(scaled: Tensor, ratio: Tensor, groups: Groups) -> Tensor:
    """The exact solution without checks: for callers that know their input is right.

    Differentiable as often as wanted, with respect to scores and ratio.

    Args:
        scaled: ``scores / temperature`` ``[N]``, float32 or float64.
        ratio: Shares ``[G]`` in (0, 1].
        groups: Group of every element.
    """
    return _Weights.apply(scaled, ratio, groups)  # type: ignore[no-any-return,no-untyped-call]


class _Weights(torch.autograd.Function):
    """Weights with their gradient in closed form.

    In the band of n elements ``dw = dx - mean(dx) + dr N / n``, elsewhere 0: the means are over the
    band. At r = 1, and wherever the band is empty, all is 0.
    """

    @staticmethod
    def forward(ctx: Any, scaled: Tensor, ratio: Tensor, groups: Groups) -> Tensor:
        if torch.compiler.is_compiling():
            weights = _project_op(scaled, ratio, groups.index, groups.num)
        else:
            weights = project(*_wide(scaled, ratio), groups).weights.to(scaled.dtype)
        ctx.groups = groups
        ctx.save_for_backward(weights)
        return weights  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (weights,) = ctx.saved_tensors
        groups: Groups = ctx.groups
        band = ((weights > 0) & (weights < 1)).to(grad.dtype)
        pull = groups.sum(band * grad) / groups.sum(band).clamp(min=1)
        grad_ratio = groups.counts(pull) * pull if ctx.needs_input_grad[1] else None
        return band * (grad - groups.spread(pull)), grad_ratio, None


def _wide(scaled: Tensor, ratio: Tensor) -> tuple[Tensor, Tensor]:
    wide = widest(scaled.device)
    return scaled.to(wide), ratio.to(wide)


def project(x: Tensor, ratio: Tensor, groups: Groups) -> Projection:
    """Solve ``mean(clip(x + dual, 0, 1)) = ratio`` in every group.

    Args:
        x: Scores over temperature ``[N]``, float64, finite.
        ratio: Shares ``[G]``, float64, in (0, 1].
        groups: Group of every element.

    Raises:
        InputError: If one group is shared by several processes, of which none knows its order.
    """
    if isinstance(groups, SharedGroup):
        raise InputError(
            "the quadratic regulariser cannot weigh one batch that several processes share; use "
            "scope='graph', regulariser='entropic', or one process."
        )
    counts = groups.counts(x)
    target, everything = _whole(ratio * counts), ratio >= 1
    if x.numel() == 0:
        return Projection(x.clone(), torch.where(everything, torch.inf, 0.0), 0)
    falling = _Falling(x, groups)
    runs, counts = falling.runs, counts.long()
    end = falling.last(counts, lambda k: falling.total(falling.score(k)) <= target)
    lowest = falling.score(end)

    def reaches_one(element: Tensor) -> Tensor:
        rise = 1 - (falling.score(element) - lowest)
        return falling.total(lowest, rise.clamp_(min=0)) <= target

    begin = falling.last(end, reaches_one)
    begin, end = torch.where(everything, counts, begin), torch.where(everything, counts, end)
    one, positive = falling.rank <= runs.spread(begin), falling.rank <= runs.spread(end)
    above = falling.scores - runs.spread(lowest)
    inside = runs.sum(torch.where(positive & ~one, above, 0.0))
    rise = (target - begin - inside) / (end - begin).clamp(min=1)
    slanted = torch.where(positive, (above + runs.spread(rise)).clamp_(0, 1), 0.0)
    weights = torch.empty_like(x)
    weights[falling.order] = torch.where(one, 1.0, slanted)
    dual = torch.where(everything, torch.inf, torch.where(counts > 0, rise - lowest, 0.0))
    return Projection(weights, dual, 2 * falling.steps)


class _Falling:
    """Elements in the order of falling scores, group by group; those of a group count from 1.

    Attributes:
        order: The elements ``[N]``.
        runs: Their groups.
        scores: Their scores ``[N]``.
        rank: Their numbers ``[N]``.
        steps: Halvings that leave one element of the largest group.
    """

    def __init__(self, x: Tensor, groups: Groups) -> None:
        order = x.argsort(descending=True, stable=True)
        self.runs, self._start = groups, order.new_zeros(1)
        if groups.index is not None:
            index, by_group = groups.index[order].sort(stable=True)
            bounds = torch.searchsorted(index, torch.arange(groups.num + 1, device=x.device))
            self.runs, self._start = Runs(index, groups.num, groups.size, bounds), bounds[:-1]
            order = order[by_group]
        self.order, self.scores = order, x[order]
        position = torch.arange(1, groups.size + 1, device=x.device)
        self.rank = position - self.runs.spread(self._start)
        # Elsewhere than on the CPU, asking for the largest group would stall the device.
        largest = int(self.rank.max()) if at_hand(x) else groups.size
        self.steps = largest.bit_length()

    def score(self, element: Tensor) -> Tensor:
        """Score of one element of each group ``[G]``; of an empty group any number."""
        return self.scores[(self._start + element - 1).clamp(0, self.scores.numel() - 1)]

    def total(self, lowest: Tensor, rise: Tensor | None = None) -> Tensor:
        """Sum of each group's weights ``[G]`` if its dual is ``rise - lowest``."""
        above = self.scores - self.runs.spread(lowest)
        if rise is not None:
            above = above + self.runs.spread(rise)
        return self.runs.sum(above.clamp_(0, 1))

    def last(self, high: Tensor, fits: Callable[[Tensor], Tensor]) -> Tensor:
        """The last element of each group ``[G]``, up to ``high``, that fits; 0 if none does."""
        low = torch.zeros_like(high)
        for _ in range(self.steps):
            middle = (low + high + 1) // 2
            good = fits(middle) | (middle <= low)
            low = torch.where(good, middle, low)
            high = torch.where(good, high, middle - 1)
        return low


def _whole(number: Tensor) -> Tensor:
    """Numbers of elements, whole where only rounding makes them not so: 0.55 * 100."""
    whole = number.round()
    return torch.where((number - whole).abs() <= ROUNDING * whole, whole, number)


# The number of steps hangs on the numbers, which cannot be traced: one operator to torch.compile.
@torch.library.custom_op(
    "gsina::project_soft_top_r",
    mutates_args=(),
    schema="(Tensor scaled, Tensor ratio, Tensor? index, SymInt num) -> Tensor",
)
def _project_op(scaled: Tensor, ratio: Tensor, index: Tensor | None, num: int) -> Tensor:
    groups = Groups(index, num, scaled.numel())
    return project(*_wide(scaled, ratio), groups).weights.to(scaled.dtype)


@_project_op.register_fake
def _(scaled: Tensor, ratio: Tensor, index: Tensor | None, num: int) -> Tensor:
    return torch.empty_like(scaled)
