"""Hard top-r: which elements are among the best r N of their group."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.ops.groups import Groups
from gsina.ops.host import at_hand, widest


def hard_top_r(
    scores: Tensor, ratio: float | Tensor, groups: Groups, reverse: Tensor | None = None
) -> Tensor:
    """Mark the ``ceil(r N)`` highest scores of every group of N.

    Rounding up means that no group that has elements keeps none. Between equal scores the earlier
    element wins. The choice has no gradient; sorts make it for all groups at once.

    Args:
        scores: Scores ``[N]``, finite; larger is kept.
        ratio: Share r to keep, 0 < r <= 1: a number, or one per group ``[G]``.
        groups: Group of every element, in any order.
        reverse: For edges of undirected graphs, the opposite of every edge ``[N]`` as from
            :func:`~gsina.ops.reverse_edges`. The two directions then count as one edge, are kept or
            left out together, and the score of the first one decides.

    Returns:
        Mask ``[N]``, bool.

    Raises:
        InputError: If the ratio is not as above; a tensor on another device is not looked at.
    """
    if not isinstance(ratio, Tensor) or at_hand(ratio):
        _check(ratio)
    position = torch.arange(groups.size, device=scores.device)
    wide = widest(scores.device)
    if isinstance(ratio, Tensor):
        share = ratio.to(scores.device, wide)
    else:
        share = torch.full((), ratio, dtype=wide, device=scores.device)
    counts = groups.counts(position.new_empty(0))
    order = scores.detach().argsort(descending=True, stable=True)
    candidates, first = counts, None
    if reverse is not None:  # the second directions go to the end, and do not count
        first = torch.minimum(reverse, position)
        second = first != position
        candidates = counts - groups.sum(second.long())
        order = order[second[order].to(torch.uint8).argsort(stable=True)]
    # 0.55 * 100 is 55.00000000000001: without the margin a share that fits would be rounded up.
    keep = torch.ceil(share * candidates.to(wide) * (1 - 1e-6)).long()
    start = counts.cumsum(0) - counts
    group = torch.zeros_like(order)
    if groups.index is not None:
        group, by_group = groups.index[order].sort(stable=True)
        order = order[by_group]
    mask = torch.empty(groups.size, dtype=torch.bool, device=scores.device)
    mask[order] = position - start[group] < keep[group]
    return mask if first is None else mask.index_select(0, first)


def _check(ratio: float | Tensor) -> None:
    share = torch.as_tensor(ratio)
    if not bool(((share > 0) & (share <= 1)).all()):
        raise InputError(f"ratio must lie in (0, 1], got {ratio}.")
