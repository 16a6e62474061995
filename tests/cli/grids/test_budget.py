"""``gsina bench --all``."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gsina.cli.grids import budget
from gsina.cli.grids.budget import seconds_of
from gsina.datasets import DATASETS
from gsina.errors import InputError
from gsina.paper import tables
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import run_job
from gsina.paper.tables.knobs import with_trials
from gsina.paper.tables.table import Cell, Table
from gsina.runs.defaults import file_recipe
from gsina.runs.published import default_recipe


@pytest.fixture
def two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"bias": 0.5, "num_per_class": 4}
    plain = default_recipe("spmotif", "gin", "erm", data=data, epochs=1)
    away = default_recipe("good-motif", None, "erm", epochs=1)
    one = Table("one", "One", (with_trials(Cell("GIN", "tiny", plain, (0, 1))),))
    two = Table("two", "Two", (Cell("GIN", "tiny", plain, (0,)), Cell("GIN", "away", away, (0,))))
    gone = replace(DATASETS["good-motif"], at_hand=lambda: False)
    monkeypatch.setitem(DATASETS, "good-motif", gone)
    monkeypatch.setattr(tables, "TABLES", {"one": lambda: one, "two": lambda: two})


@pytest.mark.usefixtures("two_tables")
def test_trials_then_seeds_within_the_budget(gsina, tmp_path: Path) -> None:
    unknown = " ".join(gsina("bench", "--all", "--dry-run").output.split())
    assert "0 runs now" in unknown
    assert "3 runs are left out, as no time is known of spmotif gin erm (3)" in unknown
    assert "Without --dry-run an epoch of each kind is measured first, for up to 10% of" in unknown
    assert unknown.endswith("1 run is left out, for want of data: good-motif (1).")
    assert gsina("bench", "--all", "--measure").exit_code == 0
    assert "spmotif gin erm" not in gsina("bench", "--all", "--measure").output  # known by now
    planned = " ".join(gsina("bench", "--all", "--budget", "1h", "--dry-run").output.split())
    assert "3 runs now" in planned
    assert "one, two" in planned
    assert "0 of 3 trials" in planned
    assert not (tmp_path / "results/runs").exists()
    done = gsina("bench", "--all", "--budget", "1h")
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "(estimated 0:0" in text
    assert "4 runs in 0:" in text  # three trials, of which one is a seed, and another seed
    assert len(list((tmp_path / "results/runs").glob("*.json"))) == 4
    assert json.loads((tmp_path / "results/tuning/one.json").read_text())["table"] == "one"
    assert "0 runs now" in gsina("bench", "--all").output


@pytest.mark.usefixtures("two_tables")
def test_hopeless_trials_are_stopped_and_said(gsina, tmp_path: Path) -> None:
    store = Results(tmp_path / "results")
    (job,) = tables.TABLES["two"]().cells[0].jobs
    result = run_job(job, store).result
    assert result is not None
    assert len(result["validation"]) == 1
    store.save(job, result | {"validation": [2.0]})  # nobody reaches it
    done = gsina("bench", "--all")
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert text.count("stopped after epoch 1: validation accuracy") == 2
    assert "did not finish" not in text
    assert "spmotif gin erm: about" not in text  # a finished run says how long one takes
    assert len(list((tmp_path / "results/runs").glob("*.stopped"))) == 2
    (row,) = json.loads((tmp_path / "results/tuning/one.json").read_text())["cells"]
    assert row["chosen"] == row["trials"][0]["value"]
    assert "0 runs now" in gsina("bench", "--all").output


@pytest.mark.usefixtures("two_tables")
def test_times_are_measured_within_the_budget(
    gsina, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = " ".join(gsina("bench", "--all", "--budget", "1h").output.split())
    assert "spmotif gin erm: about" in done
    assert "4 runs in 0:" in done
    shutil.rmtree(tmp_path / "results")
    monkeypatch.setattr(budget, "MEASURING", 0.0)
    none = " ".join(gsina("bench", "--all", "--budget", "1h").output.split())
    assert "measured 0 of 1 kinds in the time that there is for that" in none
    assert "To measure an epoch of each kind: " in none
    assert "0 runs in 0:" in none

    def broken(table: Table, store: Results) -> None:
        raise InputError("the data cannot be read.")

    monkeypatch.setattr(budget, "MEASURING", 1.0)
    monkeypatch.setattr(budget, "measure_table", broken)
    told = gsina("bench", "--all", "--budget", "1h")
    assert told.exit_code == 0
    assert "spmotif gin erm: not measured, the data cannot be read." in told.output

    def buggy(table: Table, store: Results) -> None:
        raise IndexError("no such place")

    monkeypatch.setattr(budget, "measure_table", buggy)
    told = gsina("bench", "--all", "--budget", "1h")
    assert told.exit_code == 0
    said = "spmotif gin erm: not measured, a bug ended it (IndexError: no such place)"
    assert said in " ".join(told.output.split())


@pytest.mark.usefixtures("two_tables")
def test_explanations_are_planned_once_their_training_is_measured(
    gsina, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell, _) = tables.TABLES["two"]().cells
    table = Table("one", "One", (replace(cell, explainer="pieces"),))
    monkeypatch.setattr(tables, "TABLES", {"one": lambda: table})
    assert "spmotif gin erm: about" in gsina("bench", "--all", "--measure").output
    assert "spmotif gin erm" not in gsina("bench", "--all", "--measure").output  # known by now
    assert "1 run now" in gsina("bench", "--all", "--dry-run").output


def test_files_that_tables_make_are_not_missing(gsina, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = file_recipe("molecules", ("cache:own/made.csv",), {"smiles": "s", "targets": ["y"]})
    table = Table("own", "Own", (Cell("GIN", "own", recipe, (0,)),), prepare=lambda: None)
    monkeypatch.setattr(tables, "TABLES", {"own": lambda: table})
    planned = " ".join(gsina("bench", "--all", "--dry-run").output.split())
    assert "1 run needs files that are made first: made" in planned
    assert "for want of data" not in planned
    run = " ".join(gsina("bench", "--all").output.split())
    assert "1 run is left out, for want of data: made" in run


@pytest.mark.usefixtures("two_tables")
def test_a_budget_that_is_too_small_runs_nothing(gsina, tmp_path: Path) -> None:
    gsina("bench", "--all", "--measure")
    path = tmp_path / "results/bench/epochs.json"
    content = json.loads(path.read_text())
    content["epochs"]["spmotif gin erm"]["seconds"] = 100.0
    path.write_text(json.dumps(content))
    output = " ".join(gsina("bench", "--all", "--budget", "90s").output.split())
    assert "0 runs now, about 0:00 of 1:30; 3 more are known that do not fit" in output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--all", "gsat"), "needs the name of a table, or --all for all of them, and not both"),
        ((), "needs the name of a table, or --all"),
        (("gsat", "--budget", "3h"), "--budget is not for the table gsat"),
        (("--all", "--only", "GIN"), "--only is not for --all"),
        (("--all", "--budget", "soon"), "--budget is a time such as 3h, 90m or 1h30m, got 'soon'"),
    ],
)
def test_options_that_do_not_go_together(gsina, given: tuple[str, ...], said: str) -> None:
    wrong = gsina("bench", *given)
    assert wrong.exit_code == 2
    assert said in " ".join(wrong.output.split())


def test_times() -> None:
    assert [seconds_of(text) for text in ("3h", "1h30m", "45s", "1.5 h")] == [10800, 5400, 45, 5400]
    for wrong in ("", "3", "h", "-1h", "3 days"):
        with pytest.raises(InputError):
            seconds_of(wrong)
