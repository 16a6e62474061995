"""Rows against rows, seed by seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gsina.paper.report.comparisons import Comparison, compare, in_words, paired
from gsina.paper.report.summaries import Summary
from gsina.paper.tables.table import Cell
from gsina.runs.published import default_recipe


def summary(row: str, column: str, values: dict[int, float]) -> Summary:
    cell = Cell(row, column, default_recipe("spmotif"), tuple(values))
    return Summary(cell, values, ())


def test_the_paired_test_is_scipys() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(60, 3, 7), rng.normal(57, 3, 7)
    mean, half, p = paired(ours - theirs)
    wanted = stats.ttest_rel(ours, theirs)
    interval = wanted.confidence_interval(0.95)
    assert p == pytest.approx(wanted.pvalue)
    assert (mean - half, mean + half) == pytest.approx((interval.low, interval.high))


def test_only_seeds_of_both_rows_are_paired() -> None:
    found = compare(
        [
            summary("a", "x", {0: 50.0, 1: 60.0, 2: 70.0}),
            summary("b", "x", {1: 55.0, 2: 60.0, 7: 0.0}),
            summary("a", "y", {0: 1.0}),
        ],
        "a",
        "b",
    )
    (one,) = found
    assert (one.column, one.seeds, one.difference) == ("x", (1, 2), 7.5)
    assert in_words(one).startswith("+7.5 ± ")


def test_one_seed_and_equal_differences_have_no_test() -> None:
    assert math.isnan(paired(np.array([1.0]))[1])
    mean, half, p = paired(np.array([2.0, 2.0]))
    assert (mean, half) == (2.0, 0.0)
    assert math.isnan(p)
    assert in_words(Comparison("a", "b", "x", (0,), -1.0, math.nan, math.nan)) == "-1.0 (one seed)"
    sure = Comparison("a", "b", "x", (0, 1, 2), 5.0, 0.5, 1e-5)
    assert in_words(sure) == "+5.0 ± 0.5 (3 seeds, p < 0.001)"
