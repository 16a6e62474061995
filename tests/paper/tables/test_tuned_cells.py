"""Three trials, one choice, on validation only."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import pending
from gsina.paper.report.summaries import summarise
from gsina.paper.report.table_page import markdown
from gsina.paper.tables.knobs import KNOBS, candidates, value_of, with_trials
from gsina.paper.tables.table import Cell, Table
from gsina.paper.tables.tuned_cells import parts, resolve, save_choices
from gsina.runs.job import Job
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe


def recipe(method: str = "gsina", bias: float = 0.6, **settings: Any) -> Recipe:
    data = {"bias": bias, "num_per_class": 4}
    return default_recipe("spmotif-struc", "ogb-gcn", method, data=data, **settings)


def fake(
    job: Job, val: float | None, test: float = 0.5, metric: str = "accuracy"
) -> dict[str, Any]:
    return {
        "recipe": job.recipe.model_dump(),
        "seed": job.seed,
        "metric": metric,
        "metrics": {"val": {metric: val}, "test": {metric: test}},
        "selection": "ciga-best",
        "epochs": 10,
        "seconds_per_epoch": 2.0,
        "versions": {"torch": "2"},
        "hardware": {"cpu": "x", "threads": 1},
        "commit": "abc",
    }


@pytest.fixture
def table() -> Table:
    return Table("tiny", "A tiny table", (with_trials(Cell("GSINA", "here", recipe(), (0, 1, 2))),))


def test_candidates_start_with_the_published_value() -> None:
    assert [value_of(one) for one in candidates(recipe())] == [0.25, 0.1, 0.4]
    rates = [one.optimiser.learning_rate for one in candidates(recipe("erm"))]
    assert rates == pytest.approx([1e-3, 1e-3 / 3, 3e-3], rel=1e-5)
    for method in KNOBS:
        made = candidates(recipe(method))
        assert made[0] == recipe(method)
        assert len({value_of(one) for one in made}) == 3


def test_ratios_stay_in_range() -> None:
    assert [value_of(one) for one in candidates(recipe(options={"ratio": 0.1}))] == [
        0.1,
        0.05,
        0.25,
    ]
    assert [value_of(one) for one in candidates(recipe(options={"ratio": 0.9}))][2] == 0.95


@pytest.mark.parametrize(
    ("dataset", "centre", "tried"),
    [
        ("spmotif-struc", 4.0, [2.0, 8.0]),
        ("spmotif-struc", 32.0, [8.0, 16.0]),
        ("spmotif-struc", 0.5, [1.0, 2.0]),
        ("spmotif-struc", 0.7, [0.5, 1.4]),
        ("spmotif-struc", 64.0, [16.0, 32.0]),
        ("nci1", 2.0, [0.5, 1.0]),
        ("sst5-text", 8.0, [2.0, 4.0]),
    ],
)
def test_values_stay_in_the_range_of_the_data(
    dataset: str, centre: float, tried: list[float]
) -> None:
    made = default_recipe(dataset, "ogb-gcn", "cigav2", options={"contrast": centre})
    assert [value_of(one) for one in candidates(made)] == [centre, *tried]


@pytest.mark.parametrize(
    ("dataset", "values"),
    [
        ("spmotif-struc", [4.0, 0.5, 32.0]),
        ("nci1", [1.0, 0.5, 2.0]),
        ("sst5-text", [4.0, 1.0, 8.0]),
    ],
)
def test_contrast_of_cnc_covers_the_range_of_ciga(dataset: str, values: list[float]) -> None:
    made = default_recipe(dataset, "ogb-gcn", "cnc")
    assert [value_of(one) for one in candidates(made)] == values


def test_a_choice_is_carried_to_other_data_by_its_steps() -> None:
    at, own = recipe("cigav2", options={"contrast": 0.5}), recipe("cigav2", 0.9)
    own = own.model_copy(
        update={"method": own.method.model_copy(update={"options": {"contrast": 16.0}})}
    )
    cell = with_trials(Cell("CIGA", "there", own, (0,)), at)
    assert [value_of(trial) for trial in cell.trials] == [0.5, 1.0, 2.0]
    assert [value_of(choice) for choice in cell.choices] == [16.0, 32.0, 32.0]


def test_a_trial_that_diverges_is_the_worst_and_not_run_again(table: Table, tmp_path: Path) -> None:
    results = Results(tmp_path)
    first, second, third = (Job(trial, 0) for trial in table.cells[0].trials)
    results.save(first, fake(first, 0.6))
    results.save_diverged(second, "training diverged")
    assert pending(table.cells[0].jobs, results) == [third]
    results.save(third, fake(third, 0.7))
    assert value_of(resolve(table, results).cells[0].recipe) == 0.4
    path = save_choices(table, results)
    assert path is not None
    tried = json.loads(path.read_text())["cells"][0]["trials"]
    assert [one["validation"] for one in tried] == [0.6, None, 0.7]


def test_the_best_validation_metric_decides(table: Table, tmp_path: Path) -> None:
    results = Results(tmp_path)
    (cell,) = table.cells
    assert [job.seed for job in cell.jobs] == [0, 0, 0]
    for trial, val, test in zip(cell.trials, (0.6, 0.8, 0.7), (0.9, 0.2, 0.8), strict=True):
        assert resolve(table, results).cells[0].trials  # not before all are done
        assert summarise(table, results)[0].values == {}
        results.save(Job(trial, 0), fake(Job(trial, 0), val, test))
    (chosen,) = resolve(table, results).cells
    assert chosen.trials == ()
    assert value_of(chosen.recipe) == 0.1  # the worst on test
    # Its trial is its seed 0.
    assert [job.seed for job in pending(chosen.jobs, results)] == [1, 2]
    assert summarise(table, results)[0].values == {0: 20.0}
    text = markdown(table, results)
    assert "Chosen: GSINA ratio 0.1 (here)." in text
    assert resolve(resolve(table, results), results).cells == (chosen,)


def test_of_equal_trials_the_published_one(table: Table, tmp_path: Path) -> None:
    results = Results(tmp_path)
    for trial, val in zip(table.cells[0].trials, (0.7, 0.7, None), strict=True):
        results.save(Job(trial, 0), fake(Job(trial, 0), val))
    assert value_of(resolve(table, results).cells[0].recipe) == 0.25


def test_a_smaller_error_is_better(table: Table, tmp_path: Path) -> None:
    results = Results(tmp_path)
    for trial, val in zip(table.cells[0].trials, (2.0, math.nan, 1.0), strict=True):
        results.save(Job(trial, 0), fake(Job(trial, 0), val, metric="rmse"))
    assert value_of(resolve(table, results).cells[0].recipe) == 0.4


def test_trials_may_stand_for_other_data(tmp_path: Path) -> None:
    cell = with_trials(Cell("GSINA", "other", recipe(bias=0.9), (0, 1)), recipe(bias=0.6))
    table = Table("tiny", "A tiny table", (cell,))
    results = Results(tmp_path)
    for trial, val in zip(cell.trials, (0.5, 0.6, 0.9), strict=True):
        assert trial.data.options["bias"] == 0.6
        results.save(Job(trial, 0), fake(Job(trial, 0), val))
    (chosen,) = resolve(table, results).cells
    assert (chosen.recipe.data.options["bias"], value_of(chosen.recipe)) == (0.9, 0.4)
    assert [job.seed for job in pending(chosen.jobs, results)] == [0, 1]  # not run on these data


def test_choices_are_kept(table: Table, tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert save_choices(table, results) is None
    for trial, val in zip(table.cells[0].trials, (0.6, 0.8, 0.7), strict=True):
        results.save(Job(trial, 0), fake(Job(trial, 0), val))
    path = save_choices(table, results)
    assert path == tmp_path / "tuning/tiny.json"
    (row,) = json.loads(path.read_text())["cells"]
    assert (row["setting"], row["chosen"]) == ("ratio", 0.1)
    assert row["candidates"] == [trial["value"] for trial in row["trials"]]
    assert [trial["validation"] for trial in row["trials"]] == [0.6, 0.8, 0.7]
    for trial in row["trials"]:
        assert (results.folder / f"{trial['result']}.json").exists()


def test_parts_keep_the_order() -> None:
    plain = Cell("ERM", "a", recipe("erm"), (0,))
    one = Table("tiny", "", (plain, replace(plain, column="b")))
    assert parts(one) == [one]
    cells = (with_trials(plain), plain, replace(plain, column="b"), with_trials(plain))
    found = parts(Table("tiny", "", cells))
    assert [len(part.cells) for part in found] == [2, 1, 1]
    assert tuple(cell for part in found for cell in part.cells) == cells
