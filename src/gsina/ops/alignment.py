"""Press the lowest weights of every group to one small number."""

from __future__ import annotations

from torch import Tensor

from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r

#: The share of the weights that are pressed down.
LOWEST = 0.5


def alignment_loss(
    weights: Tensor, groups: Groups, reverse: Tensor | None = None, *, lowest: float = LOWEST
) -> Tensor:
    """How far the lowest weights are from ``1 / N``, on average, for every group of N.

    After PrunE, which aligns the probabilities of edges it takes for spurious to a small constant:
    they then carry nothing of the label. The highest is never among them: a group of one has 0.

    Args:
        weights: Weights ``[N]`` in [0, 1].
        groups: Group of every weight.
        reverse: Opposite of every edge, as in :func:`~gsina.ops.hard_top_r.hard_top_r`.
        lowest: The share of the weights that count, above 0 and below 1.

    Returns:
        Losses ``[G]``.
    """
    high = hard_top_r(weights.detach(), 1 - lowest, groups, reverse)
    low = (~high).to(weights.dtype)
    size = groups.sum(low.new_ones(low.shape)).clamp(min=1)
    distance = (weights - groups.spread(1 / size)).abs() * low
    return groups.sum(distance) / groups.sum(low).clamp(min=1)
