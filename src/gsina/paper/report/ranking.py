"""Methods ranked over many columns: mean rank, wins, intervals, and what chance can explain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

#: The level of tests and intervals.
LEVEL = 0.95
DRAWS, SEED = 4000, 0


@dataclass(frozen=True)
class Standing:
    """Where a method stands.

    Attributes:
        method: Its name.
        rank: Mean of its ranks over the columns; 1 is the best, equal values share theirs.
        low: Lower end of the interval of the mean rank, over draws of columns.
        high: Upper end.
        wins: Columns in which no other is better.
    """

    method: str
    rank: float
    low: float
    high: float
    wins: int


@dataclass(frozen=True)
class Ranking:
    """All methods, the best mean rank first.

    Attributes:
        standings: One per method.
        columns: Number of columns.
        difference: Mean ranks that are nearer than this are not told apart (Nemenyi's test);
            NaN for fewer than two methods or columns.
        p: Friedman's test of whether all methods are alike; NaN where it is not defined.
    """

    standings: tuple[Standing, ...]
    columns: int
    difference: float
    p: float

    def groups(self) -> list[tuple[int, int]]:
        """First and last place of every longest run of methods that are not told apart."""
        ranks = [one.rank for one in self.standings]
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(ranks):
            last = max(at for at in range(first, len(ranks)) if ranks[at] - rank <= self.difference)
            if last > first and not (found and found[-1][1] >= last):
                found.append((first, last))
        return found


def ranks_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank of every method in every column ``[M, C]``; larger values are better."""
    ranks: NDArray[np.float64] = stats.rankdata(-values, method="average", axis=0)
    return ranks


def rank_methods(scores: Mapping[str, Sequence[float]]) -> Ranking:
    """Rank methods.

    Args:
        scores: Of every method one value per column, larger is better; minus infinity is the
            worst, such as of a method that diverged.
    """
    methods = list(scores)
    values = np.array([scores[method] for method in methods], dtype=float)
    if values.size == 0:
        return Ranking((), 0, math.nan, math.nan)
    count, columns = values.shape
    ranks = ranks_of(values)
    drawn = np.random.default_rng(SEED).integers(columns, size=(DRAWS, columns))
    means = ranks[:, drawn].mean(2)
    low, high = np.quantile(means, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=1)
    wins = (values == values.max(0)).sum(1)
    standings = [
        Standing(method, float(ranks[at].mean()), float(low[at]), float(high[at]), int(wins[at]))
        for at, method in enumerate(methods)
    ]
    standings.sort(key=lambda one: (one.rank, -one.wins))
    return Ranking(tuple(standings), columns, critical_difference(count, columns), _friedman(ranks))


def critical_difference(methods: int, columns: int) -> float:
    """Of mean ranks, after Nemenyi: ``q sqrt(k (k + 1) / (6 N))``; NaN for too few.

    Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.
    """
    if methods < 2 or columns < 2:
        return math.nan
    q = float(stats.studentized_range.ppf(LEVEL, methods, math.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * columns))


def _friedman(ranks: NDArray[np.float64]) -> float:
    """p-value of Friedman's test."""
    if ranks.shape[0] < 3 or ranks.shape[1] < 2 or bool((ranks == ranks[:1]).all()):
        return math.nan
    return float(stats.friedmanchisquare(*ranks).pvalue)
