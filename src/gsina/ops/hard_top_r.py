"""Hard top-r: which elements are among the best r N of their group."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.ops.groups import Groups


def hard_top_r(
    scores: Tensor, ratio: float | Tensor, groups: Groups, reverse: Tensor | None = None
) -> Tensor:
    """Mark the ``ceil(r N)`` highest scores of every group of N.

    Rounding up means that no group that has elements keeps none. Between equal scores the earlier
    element wins. The choice has no gradient; two sorts make it for all groups at once.

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
        InputError: If the ratio is not as above.
    """
    position = torch.arange(groups.size, device=scores.device)
    if reverse is not None:
        first = torch.minimum(reverse, position)
        once = first == position
        index = None if groups.index is None else groups.index[once]
        kept = torch.zeros_like(once)
        edges = scores[once]
        kept[once] = hard_top_r(edges, ratio, Groups(index, groups.num, edges.numel()))
        return kept.index_select(0, first)
    share = torch.as_tensor(ratio, dtype=torch.float64, device=scores.device)
    if not bool(((share > 0) & (share <= 1)).all()):
        raise InputError(f"ratio must lie in (0, 1], got {ratio}.")
    counts = groups.counts(share.new_empty(0))
    # 0.55 * 100 is 55.00000000000001: without the margin a share that fits would be rounded up.
    keep = torch.ceil(share * counts * (1 - 1e-6)).long()
    start = (counts.cumsum(0) - counts).long()
    order = scores.detach().argsort(descending=True, stable=True)
    group = torch.zeros_like(order)
    if groups.index is not None:
        group, by_group = groups.index[order].sort(stable=True)
        order = order[by_group]
    mask = torch.empty(groups.size, dtype=torch.bool, device=scores.device)
    mask[order] = position - start[group] < keep[group]
    return mask
