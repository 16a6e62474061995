"""The leaderboard with half-run grids."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gsina.paper.grid.results import Results
from gsina.paper.report.leaderboard import (
    REQUIRED,
    Column,
    Entry,
    collect,
    command,
    leaderboard_page,
    rank,
    write_leaderboard,
)
from gsina.paper.report.summaries import Summary
from gsina.paper.tables.table import Cell
from gsina.runs.published import default_recipe

RECIPE = default_recipe("spmotif", "gin", "erm", data={"bias": 0.5})


def entry(*values: float, diverged: tuple[int, ...] = ()) -> Entry:
    cell = Cell("row", "column", RECIPE, (0, 1, 2))
    return Entry(Summary(cell, dict(enumerate(values)), (), diverged), "good")


def column(label: str, **more: Entry) -> Column:
    known = {name: entry(50.0 + at) for at, name in enumerate(REQUIRED)}
    return Column("TU", label, known | more)


def test_a_column_counts_with_the_methods_that_are_needed() -> None:
    half = Column("TU", "half", {"GSINA": entry(1.0), "ERM": entry()})
    assert half.missing() == ["ERM", "GSAT", "CIGAv2"]
    assert not half.counts()
    assert column("whole").counts()


def test_only_methods_with_all_columns_are_ranked() -> None:
    columns = [column("one", DIR=entry(99.0)), column("two")]
    assert [one.method for one in rank(columns).standings] == list(REQUIRED[::-1])
    page = leaderboard_page(columns, Results(Path("nowhere")))
    assert "DIR (1)" in page
    assert "2 of 2 columns count" in page


def test_a_diverging_method_is_a_row() -> None:
    columns = [column(label, GIB=entry(diverged=(0, 1, 2))) for label in ("one", "two")]
    assert rank(columns).standings[-1].method == "GIB"
    page = leaderboard_page(columns, Results(Path("nowhere")))
    assert "| GIB | diverged |" in page
    assert entry(math.nan).value == -math.inf


def test_seeds_that_are_missing_are_shown() -> None:
    columns = [column("Motif basis covariate", ERM=entry(0.0, 2.0))]
    page = leaderboard_page(columns, Results(Path("nowhere")))
    assert "| ERM | 1.00 ± 1.00 (2 of 3) |" in page
    assert f"`{command('good', 'Motif basis covariate')}`" in page
    assert command("good", "a b") == "gsina bench good --only '=a b' --results again"


def test_columns_of_all_benchmarks_are_there_before_anything_is_run(tmp_path: Path) -> None:
    results = Results(tmp_path)
    columns = collect(results)
    assert {one.suite for one in columns} == {"TU", "DrugOOD EC50", "CIGA motifs", "GOOD"}
    assert all("GSINA, recommended" in one.entries for one in columns)
    write_leaderboard(tmp_path / "leaderboard.md", results)
    text = (tmp_path / "leaderboard.md").read_text()
    assert f"0 of {len(columns)} columns count" in text
    assert "Columns that do not count yet" in text
    assert (tmp_path / "img/leaderboard.svg").exists()


@pytest.mark.parametrize("name", ["recommended-ciga"])
def test_the_recommended_recipe_is_tuned_like_the_others(name: str) -> None:
    from gsina.paper.tables import make_table

    others = {cell.column: cell for cell in make_table("ciga-real").cells if cell.row == "GSINA"}
    for cell in make_table(name).cells:
        assert len(cell.trials) == 3
        if cell.column in others:
            assert cell.recipe.data == others[cell.column].recipe.data
