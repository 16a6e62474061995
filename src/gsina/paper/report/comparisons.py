"""Rows of a table compared seed by seed: mean difference, its interval, and a paired test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from gsina.paper.report.summaries import Summary

#: The level of the confidence intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class Comparison:
    """One row against another on the same data.

    Attributes:
        row: The row that is asked about.
        against: The row it is compared with.
        column: The data.
        seeds: Seeds that both have.
        difference: Mean of the differences seed by seed.
        half_width: Half the width of the confidence interval of the mean; NaN for one seed.
        p: Two-sided p-value of the paired t-test; NaN for one seed, or where all are equal.
    """

    row: str
    against: str
    column: str
    seeds: tuple[int, ...]
    difference: float
    half_width: float
    p: float

    @property
    def standard_error(self) -> float:
        """Of the mean difference; NaN for one seed."""
        count = len(self.seeds)
        return self.half_width / _quantile(count) if count > 1 else math.nan


def compare(summaries: Sequence[Summary], row: str, against: str) -> list[Comparison]:
    """The comparisons of two rows, one per column in which both have runs."""
    found = {(one.cell.row, one.cell.column): one for one in summaries}
    columns = list(dict.fromkeys(one.cell.column for one in summaries))
    comparisons = []
    for column in columns:
        ours, theirs = found.get((row, column)), found.get((against, column))
        if ours is None or theirs is None:
            continue
        seeds = tuple(sorted(ours.values.keys() & theirs.values.keys()))
        if seeds:
            values = [ours.values[seed] - theirs.values[seed] for seed in seeds]
            comparisons.append(Comparison(row, against, column, seeds, *paired(np.asarray(values))))
    return comparisons


def paired(differences: np.ndarray) -> tuple[float, float, float]:
    """Mean of differences, half the width of its interval, and the p-value of a paired t-test."""
    count = len(differences)
    mean = float(differences.mean())
    if count < 2:
        return mean, math.nan, math.nan
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    half = _quantile(count) * error
    p = float(2 * stats.t.sf(abs(mean) / error, count - 1)) if error > 0 else math.nan
    return mean, half, p


def _quantile(count: int) -> float:
    """Standard errors in half the width of an interval of so many differences."""
    return float(stats.t.ppf((1 + LEVEL) / 2, count - 1))


def in_words(one: Comparison) -> str:
    """The difference with its interval and p-value: ``+14.2 ± 3.1 (p 0.001)``."""
    text = f"{one.difference:+.1f}"
    if math.isnan(one.half_width):
        return f"{text} (one seed)"
    p = "" if math.isnan(one.p) else ", p < 0.001" if one.p < 0.001 else f", p {one.p:.3f}"
    return f"{text} ± {one.half_width:.1f} ({len(one.seeds)} seeds{p})"
