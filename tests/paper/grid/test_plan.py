"""Which runs are worth most for the time that there is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gsina.datasets import DATASETS
from gsina.paper.grid.estimate import epochs_file
from gsina.paper.grid.plan import make_plan
from gsina.paper.grid.results import Results
from gsina.paper.tables.knobs import with_trials
from gsina.paper.tables.table import Cell, Table
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe


def recipe(method: str = "erm", bias: float = 0.5) -> Recipe:
    data = {"bias": bias, "num_per_class": 4}
    return default_recipe("spmotif", "gin", method, data=data, epochs=10)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An epoch of the plain network takes one second, of GSINA six; of GSAT nobody knows."""
    found = Results(tmp_path)
    path = epochs_file(found)
    path.parent.mkdir(parents=True)
    times = {"spmotif gin erm": {"seconds": 1.0}, "spmotif gin gsina": {"seconds": 6.0}}
    path.write_text(json.dumps({"epochs": times}))
    return found


def table(name: str, *cells: Cell) -> Table:
    return Table(name, name, cells)


def test_cheap_runs_and_first_seeds_come_first(results: Results) -> None:
    one = table(
        "one",
        Cell("GSINA", "b", recipe("gsina"), (0,)),
        Cell("ERM", "b", recipe(), (0, 1)),
        Cell("ERM", "c", recipe(bias=0.7), (0,)),
    )
    plan = make_plan([one], results)
    found = [(run.cell.row, run.cell.column, run.job.seed) for run in plan.chosen]
    assert found == [("ERM", "b", 0), ("ERM", "c", 0), ("ERM", "b", 1), ("GSINA", "b", 0)]
    assert plan.seconds == 90


def test_a_run_of_two_tables_is_planned_once_and_is_worth_more(results: Results) -> None:
    shared = Cell("ERM", "b", recipe(), (0,))
    first = table("one", Cell("ERM", "c", recipe(bias=0.7), (0,)), shared)
    plan = make_plan([first, table("two", shared)], results)
    assert [run.tables for run in plan.chosen] == [["one", "two"], ["one"]]
    assert [run.worth for run in plan.chosen] == [2.0, 1.0]


def test_what_decides_the_leaderboard_comes_first(results: Results) -> None:
    tables = [
        table("draws", Cell("ERM", "b", recipe(), (0,))),
        table("good", Cell("ERM", "c", recipe(bias=0.7), (0,))),
    ]
    assert [run.tables for run in make_plan(tables, results).chosen] == [["good"], ["draws"]]


def test_the_budget_is_kept(results: Results) -> None:
    one = table(
        "one", Cell("GSINA", "b", recipe("gsina"), (0,)), Cell("ERM", "b", recipe(), (0, 1, 2))
    )
    plan = make_plan([one], results, 25)
    assert len(plan.chosen) == 2
    assert len(plan.later) == 2
    both = make_plan([one], results, 25, processes=2)
    assert len(both.chosen) == 3  # GSINA takes a minute, and no process has that
    assert make_plan([one], results, 60, processes=2).later == []


def test_what_completes_a_comparison_comes_first(results: Results) -> None:
    column = [Cell(f"row {row}", "b", recipe(bias=0.5 + row / 10), (0, 1)) for row in range(3)]
    new = [Cell(f"row {row}", "c", recipe(bias=0.9 + row / 100), (0,)) for row in range(3)]
    one = table("one", *new, *column)
    for cell in column[:2]:
        job = cell.jobs[0]
        scores = {"val": {"accuracy": 0.5}, "test": {"accuracy": 0.5}}
        about = {"recipe": job.recipe.model_dump(), "seed": 0, "metrics": scores}
        made_with = {"versions": {"torch": "2"}, "hardware": {"cpu": "x", "threads": 1}}
        results.save(job, about | made_with | {"selection": "x", "commit": "x"})
    first, *others = make_plan([one], results).chosen
    assert (first.cell.row, first.cell.column, first.worth) == ("row 2", "b", 3.0)
    assert first.done == (0, 2)
    assert [(run.cell.column, run.worth) for run in others[:3]] == [("c", 1.0)] * 3
    assert [run.done for run in others if run.cell.row == "row 1" and run.worth == 0.5] == [(1, 2)]


def test_trials_are_worth_their_part_of_a_cell(results: Results) -> None:
    tuned = with_trials(Cell("ERM", "b", recipe(), (0, 1)))
    plan = make_plan([table("one", tuned)], results)
    assert [run.worth for run in plan.chosen] == pytest.approx([1 / 3] * 3)


def test_what_cannot_be_run_is_counted(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cell("GSAT", "b", recipe("gsat"), (0, 1)), Cell("ERM", "b", recipe(), (0,))
    one = table("one", *cells)
    plan = make_plan([one], results, leave_out={cells[1].jobs[0].name})
    assert plan.chosen == []
    assert plan.unknown == {"spmotif gin gsat": 2}
    results.save_diverged(cells[0].jobs[0], "no.")
    assert make_plan([one], results).unknown == {"spmotif gin gsat": 1}
    monkeypatch.setitem(DATASETS, "spmotif", replace(DATASETS["spmotif"], at_hand=lambda: False))
    assert make_plan([one], results).missing == {"spmotif": 2}
