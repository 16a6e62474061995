"""The page of users' files says what the result files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsina.paper.grid.results import Results
from gsina.paper.report.own_data import own_data_page, ranks
from gsina.paper.report.summaries import Summary
from gsina.paper.tables.own import own
from gsina.paper.tables.table import Cell

ROOT = Path(__file__).parents[3]


def summary(row: str, column: str, *values: float) -> Summary:
    cell = Cell(row, column, own().cells[0].recipe, tuple(range(len(values))))
    return Summary(cell, dict(enumerate(values)), ())


def test_ranks_are_among_the_rows_of_a_column() -> None:
    found = ranks(
        [
            summary("default", "a, shift", 80.0, 82.0),
            summary("ERM", "a, shift", 90.0),
            summary("GSAT", "a, shift", 81.0),
            summary("network alone", "a, shift", 99.0),  # a part, no rival
            summary("default", "b, shift", 70.0),
            summary("ERM", "b, shift", 60.0),
            summary("ERM", "c, shift", 60.0),  # nothing to compare with
        ]
    )
    assert found == {"default": [2.5, 1.0], "ERM": [1.0, 2.0], "GSAT": [2.5]}
    assert ranks([]) == {}


def test_the_page_is_what_the_result_files_say() -> None:
    beside = ROOT / "docs" / "own-data-results.findings.md"
    findings = beside.read_text(encoding="utf-8") if beside.exists() else ""
    page = (ROOT / "docs" / "own-data-results.md").read_text(encoding="utf-8")
    assert page == own_data_page(Results(ROOT / "results"), findings)


def test_a_baseline_is_read_from_the_run_of_the_default(tmp_path: Path) -> None:
    from gsina.paper.report.summaries import summarise

    table = own()
    (default,) = {cell.jobs[0].name: cell.jobs[0] for cell in table.cells[:2]}.values()
    result = {
        "recipe": default.recipe.model_dump(),
        "seed": 0,
        "metric": "roc_auc",
        "metrics": {"val": {"roc_auc": 0.7}, "test": {"roc_auc": 0.8}},
        "baselines": {"metrics": {"erm": {"test": {"roc_auc": 0.75}}}},
        "selection": "strict-best",
        "commit": "none",
        "versions": {"torch": "2"},
        "hardware": {"cpu": "x", "threads": 1},
        "epochs": 1,
        "seconds_per_epoch": 1.0,
    }
    store = Results(tmp_path)
    store.save(default, result)
    found = {one.cell.row: one.values for one in summarise(table, store) if one.values}
    assert found == {"default": {0: pytest.approx(80.0)}, "ERM": {0: pytest.approx(75.0)}}
