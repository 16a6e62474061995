"""Split conformal prediction: how wrong a model may be taken to be, from validation rows.

Of n rows that were not trained on, each with a score that is larger the more wrong the model was,
a new row of the same kind has a score of at most

    q = the smallest s with  sum_i w_i [s_i <= s]  >=  c (sum_i w_i + w_new)

with probability c or more (Vovk, Gammerman, Shafer, Algorithmic learning in a random world, 2005).
Weights are 1, or for rows of another kind the ratio of the densities (Tibshirani et al., Conformal
prediction under covariate shift, 2019). With too few rows there is no such s, and q is infinite.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gsina.errors import InputError

#: A score counts as at most q although rounding made it larger by this.
TOLERANCE = 1e-6


def check_coverage(coverage: float) -> float:
    """Refuse a share of right sets that is not between 0 and 1."""
    if not (isinstance(coverage, int | float) and 0 < coverage < 1):
        raise InputError(
            f"coverage must lie between 0 and 1, such as 0.9 for nine answers in ten; got "
            f"{coverage!r}."
        )
    return float(coverage)


def fewest(coverage: float) -> int:
    """How many rows it takes for a finite bound."""
    return math.ceil(coverage / (1 - coverage) - 1e-9)


def bound(
    scores: Tensor,
    coverage: float,
    weights: Tensor | None = None,
    new_weights: Tensor | None = None,
) -> Tensor:
    """The bound q on the score of new rows ``[1]``, or ``[G]`` with weights.

    Args:
        scores: Of validation rows ``[V]``; NaN do not count.
        coverage: The share c of new rows whose score is to lie below.
        weights: Density ratio at the validation rows ``[V]``.
        new_weights: Density ratio at the new rows ``[G]``.
    """
    known = ~scores.isnan()
    scores = scores[known].double()
    order = scores.argsort()
    if weights is None or new_weights is None:
        weights, new_weights = scores.new_ones(known.numel()), scores.new_ones(1)
    reached = weights[known].double()[order].cumsum(0)
    total = reached[-1:] if len(reached) else scores.new_zeros(1)
    needed = coverage * (total + new_weights.double()) - 1e-9
    place = torch.searchsorted(reached, needed)
    return torch.cat([scores[order], scores.new_tensor([math.inf])])[place]


def class_groups(classes: Tensor, count: int, coverage: float) -> list[list[int]]:
    """The classes that share a bound: each has its own, those with too few rows one together.

    A bound of its own means that the coverage holds for every class, a rare one too.

    Args:
        classes: Class of every validation row ``[V]``, -1 where missing.
        count: Number of classes.
        coverage: The share of sets that are to hold the right class.
    """
    sizes = torch.bincount(classes[classes >= 0], minlength=count).tolist()
    many = [number for number in range(count) if sizes[number] >= fewest(coverage)]
    few = [number for number in range(count) if sizes[number] < fewest(coverage)]
    return [[number] for number in many] + ([few] if few else [])


def class_bounds(
    scores: Tensor,
    classes: Tensor,
    count: int,
    coverage: float,
    weights: Tensor | None = None,
    new_weights: Tensor | None = None,
) -> Tensor:
    """The bound of every class ``[1 or G, count]``; the arguments are those of :func:`bound`."""
    rows = 1 if new_weights is None else len(new_weights)
    bounds = scores.new_full((rows, count), math.inf, dtype=torch.double)
    for group in class_groups(classes, count, coverage):
        inside = torch.isin(classes, torch.tensor(group))
        mine = None if weights is None else weights[inside]
        bounds[:, group] = bound(scores[inside], coverage, mine, new_weights).unsqueeze(1)
    return bounds
