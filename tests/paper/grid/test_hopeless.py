"""Hopeless trials are stopped, what is reported never is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gsina.listeners import Stopped
from gsina.paper.grid.hopeless import MARGIN, Rival, StopIfHopeless, best_rival, rivals_of
from gsina.paper.grid.plan import waiting
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import pending, run_job, run_jobs
from gsina.paper.tables.knobs import with_trials
from gsina.paper.tables.table import Cell, Table
from gsina.paper.tables.tuned_cells import resolve, save_choices
from gsina.runs.defaults import file_recipe
from gsina.runs.job import Job
from gsina.runs.published import default_recipe

EPOCHS = 4


@pytest.fixture
def cell() -> Cell:
    data = {"bias": 0.5, "num_per_class": 4}
    recipe = default_recipe("spmotif", "gin", "erm", data=data, epochs=EPOCHS)
    return with_trials(Cell("GIN", "tiny", recipe, (0, 1)))


def finished(job: Job, curve: list[float | None], metric: str = "accuracy") -> dict[str, Any]:
    score = max((value for value in curve if value is not None), default=None)
    return {
        "recipe": job.recipe.model_dump(),
        "seed": job.seed,
        "metric": metric,
        "metrics": {"val": {metric: score}, "test": {metric: 0.5}},
        "validation": curve,
        "selection": "strict-best",
        "epochs": EPOCHS,
        "seconds_per_epoch": 1.0,
        "versions": {"torch": "2"},
        "hardware": {"cpu": "x", "threads": 1},
        "commit": "abc",
    }


def test_a_trial_is_held_against_the_best_after_as_many_epochs(cell: Cell, tmp_path: Path) -> None:
    results = Results(tmp_path)
    first, second, third = cell.jobs
    assert best_rival(third, cell.jobs, results) is None
    results.save(first, finished(first, [0.5, 0.6, 0.7, 0.7]))
    results.save(second, finished(second, [0.2, 0.3, 0.9, 0.9]))
    found = best_rival(third, cell.jobs, results)
    assert found == Rival(second, "accuracy", 2, 0.3)  # the best at the end, after two epochs
    results.save(second, finished(second, [0.9] * 4) | {"validation": []})
    assert best_rival(third, cell.jobs, results) is None  # a file from before there were curves
    results.save(second, finished(second, [None, None, 0.9, 0.9]))
    assert best_rival(third, cell.jobs, results) is None
    results.save(second, finished(second, [9.0] * 4, "rmse"))
    assert best_rival(third, cell.jobs, results) is None  # no common scale


def test_only_epochs_that_may_be_selected_count(cell: Cell, tmp_path: Path) -> None:
    results = Results(tmp_path)
    first, second, _ = (
        Job(job.recipe.model_copy(update={"selection": late}), 0)
        for job in cell.jobs
        for late in [job.recipe.selection.model_copy(update={"first_epoch": 1})]
    )
    results.save(first, finished(first, [0.8, 0.6, 0.7, 0.7]))
    assert best_rival(second, [first, second], results) == Rival(first, "accuracy", 2, 0.6)


def test_judged_once_and_by_what_is_selected() -> None:
    job = Job(default_recipe("spmotif", "gin", "erm"), 0)

    def epochs(values: list[float], done: int = 0, best: float | None = None) -> None:
        watch = StopIfHopeless(Rival(job, "accuracy", 2, 0.8))
        watch.on_trial("", done, best)
        for epoch, value in enumerate(values, start=done):
            better = watch.best is None or value > watch.best
            watch.on_epoch({"epoch": epoch, "best": better, "val": {"accuracy": value}})

    epochs([0.75, 0.1, 0.1])
    epochs([0.1, 0.75, 0.1])
    epochs([0.8 - MARGIN + 1e-9, 0.1])
    with pytest.raises(
        Stopped, match=r"after epoch 2: validation accuracy 50\.0 %, where the best"
    ):
        epochs([0.5, 0.4, 0.9])
    with pytest.raises(Stopped):
        epochs([0.4], done=1, best=0.5)
    with pytest.raises(Stopped):
        epochs([], done=2, best=0.5)  # killed before it was judged
    epochs([0.1], done=3, best=0.1)  # begun as a run that is reported
    epochs([], done=2)  # no epoch could be selected


def test_rivals_are_trials_of_cells_that_report_nothing(cell: Cell) -> None:
    jobs = tuple(cell.jobs)
    assert rivals_of([cell]) == {job.name: jobs for job in jobs}
    shown = Cell("GIN", "elsewhere", jobs[1].recipe, (0,))
    assert set(rivals_of([cell, shown])) == {jobs[0].name, jobs[2].name}
    assert rivals_of([replace(cell, trial_seeds=(0, 1))]) == {}
    assert rivals_of([shown]) == {}
    # Another cell tries two of the three: behind the first they would be waited for without end.
    fewer = replace(cell, trials=cell.trials[1:], choices=cell.choices[1:])
    assert set(rivals_of([cell, fewer])) == set(rivals_of([fewer, cell])) == {jobs[0].name}
    assert rivals_of([cell, replace(cell, trial_seeds=(0, 1))]) == {}


def test_runs_on_users_files_train_baselines_and_are_not_judged(tmp_path: Path) -> None:
    recipe = file_recipe("molecules", ("a.csv",), {"smiles": "s", "targets": ["y"]})
    results, job = Results(tmp_path), Job(recipe, 0)
    results.save(job, finished(job, [0.9] * 100))
    assert best_rival(Job(recipe, 1), [job], results) is None


def test_a_stopped_trial_is_kept_shown_and_never_chosen(cell: Cell, tmp_path: Path) -> None:
    results, table = Results(tmp_path), Table("tiny", "A tiny table", (cell,))
    first, second, third = cell.jobs
    # Nobody reaches it.
    results.save(first, finished(first, [1.5] * EPOCHS))
    ended = list(run_jobs(cell.jobs, results, rivals=rivals_of([cell])))
    assert [(one.job, one.stopped, one.result) for one in ended] == [
        (second, True, None),
        (third, True, None),
    ]
    assert "stopped after epoch 2" in str(ended[0].error)
    about = json.loads(results.stopped_path(second).read_text())
    assert {"message", "behind", "recipe", "seed", "commit", "versions", "hardware"} == set(about)
    assert about["behind"] == first.name
    assert waiting(cell, results) == []
    assert "Trials stopped half-way: 2." in resolve(table, results).notes
    (chosen,) = resolve(table, results).cells
    assert chosen.recipe == cell.choices[0]
    path = save_choices(table, results)
    assert path is not None
    tried = json.loads(path.read_text())["cells"][0]["trials"]
    assert ["stopped" in one for one in tried] == [False, True, True]
    assert [one["validation"] for one in tried] == [1.5, None, None]
    # A cell without the trial that it was behind of wants it run; and one that reports it.
    other = replace(cell, trials=cell.trials[1:], choices=cell.choices[1:])
    assert waiting(other, results) == [second, third]
    assert pending([second], results) == [second]
    assert run_job(second, results).result is not None
    assert results.stopped(second) is None  # what is finished counts
    assert "Trials stopped half-way: 1." in resolve(table, results).notes
    assert resolve(table, results).cells == (chosen,)
    results.save(second, finished(second, [1.6] * EPOCHS))
    assert resolve(table, results).cells[0].recipe == cell.choices[1]


def test_a_run_that_goes_on_after_it_was_stopped_is_the_same_bit_for_bit(
    cell: Cell, tmp_path: Path
) -> None:
    first, second, _ = cell.jobs
    stopped, straight = Results(tmp_path / "stopped"), Results(tmp_path / "straight")
    stopped.save(first, finished(first, [1.5] * EPOCHS))
    assert run_job(second, stopped, rivals=cell.jobs).stopped
    resumed = run_job(second, stopped).result
    whole = run_job(second, straight).result
    assert resumed is not None
    assert whole is not None
    assert len(whole["validation"]) == EPOCHS
    for part in ("metrics", "validation", "best_epoch", "epochs"):
        assert resumed[part] == whole[part]


def test_a_trial_that_is_not_behind_is_the_run_it_would_be_alone(
    cell: Cell, tmp_path: Path
) -> None:
    first, second, _ = cell.jobs
    watched, alone = Results(tmp_path / "watched"), Results(tmp_path / "alone")
    watched.save(first, finished(first, [0.0] * EPOCHS))
    one = run_job(second, watched, rivals=cell.jobs).result
    other = run_job(second, alone).result
    assert one is not None
    assert other is not None
    assert (one["metrics"], one["validation"]) == (other["metrics"], other["validation"])


def test_kill_9_before_a_trial_is_judged(cell: Cell, tmp_path: Path) -> None:
    """The resumed trial is stopped at the same epoch, for the same reason."""
    first, second, _ = cell.jobs
    script = (
        "import os, signal, sys, json; from pathlib import Path\n"
        "from gsina.runs.recipe import Recipe\n"
        "from gsina.paper.grid.results import Job, Results\n"
        "from gsina.paper.grid.runner import run_job\n"
        "from gsina.listeners import OnEpoch\n"
        "def die(record):\n"
        "    if record['epoch'] == int(sys.argv[3]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "jobs = [Job(Recipe.parse(one), 0) for one in json.loads(sys.argv[1])]\n"
        "run_job(jobs[1], Results(Path(sys.argv[2])), [OnEpoch(die)], jobs)\n"
    )
    recipes = json.dumps([job.recipe.model_dump() for job in cell.jobs])
    said = []
    for epoch in (-1, 0, 1):
        results = Results(tmp_path / f"results{epoch}")
        results.save(first, finished(first, [1.5] * EPOCHS))
        cache = str(tmp_path / f"cache{epoch}")
        environment = os.environ | {"GSINA_CACHE": cache, "OMP_NUM_THREADS": "1"}
        call = [sys.executable, "-c", script, recipes, str(results.root)]
        if epoch >= 0:
            killed = subprocess.run([*call, str(epoch)], env=environment)
            assert killed.returncode == -signal.SIGKILL
            assert results.stopped(second) is None
        subprocess.run([*call, "-1"], env=environment, check=True)
        said.append(results.stopped(second))
    assert said[0] is not None
    assert said[0] == said[1] == said[2]
