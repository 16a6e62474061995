"""Columns put together, and who is ahead there."""

from __future__ import annotations

import pytest

from gsina.paper.report.comparisons import compare
from gsina.paper.report.fresh_draws import fresh_draws, joined
from gsina.paper.report.summaries import Summary
from gsina.paper.tables.table import Cell
from gsina.runs.published import default_recipe


def summary(row: str, column: str, values: dict[int, float], auc: float | None = None) -> Summary:
    cell = Cell(row, column, default_recipe("spmotif"), tuple(values))
    test = {} if auc is None else {"explanation_auc": auc, "precision_at_5": auc}
    return Summary(cell, values, tuple({"metrics": {"test": test}} for _ in values))


def test_runs_are_paired_within_their_own_column() -> None:
    names = {"x": "both", "y": "both"}
    together = joined(
        [
            summary("a", "x", {0: 50.0, 1: 52.0}),
            summary("a", "y", {0: 60.0}),
            summary("a", "z", {0: 0.0}),
            summary("b", "x", {1: 50.0}),
            summary("b", "y", {0: 56.0, 1: 1.0}),
            summary("c", "x", {}),
        ],
        names,
    )
    assert {(one.cell.row, one.cell.column) for one in together} == {("a", "both"), ("b", "both")}
    (first,) = [one for one in together if one.cell.row == "a"]
    assert sorted(first.values.values()) == [50.0, 52.0, 60.0]
    assert len(first.results) == 3
    (one,) = compare(together, "a", "b")
    assert (len(one.seeds), one.difference) == (2, pytest.approx(3.0))


def test_the_table_has_a_lead_over_every_other_method() -> None:
    draws = ("b = 0.5, draw 2027", "b = 0.5, draw 2028")
    rows = fresh_draws(
        [
            *(summary("GSINA", draw, {0: 80.0, 1: 82.0}, 0.9) for draw in draws),
            *(summary("plain network", draw, {0: 79.0, 1: 80.0}) for draw in draws),
            summary("GSINA", "b = 0.5, draw 0", {0: 10.0}, 0.1),
            summary("GSINA", "b = 0.9, draw 2027", {0: 70.0}, 0.7),
            summary("plain network", "b = 0.9, draw 2027", {0: 66.0}),
        ]
    )
    gsina, plain = rows[:2]
    assert [row[:2] for row in rows[2:4]] == [["GSINA", "b = 0.9"], ["plain network", "b = 0.9"]]
    assert [row[1:3] for row in rows[4:]] == [
        ["all three", "78.8 ± 4.5"],
        ["all three", "76.8 ± 5.4"],
    ]
    assert rows[5][6].startswith("+2.0 ± ")
    assert "5 seeds" in rows[5][6]
    assert gsina[:3] == ["GSINA", "b = 0.5", "81.0 ± 1.0"]
    assert gsina[3:] == ["90.0 ± 0.0", "90.0 ± 0.0", "4", ""]
    assert plain[:6] == ["plain network", "b = 0.5", "79.5 ± 0.5", "", "", "4"]
    assert plain[6].startswith("+1.5 ± ")
