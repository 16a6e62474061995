"""Systematic sampling: subsets of a fixed size whose inclusion probabilities are given weights."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups
from gsina.ops.host import at_hand, widest

#: Weights are counted in parts of 2^-32: their sums are then exact, whatever the order.
BITS = 32
ONE = 1 << BITS
#: A sum of weights this near to a whole number, relatively, was meant to be whole: float32 rounds.
ROUNDING, MOST_ROUNDING = 1e-6, 1e-3


def systematic_sample(
    weights: Tensor,
    groups: Groups,
    reverse: Tensor | None = None,
    *,
    noise: tuple[Tensor, Tensor] | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw a subset of every group; an element is taken with the probability of its weight.

    The elements of a group, in random order, lie end to end on a line, each as long as its weight.
    Of all whole numbers shifted by one uniform number, every element that holds one is taken. So a
    group whose weights add up to S gets floor(S) or ceil(S) elements, and exactly S if S is whole;
    weights of 1 are always taken, weights of 0 never. The choice has no gradient.

    Args:
        weights: Weights ``[N]`` in [0, 1].
        groups: Group of every element, in any order; groups may be empty.
        reverse: For edges of undirected graphs, the opposite of every edge ``[N]`` as from
            :func:`~gsina.ops.reverse_edges`. The two directions then count as one edge with the
            weight of the first one, and are taken or left together.
        noise: Uniform numbers in [0, 1): one per element ``[N]`` for the order, one per group
            ``[G]`` for the shift. Drawn if not given.
        generator: Where to draw them from; by default torch's.

    Returns:
        Mask ``[N]``, bool.
    """
    position = torch.arange(groups.size, device=weights.device)
    if reverse is not None and not at_hand(weights):
        first = torch.minimum(reverse, position)
        alone = torch.where(first == position, weights, 0.0)  # the second directions are never it
        taken = systematic_sample(alone, groups, noise=noise, generator=generator)
        return taken.index_select(0, first)
    if reverse is not None:
        first = torch.minimum(reverse, position)
        once = first == position
        index = None if groups.index is None else groups.index[once]
        edges = Groups(index, groups.num, int(once.sum()))
        given = None if noise is None else (noise[0][once], noise[1])
        taken = torch.zeros_like(once)
        taken[once] = systematic_sample(weights[once], edges, noise=given, generator=generator)
        return taken.index_select(0, first)
    if noise is None:
        both = torch.rand(
            groups.size + groups.num,
            generator=generator,
            device=weights.device,
            dtype=widest(weights.device),
        )
        noise = both[: groups.size], both[groups.size :]
    order = noise[0].argsort(stable=True)
    if groups.index is not None:
        order = order[groups.index[order].argsort(stable=True)]
    parts = (weights.detach().to(widest(weights.device)).clamp(0, 1) * ONE).round_().long()
    plain = Groups(groups.index, groups.num, groups.size)  # sums of whole numbers, of this process
    sums = plain.sum(parts)
    own = parts[order]
    start = plain.spread(sums.cumsum(0) - sums)
    end = own.cumsum(0) - (start if groups.index is None else start[order])
    shift = plain.spread(_shifts(noise[1], sums))
    end = end + (shift if groups.index is None else shift[order])
    taken = torch.empty(groups.size, dtype=torch.bool, device=weights.device)
    taken[order] = (end >> BITS) > ((end - own) >> BITS)
    return taken


def _shifts(uniform: Tensor, sums: Tensor) -> Tensor:
    """Shift of each group ``[G]``, with which a sum that is whole but for rounding is whole."""
    shift = (uniform * ONE).long().clamp_(0, ONE - 1)
    excess = (sums + ONE // 2) % ONE - ONE // 2
    whole = excess.abs() <= (ROUNDING * sums.to(widest(sums.device))).clamp_(
        max=MOST_ROUNDING * ONE
    )
    kept = torch.minimum(torch.maximum(shift, -excess), ONE - 1 - excess.clamp(min=0))
    return torch.where(whole, kept, shift)
