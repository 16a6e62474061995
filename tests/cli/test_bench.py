"""``gsina bench`` and ``gsina report``."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from gsina.datasets import DATASETS
from gsina.paper import tables
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import run_job
from gsina.paper.report.leaderboard import command as again_command
from gsina.paper.report.summaries import summarise
from gsina.paper.studies import runtime
from gsina.paper.tables.knobs import with_trials
from gsina.paper.tables.table import Cell, Table
from gsina.paper.tables.tuned_cells import resolve
from gsina.runs.published import default_recipe

bench_command = import_module("gsina.cli.bench")


@pytest.fixture
def tiny_table(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"bias": 0.5, "num_per_class": 4}
    recipe = default_recipe("spmotif", "gin", "erm", data=data, epochs=1)
    table = Table("tiny", "A tiny table", (Cell("GIN", "tiny", recipe, (0, 1)),))
    monkeypatch.setitem(tables.TABLES, "tiny", lambda: table)


@pytest.mark.usefixtures("tiny_table")
def test_run_skip_and_report(gsina, tmp_path: Path) -> None:
    dry = gsina("bench", "tiny", "--dry-run")
    assert "0 of 2 runs are done" in dry.output
    assert not list(tmp_path.rglob("*.json"))
    first = gsina("bench", "tiny", "--seeds", "0")
    assert first.exit_code == 0
    assert "OOD test accuracy" in first.output
    (path,) = (tmp_path / "results/runs").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds_per_epoch": 7.0}))
    again = gsina("bench", "tiny", "--dry-run")
    assert "1 of 2 runs are done" in again.output
    assert "1 to run: about 0:07" in again.output
    report = gsina("report", "tiny")
    assert "| GIN | tiny |" in report.output
    assert "with 1 of 2" in report.output


def test_a_cell_again_in_a_new_folder_is_the_same_bit_for_bit(
    gsina, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command that the leaderboard names: its trials, the choice, and every number."""
    data = {"bias": 0.5, "num_per_class": 4}
    row = "GSINA, recommended"
    recipes = {row: "gsina", "GIN": "erm"}
    cells = []
    for name, method in recipes.items():
        recipe = default_recipe("spmotif", "gin", method, data=data, epochs=2)
        cells.append(with_trials(Cell(name, "tiny 0.5", recipe, (0, 1))))
    table = Table("tiny", "A tiny table", tuple(cells))
    monkeypatch.setitem(tables.TABLES, "tiny", lambda: table)
    assert gsina("bench", "tiny").exit_code == 0
    said = shlex.split(again_command("tiny", "tiny 0.5"))
    assert said[0] == "gsina"
    assert gsina(*said[1:], "--only", f"={row}").exit_code == 0
    first, again = Results(Path("results")), Results(Path("again"))
    cell = resolve(table, first).cells[0]
    assert resolve(table, again).cells[0] == cell
    assert {path.name for path in again.folder.glob("*.json")} == {
        path.name for path in first.folder.glob("*-gsina-*.json")
    }
    for path in again.folder.glob("*.json"):
        one, other = (json.loads((at.folder / path.name).read_text()) for at in (first, again))
        for part in ("metrics", "validation", "best_epoch", "epochs", "recipe", "seed"):
            assert one[part] == other[part]
    assert summarise(table, again)[0].values == summarise(table, first)[0].values


@pytest.mark.usefixtures("tiny_table")
def test_a_broken_result_is_named(gsina, tmp_path: Path) -> None:
    gsina("bench", "tiny", "--seeds", "0")
    (path,) = (tmp_path / "results/runs").glob("*.json")
    path.write_text("{")
    output = gsina("bench", "tiny", "--seeds", "0").output
    assert f"{path.name} is not a complete result of its run" in output
    assert "metrics" in json.loads(path.read_text())


def test_unknown_table_and_bad_seeds_get_one_sentence(gsina) -> None:
    wrong = gsina("bench", "gsta")
    assert wrong.exit_code == 2
    assert "did you mean 'gsat'?" in wrong.output
    seeds = gsina("bench", "gsat", "--seeds", "one")
    assert seeds.exit_code == 2
    assert "whole numbers such as 0,1,2, got 'one'" in seeds.output


def test_out_of_the_wrong_kind_is_told(gsina, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments, said in (
        (("--out", tmp_path), "without a table is the page of all tables"),
        (("gsat", "--out", "file"), "is a folder for the files of one table, got file"),
    ):
        wrong = gsina("report", *arguments)
        assert wrong.exit_code == 2
        assert said in " ".join(wrong.output.split())


def test_report_writes_a_page(gsina, tmp_path: Path) -> None:
    assert gsina("report", "--out", "docs/results.md").exit_code == 0
    assert (tmp_path / "docs/results.md").read_text().startswith("# Results")


def test_a_tuned_cell_runs_its_trials_and_then_its_seeds(
    gsina, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"bias": 0.6, "num_per_class": 4}
    recipe = default_recipe("spmotif-struc", "ogb-gcn", "erm", data=data, epochs=1)
    table = Table("tiny", "A tiny table", (with_trials(Cell("ERM", "tiny", recipe, (0, 1))),))
    monkeypatch.setitem(tables.TABLES, "tiny", lambda: table)
    other = with_trials(Cell("ERM", "other", recipe, (2,)), recipe)
    both = replace(table, name="both", cells=(*table.cells, other))
    monkeypatch.setitem(tables.TABLES, "both", lambda: both)
    assert "the same trials, then 2" in gsina("bench", "both", "--dry-run").output
    planned = gsina("bench", "tiny", "--dry-run").output
    assert "0 of 3 runs are done" in planned
    assert "3 trials, then 0, 1" in planned
    assert "Then 1 more" in planned
    done = gsina("bench", "tiny")
    assert done.exit_code == 0, done.output
    assert "ERM on tiny, trial learning_rate 0.003: validation accuracy" in done.output
    assert done.output.count("OOD test") == 1  # of the seed, not of the trials
    assert len(list((tmp_path / "results/runs").glob("*.json"))) == 4  # three trials, one seed more
    assert (tmp_path / "results/tuning/tiny.json").exists()
    assert gsina("bench", "both", "--only", "other").exit_code == 0
    choices = json.loads((tmp_path / "results/tuning/both.json").read_text())["cells"]
    assert [one["column"] for one in choices] == ["tiny", "other"]  # not of the chosen cells alone
    assert "2 of 2 runs are done" in gsina("bench", "tiny").output
    assert "learning_rate" in gsina("report", "tiny").output


def test_what_another_table_reports_is_not_stopped(
    gsina, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"bias": 0.5, "num_per_class": 4}
    recipe = default_recipe("spmotif", "gin", "erm", data=data, epochs=1)
    tuned = with_trials(Cell("GIN", "tiny", recipe, (0,)))
    first, shown, _ = tuned.jobs
    known = {
        "tiny": Table("tiny", "A tiny table", (tuned,)),
        "shown": Table("shown", "Another", (Cell("GIN", "shown", shown.recipe, (0,)),)),
    }
    monkeypatch.setattr(tables, "TABLES", {name: partial(known.get, name) for name in known})
    monkeypatch.setattr(bench_command, "TABLES", tables.TABLES)
    store = Results(tmp_path / "results")
    result = run_job(first, store).result
    assert result is not None
    store.save(first, result | {"validation": [2.0]})  # nobody reaches it
    done = gsina("bench", "tiny")
    assert done.exit_code == 0, done.output
    assert " ".join(done.output.split()).count("stopped after epoch 1") == 1
    assert store.load(shown) is not None


@pytest.mark.parametrize(
    "wrong", ["runtime --dry-run", "runtime --only x", "convergence --measure", "gsat --quick"]
)
def test_options_that_would_do_nothing_are_refused(gsina, wrong: str, tmp_path: Path) -> None:
    found = gsina("bench", *wrong.split())
    assert found.exit_code == 2
    table, option, *_ = wrong.split()
    assert f"{option} is not for the table {table}" in found.output
    assert not (tmp_path / "results").exists()


def test_the_help_names_every_table(gsina) -> None:
    text = " ".join(gsina("bench", "--help").output.replace("│", " ").split())
    named = text.partition("Tables: ")[2].partition("Examples")[0]
    for name in (*tables.TABLES, "convergence", "runtime"):
        assert re.search(rf"(^| ){name}[,.]", named)


def test_the_hint_says_where_the_results_are(gsina, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = default_recipe(
        "spmotif", "gin", "erm", data={"bias": 0.5, "num_per_class": 4}, epochs=1
    )
    table = Table("tiny", "A tiny table", (Cell("GIN", "tiny", recipe, (0,)),))
    monkeypatch.setitem(tables.TABLES, "tiny", lambda: table)
    output = gsina("bench", "tiny", "--results", "mine").output
    assert "report tiny --results mine" in " ".join(output.split())
    output = gsina("bench", "tiny", "--results", "mine", "--seeds", "0,7").output
    assert "seeds 7 are kept, but the table does not use them" in " ".join(output.split())


def test_runtime_is_measured_kept_and_reported(gsina, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = gsina("report", "runtime")
    assert wrong.exit_code == 2
    assert "gsina bench runtime" in wrong.output
    stop = ""

    def measured(name: str, *rest: object) -> list[runtime.Measured]:
        if name == stop:
            raise KeyboardInterrupt
        return [runtime.Measured(row, name, [2.0], [2.0]) for row in runtime.ROWS]

    monkeypatch.setattr(runtime, "_measure_one", measured)
    monkeypatch.setattr(runtime, "DATA", dict(list(runtime.DATA.items())[:2]))
    for name in runtime.DATA:  # nothing of theirs is read, so their files need not be there
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], at_hand=lambda: True))
    monkeypatch.setitem(runtime.measure.__kwdefaults__, "load", lambda name: None)
    monkeypatch.setattr(runtime, "commit", lambda: "a" * 40)
    assert gsina("bench", "runtime").exit_code == 0
    whole = Path("results/bench/runtime.json").read_text()
    written = gsina("report", "runtime", "--out", "mine").output
    assert "mine/runtime.md" in written
    assert Path("mine/runtime.png").exists()
    assert gsina("report", "runtime", "--out", "mine.md").exit_code == 2
    stop = "nci1"
    cut = gsina("bench", "runtime")
    assert cut.exit_code == 130
    assert "the same command continues" in " ".join(cut.output.split())
    assert Path("results/bench/runtime.json").read_text() == whole  # until the new one is whole
    stop = ""
    again = gsina("bench", "runtime")
    assert "it has spmotif-struc." in " ".join(again.output.split())
    assert [path.name for path in Path("results/bench").iterdir()] == ["runtime.json"]
