"""The scores of a whole graph, condensed for pages that show parts of it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

#: Distinct scores kept exactly; more are merged into this many groups.
MOST = 5000


class WholeGraph(NamedTuple):
    """The graph that those of a page are parts of.

    Attributes:
        scores: Scores of all its stored edges ``[E]``.
        edges: How many it has, both directions of an undirected one counted once.
    """

    scores: Tensor
    edges: int


def condense(scores: Tensor, most: int = MOST) -> tuple[Tensor, Tensor]:
    """Scores ``[E]`` as values ``[U]``, ascending, and how many edges have each ``[U]``.

    Up to ``most`` different scores are exact. More are sorted and cut into ``most`` groups of equal
    size, each with its mean: the mean of the weights, from which the page finds the dual of the
    whole graph, depends on their distribution only.

    Args:
        scores: Scores of all edges.
        most: Largest number of values.
    """
    values, counts = torch.unique(scores, return_counts=True)
    if len(values) <= most:
        return values, counts
    ordered = scores.sort().values.double()
    bounds = torch.linspace(0, len(ordered), most + 1, dtype=torch.float64).long()
    total = torch.cat([ordered.new_zeros(1), ordered.cumsum(0)])
    sizes = bounds.diff()
    return (total[bounds].diff() / sizes).to(scores.dtype), sizes
