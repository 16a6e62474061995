"""Mean ranks, wins, intervals, and what chance can explain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gsina.paper.figures.critical_difference import critical_difference_picture
from gsina.paper.report.ranking import critical_difference, rank_methods


def test_mean_ranks_and_wins() -> None:
    ranking = rank_methods({"a": [3.0, 1.0, 3.0], "b": [2.0, 2.0, 3.0], "c": [1.0, 0.0, 0.0]})
    assert [(one.method, one.wins) for one in ranking.standings] == [("a", 2), ("b", 2), ("c", 0)]
    assert [one.rank for one in ranking.standings] == pytest.approx([1.5, 1.5, 3.0])
    assert ranking.columns == 3


def test_a_method_that_diverged_is_last() -> None:
    ranking = rank_methods({"a": [-math.inf, 1.0], "b": [-5.0, 2.0]})
    assert [one.method for one in ranking.standings] == ["b", "a"]


def test_the_critical_difference_is_that_of_the_tables() -> None:
    """Of Demsar (2006), table 5: 2.569 for 4 methods, 3.031 for 8 (at 5 %)."""
    assert critical_difference(4, 14) == pytest.approx(
        2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=2e-3
    )
    assert critical_difference(8, 30) == pytest.approx(
        3.031 * math.sqrt(8 * 9 / (6 * 30)), abs=2e-3
    )
    assert math.isnan(critical_difference(1, 5))


def test_intervals_hold_the_mean_and_shrink_with_more_columns() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for columns in (6, 60):
        scores = {name: (rng.normal(size=columns) + at).tolist() for at, name in enumerate("abc")}
        standings = rank_methods(scores).standings
        assert all(one.low <= one.rank <= one.high for one in standings)
        widths.append(np.mean([one.high - one.low for one in standings]))
    assert widths[1] < widths[0] / 2


def test_bars_join_what_is_not_told_apart() -> None:
    order = [[float(at)] * 20 for at in (4, 3, 2, 1)]
    apart = rank_methods(dict(zip("abcd", order, strict=True)))
    assert apart.difference > 1  # so that neighbours are joined, and no others
    assert apart.groups() == [(0, 1), (1, 2), (2, 3)]
    few = rank_methods({name: values[:2] for name, values in zip("abcd", order, strict=True)})
    assert few.groups() == [(0, 3)]
    assert apart.p < 0.001


def test_the_picture_names_everyone() -> None:
    ranking = rank_methods({"GSINA": [2.0, 2.0, 1.0], "A & B": [1.0, 1.0, 2.0], "C": [0.0] * 3})
    picture = critical_difference_picture(ranking, "ranks")
    assert 'class="ours"' in picture
    assert "A &amp; B 1.67" in picture
    assert picture.count('class="bar"') == len(ranking.groups())
    assert "critical difference" in picture


def test_nothing_to_rank() -> None:
    empty = rank_methods({})
    assert empty.standings == ()
    assert "<svg" in critical_difference_picture(empty, "nothing")
    assert rank_methods({"a": [1.0]}).standings[0].rank == 1
