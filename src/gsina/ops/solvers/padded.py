"""The transport of the released research code, for numbers that were published with it.

The code pads the scores of every graph to the longest of the batch, with the graph's smallest
score and the smallest of its noise, and lets the padding take part in the transport: it takes mass
from the edges, the more the longer the longest graph is. A sweep scales the columns, then the rows,
so that after the last one the weights and the padding add up to r N, and a weight can exceed 1.

All padding of a graph has one score. So its mass is that of one such element, times their number,
and nothing is padded here.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups
from gsina.ops.host import widest

#: Added to what both rows of a padded plan are to receive.
SLACK = 1e-6
TINY = torch.finfo(torch.float64).tiny


def padded_weights(
    scores: Tensor,
    ratio: Tensor,
    groups: Groups,
    *,
    temperature: float,
    sweeps: int,
    noise: Tensor | None = None,
    sigma: float = 1.0,
    uniform: Tensor | None = None,
    whole: bool = False,
) -> Tensor:
    """Weights ``[N]`` by sweeps on plans that are padded to the longest group.

    The code's costs are (s, 1 - s) where it pads, and (s - min s, max s - s) over a whole batch,
    the paper's macro, where it does not; the constants matter as the sweeps are few.

    Args:
        scores: Scores ``[N]``, without noise.
        ratio: Shares ``[G]`` in (0, 1], float64.
        groups: Group of every element.
        temperature: Softness tau.
        sweeps: Number of sweeps, at least 1; the code makes 10.
        noise: Gumbel noise of the elements ``[N]``, or ``None``.
        sigma: Factor of the noise.
        uniform: Numbers in [0, 1), one per group ``[G]``, that the noise of the padding is made of;
            drawn if not given.
        whole: Whether it is the one group of a whole batch.
    """
    values = scores.to(widest(scores.device))
    counts = groups.counts(values)
    low = torch.where(counts > 0, groups.min(values), 0.0)
    disturbed, padding = values, low
    if noise is not None:
        if uniform is None:
            uniform = torch.rand(groups.num, dtype=widest(scores.device), device=scores.device)
        disturbed = values + sigma * noise
        padding = low + sigma * padding_noise(noise, groups, uniform)
    if whole:
        longest, slack, total = counts, 0.0, low + torch.where(counts > 0, groups.max(values), 0.0)
    else:
        longest = counts.max() if groups.num else counts.new_zeros(())
        slack, total = SLACK, torch.ones_like(low)
    extra = longest - counts
    keep = (ratio * counts + slack).clamp(min=TINY)
    drop = (longest - ratio * counts + slack).clamp(min=TINY)
    x, of_padding, dual = (
        2 * disturbed / temperature,
        2 * padding / temperature,
        -total / temperature,
    )
    for sweep in range(sweeps):
        logits, at_padding = x + groups.spread(dual), of_padding + dual
        weights = torch.sigmoid(logits)
        kept = (groups.sum(weights) + extra * torch.sigmoid(at_padding)).clamp(min=TINY)
        if sweep + 1 < sweeps:
            dropped = groups.sum(torch.sigmoid(-logits)) + extra * torch.sigmoid(-at_padding)
            dual = dual + (keep / kept).log() - (drop / dropped.clamp(min=TINY)).log()
    return (weights * groups.spread(keep / kept)).to(scores.dtype)


def padding_noise(noise: Tensor, groups: Groups, uniform: Tensor) -> Tensor:
    """Noise of the padding of each group ``[G]``: the least of as many draws as the longest has.

    Args:
        noise: Standard Gumbel noise of the elements ``[N]``, which begins the row.
        groups: Group of every element.
        uniform: One number in [0, 1) per group ``[G]``; the least of the draws beyond the elements
            is made of it.
    """
    row = groups.min(noise.to(widest(noise.device)))
    counts = groups.counts(row)
    extra = (counts.max() if groups.num else 0) - counts
    least = -torch.expm1(torch.log1p(-uniform) / extra)  # the least of so many uniform numbers
    gumbel = -torch.log(-torch.log(least.clamp(min=TINY)))
    found = torch.minimum(row, torch.where(extra > 0, gumbel, torch.inf))
    return torch.where(found.isfinite(), found, 0.0)
