"""Results, the runner, tables and reports, on runs of a second."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gsina.explainers.registry import EXPLAINERS
from gsina.files import locked
from gsina.paper.grid.estimate import estimate, seconds_by_kind
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import pending, run_job, run_jobs
from gsina.paper.numbers import PaperNumber, paper_number
from gsina.paper.report.summaries import summarise
from gsina.paper.report.table_page import markdown
from gsina.paper.tables import TABLES, make_table
from gsina.paper.tables.gsat import spmotif
from gsina.paper.tables.table import Cell, Table
from gsina.runs.job import Job, identity
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.trained import model_folder
from processes import LIMIT, started, wait_until


def tiny(method: str = "erm", **settings: object) -> Recipe:
    data = {"bias": 0.5, "num_per_class": 4}
    return default_recipe("spmotif", "gin", method, data=data, **{"epochs": 1} | settings)


@pytest.fixture
def table() -> Table:
    cells = (
        Cell("GIN", "tiny", tiny(), (0, 1), PaperNumber(40.0, 1.0)),
        Cell("GIN + GSINA", "tiny", tiny("gsina"), (0,)),
    )
    return Table("tiny", "A tiny table", cells)


def fake(job: Job, accuracy: float) -> dict[str, object]:
    return {
        "recipe": job.recipe.model_dump(),
        "seed": job.seed,
        "metric": "accuracy",
        "metrics": {"val": {"accuracy": 0.5}, "test": {"accuracy": accuracy}},
        "selection": "strict-best",
        "epochs": 10,
        "seconds_per_epoch": 2.0,
        "versions": {"torch": "2"},
        "hardware": {"cpu": "x", "threads": 1},
        "commit": "abc",
    }


def test_identity_ignores_defaults_that_are_written_out():
    assert identity(tiny("gsina")) == identity(
        default_recipe(
            "spmotif",
            "gin",
            "gsina",
            data={"bias": 0.5, "num_per_class": 4},
            options={"noise": 1.0, "scope": "graph"},
            epochs=1,
        )
    )
    assert identity(tiny("gsina")) != identity(tiny("gsina", learning_rate=0.5))
    assert identity(tiny()) != identity(tiny("gsina"))


def test_finished_runs_are_skipped_and_found_again(tmp_path, table):
    results = Results(tmp_path)
    jobs = [job for cell in table.cells for job in cell.jobs]
    ended = list(run_jobs(jobs, results))
    assert [one.error for one in ended] == [None, None, None]
    assert pending(jobs, results) == []
    assert list(run_jobs(jobs, results)) == []
    assert len(list(results.folder.glob("*.json"))) == 3
    assert not list(results.folder.glob(".*.lock"))


def test_two_processes_give_the_same_numbers_as_one(tmp_path, table):
    jobs = [job for cell in table.cells for job in cell.jobs]
    one, two = Results(tmp_path / "one"), Results(tmp_path / "two")
    list(run_jobs(jobs, one))
    list(run_jobs(jobs, two, processes=2))
    for job in jobs:
        first, second = one.load(job), two.load(job)
        assert first is not None
        assert second is not None
        assert first["metrics"] == second["metrics"]


def test_a_broken_result_is_named_and_run_again(tmp_path):
    results = Results(tmp_path)
    job = Job(tiny(), 0)
    results.folder.mkdir(exist_ok=True)
    whole = fake(job, 0.5)
    text = json.dumps(whole)
    assert '{"accuracy": 0.5}' in text
    for wrong in (
        text[:-9],
        text.replace('{"accuracy": 0.5}', '{"accuracy": "high"}'),
        text.replace('{"accuracy": 0.5}', '{"accuracy": NaN}'),
        '{"metrics": [1]}',
        "[]",
    ):
        results.path(job).write_text(wrong)
        assert results.broken([job]) == [results.path(job)]
        assert pending([job], results) == [job]
    results.path(job).write_text(text)
    assert pending([job], results) == []
    changes: list[dict[str, object]] = [
        {"seed": 7},
        {"recipe": tiny("gsina").model_dump()},
        {"metrics": {}},
        {"metrics": {"test": {"accuracy": 0.5}}},
        {"metrics": {"val": {"accuracy": 0.5}, "test": {}}},
        {"hardware": {}},
        {"explainer": "graphmask"},
    ]
    for change in changes:
        results.save(job, whole | change)
        assert results.broken([job]) == [results.path(job)]
    for name in ("seed", "recipe", "metrics", "selection", "versions", "hardware", "commit"):
        results.save(job, {key: value for key, value in whole.items() if key != name})
        assert pending([job], results) == [job]
    assert run_job(job, results).error is None
    assert results.broken([job]) == []


def test_a_job_that_another_process_holds_is_left_alone(tmp_path):
    results = Results(tmp_path)
    job = Job(tiny(), 0)
    with results.claim(job) as mine:
        assert mine
        ended = run_job(job, Results(tmp_path))
    assert ended.result is None
    assert "another process" in str(ended.error)
    assert run_job(job, results).result is not None


def test_a_failing_run_is_told_and_the_others_go_on(tmp_path):
    bad = Job(tiny(learning_rate=1e30), 0)
    good = Job(tiny(), 0)
    ended = list(run_jobs([bad, good], Results(tmp_path)))
    assert "diverged" in str(ended[0].error)
    assert ended[1].error is None


def test_a_diverged_run_is_told_left_alone_and_reported(tmp_path, table):
    recipe = tiny("erm", learning_rate=1e30, epochs=3)
    cell = replace(table.cells[0], recipe=recipe, seeds=(0,))
    results = Results(tmp_path)
    (ended,) = run_jobs(cell.jobs, results)
    assert ended.result is None
    assert "diverged" in ended.error
    assert "delete" in ended.error
    assert list(run_jobs(cell.jobs, results)) == []
    text = markdown(replace(table, cells=(cell,)), results)
    assert f"Diverged, and so in no mean: {cell.row} on {cell.column} seeds 0." in text
    assert f"| {cell.row} | {cell.column} | diverged |" in text
    assert "Cells not run yet" not in text
    (again,) = cell.jobs
    assert "delete" in run_job(again, results).error  # by a process whose list is older
    about = json.loads(results.diverged_path(again).read_text())
    assert about["recipe"] == recipe.model_dump()
    assert {"message", "seed", "commit", "versions", "hardware"} < about.keys()
    results.save(again, fake(again, 0.5))
    assert results.diverged(again) is None


def test_the_deviation_of_a_sample_where_the_table_asks_for_it(tmp_path, table):
    results = Results(tmp_path)
    cell = replace(table.cells[0], seeds=(0, 1))
    for job, accuracy in zip(cell.jobs, (0.4, 0.6), strict=True):
        results.save(job, fake(job, accuracy))
    for sample, std in ((False, 10.0), (True, 200**0.5)):
        (found,) = summarise(replace(table, cells=(cell,), sample_std=sample), results)
        assert found.std == pytest.approx(std)


def test_kill_9_in_a_grid_loses_nothing_and_it_goes_on(tmp_path):
    """The killed run goes on from its checkpoint and ends as if nothing had happened."""
    recipe = tiny("gsina", epochs=40)
    script = (
        "import os, signal, sys, json; from pathlib import Path\n"
        "from gsina.runs.recipe import Recipe\n"
        "from gsina.paper.grid.results import Job, Results\n"
        "from gsina.paper.grid.runner import run_job\n"
        "from gsina.listeners import OnEpoch\n"
        "def die(record):\n"
        "    if record['epoch'] == 9:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "recipe = Recipe.parse(json.loads(sys.argv[1]))\n"
        "listeners = [OnEpoch(die)] if sys.argv[3:] else []\n"
        "run_job(Job(recipe, 0), Results(Path(sys.argv[2])), listeners)\n"
    )
    environment = os.environ | {"GSINA_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    call = [sys.executable, "-c", script, recipe.model_dump_json(), str(tmp_path / "killed")]
    killed = subprocess.run([*call, "die"], env=environment)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "cache" / "runs" / Job(recipe, 0).name / "checkpoint.safetensors").exists()
    assert Results(tmp_path / "killed").load(Job(recipe, 0)) is None
    subprocess.run(call, env=environment, check=True)
    whole = [*call[:-1], str(tmp_path / "whole")]
    subprocess.run(whole, env=environment, check=True)
    resumed, straight = (
        Results(tmp_path / name).load(Job(recipe, 0)) for name in ("killed", "whole")
    )
    assert resumed is not None
    assert straight is not None
    assert resumed["metrics"] == straight["metrics"]
    assert resumed["best_epoch"] == straight["best_epoch"]


def test_report_shows_ours_beside_the_papers_and_what_is_missing(tmp_path, table):
    results = Results(tmp_path)
    for seed, accuracy in ((0, 0.5), (1, 0.6)):
        job = Job(table.cells[0].recipe, seed)
        results.save(job, fake(job, accuracy))
    text = markdown(table, results)
    assert "| GIN | tiny | 55.00 ± 5.00 | 40.00 ± 1.00 | 0, 1 | 50.0, 60.0 |" in text
    assert "Cells not run yet: 1 of 2; `gsina bench tiny --dry-run` names them." in text
    results.path(Job(table.cells[0].recipe, 1)).unlink()
    assert "Not all seeds are run in 1 of 2 cells: 1 with 1 of 2." in markdown(table, results)
    results.save(Job(table.cells[0].recipe, 1), fake(Job(table.cells[0].recipe, 1), 0.6))
    summary = summarise(table, results)[0]
    assert (summary.mean, summary.std) == (pytest.approx(55), pytest.approx(5))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_valid_recipes_and_distinct_runs(name):
    table = make_table(name)
    names = [job.name for cell in table.cells for job in cell.jobs]
    shared = name in (
        "ciga-spm",
        "node",
        "recommended",
        "recommended-ciga",
        "good",
        "node-facebook",
        "explanations",
        "own",
    )  # trials; splits of one run
    assert len(set(names)) == len(names) or shared
    assert all(len({job.name for job in cell.jobs}) == len(cell.jobs) for cell in table.cells)
    assert all(cell.paper is not None for cell in table.cells if not table.notes)


def test_selecting_cells_by_words():
    table = make_table("gsat").select(["gin", "0.5", "gsina"], [7])
    assert [(cell.row, cell.column) for cell in table.cells] == [("GIN + GSINA", "SPMotif 0.5")]
    assert [job.seed for job in table.cells[0].jobs] == [7]
    assert {cell.row for cell in make_table("gsat").select(["=GIN"], None).cells} == {"GIN"}
    assert len({cell.row for cell in make_table("gsat").select(["GIN"], None).cells}) == 3
    with pytest.raises(ValueError, match="unknown row or column of the table gsat 'gin'"):
        make_table("gsat").select(["=gin"], None)
    with pytest.raises(
        ValueError, match="unknown row or column of the table gsat 'nonsense'; known: "
    ):
        make_table("gsat").select(["nonsense"], None)
    with pytest.raises(ValueError, match="unknown row or column of the table gsat ''"):
        make_table("gsat").select([""], None)
    with pytest.raises(ValueError, match="has all of GSINA, GSAT in its row and column"):
        make_table("gsat").select(["GSINA", "GSAT"], None)


def test_the_plain_table_has_one_recipe_for_all():
    recipes = {cell.row: cell.recipe for cell in make_table("plain").cells}
    plain = recipes["GIN + DIR"]
    assert plain == spmotif("gin", "dir", 0.5)
    for recipe in recipes.values():
        assert recipe.optimiser == plain.optimiser
        assert (recipe.selection.rule, recipe.selection.patience) == ("latest-best", None)
    assert recipes["GIN + GSAT"].selection.first_epoch == 20
    assert recipes["GIN + GSAT"].method == spmotif("gin", "gsat", 0.5).method


def test_published_numbers():
    assert paper_number("gsat", "gsina", "gin", "spmotif-0.5") == PaperNumber(55.16, 5.69)
    assert paper_number("gsat", "gsina", "gin", "nothing") is None


def test_a_training_counts_once_for_all_that_explain_its_model(tmp_path, table, monkeypatch):
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    results = Results(tmp_path)
    recipe = table.cells[0].recipe
    own = {"seconds_explaining": 5.0, "seconds_measuring": 2.0}
    for who, times in (("evidence,graphmask", own), ("evidence,random", {"seconds_explaining": 1})):
        job = Job(recipe, 0, who)
        results.save(job, fake(job, 0.5) | times)
    trained, alone = fake(Job(recipe, 0), 0.5), [Job(recipe, 1, "evidence,graphmask")]
    training = trained["epochs"] * trained["seconds_per_epoch"]
    assert estimate([Job(recipe, 1)], results)[0] == training  # told by those that explain it
    assert estimate(alone, results)[0] == training + 7
    both = [*alone, Job(recipe, 1, "evidence,random")]
    assert estimate(both, results)[0] == training + 7 + 1
    assert estimate([*both, Job(recipe, 2, "evidence,random")], results)[0] == 2 * training + 9
    model_folder(recipe, 1).mkdir(parents=True)
    assert estimate(both, results)[0] == 8  # it is there
    other = table.cells[1].recipe  # of which no training is known, and then one of another study
    results.save(Job(other, 0), fake(Job(other, 0), 0.5))
    assert estimate([Job(other, 1, "evidence,random")], results)[0] == training + 1
    assert estimate([Job(recipe, 1, "pieces")], results) == (0, [])  # never run: a lower bound
    assert estimate([Job(recipe, 3, "pieces")], results) == (training, [])
    assert estimate([Job(recipe, 3, "evidence")], results) == (training, [])  # not as the others
    assert set(seconds_by_kind(results)) & {"evidence", "evidence,random"} == {"evidence,random"}


def test_estimate_from_finished_runs(tmp_path, table):
    results = Results(tmp_path)
    job = Job(table.cells[0].recipe, 0)
    results.save(job, fake(job, 0.5))
    (results.folder / "broken.json").write_text("{")
    other = Job(table.cells[1].recipe, 0)
    assert estimate([job, job, other], results) == (40.0, [other])
    assert json.loads(results.path(job).read_text())["seed"] == 0
    assert isinstance(results.folder, Path)


def test_ctrl_c_ends_a_grid_of_several_processes(tmp_path):
    """The parent is interrupted; neither the running nor the waiting jobs go on."""
    script = (
        "import sys; from pathlib import Path\n"
        "from gsina.runs.published import default_recipe\n"
        "from gsina.paper.grid.results import Job, Results\n"
        "from gsina.paper.grid.runner import run_jobs\n"
        "if __name__ == '__main__':\n"
        "    data = {'bias': 0.5, 'num_per_class': 4}\n"
        "    recipe = default_recipe('spmotif', 'gin', 'erm', data=data, epochs=100000)\n"
        "    jobs = [Job(recipe, seed) for seed in range(6)]\n"
        "    list(run_jobs(jobs, Results(Path(sys.argv[1])), processes=2))\n"
    )
    file = tmp_path / "grid.py"
    file.write_text(script)
    environment = os.environ | {"GSINA_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    runs = tmp_path / "cache" / "runs"

    def begun() -> int:
        return len(list(runs.glob("*/checkpoint.safetensors")))

    call = [sys.executable, str(file), str(tmp_path / "out")]
    with started(call, env=environment, stdout=subprocess.PIPE) as process:
        wait_until(lambda: begun() == 2, process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)  # to the end of a pipe that all workers hold open
    assert process.returncode == -signal.SIGINT
    assert begun() == 2


def test_a_stale_checkpoint_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    job = Job(tiny(), 0)
    folder = tmp_path / "cache" / "runs" / job.name
    folder.mkdir(parents=True)
    (folder / "checkpoint.safetensors").write_bytes(b"not a checkpoint")
    assert run_job(job, Results(tmp_path)).error is None


def test_a_job_with_an_explainer_explains_the_plain_network(tmp_path, monkeypatch):
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    results = Results(tmp_path / "results")
    jobs = [Job(tiny(), 0, "gnnexplainer"), Job(tiny(), 0, "graphmask")]
    assert [one.error for one in run_jobs(jobs, results)] == [None, None]
    for job in jobs:
        found = results.load(job)
        assert found is not None
        assert found["explainer"] == job.explainer
        assert 0 <= found["metrics"]["test"]["explanation_auc"] <= 1
    assert len(list((tmp_path / "cache" / "models").iterdir())) == 1  # trained once


@pytest.mark.parametrize("name", ["interpret-auc", "interpret-p5"])
def test_tables_of_explanations_know_their_explainers_and_the_papers_numbers(name):
    cells = make_table(name).cells
    explained = [cell for cell in cells if cell.explainer is not None]
    assert explained
    assert {cell.explainer for cell in explained} <= set(EXPLAINERS)
    assert all(cell.recipe.method.name == "erm" for cell in explained)
    assert all(cell.paper is not None for cell in cells if "GSINA" in cell.row)
    printed = {cell.explainer for cell in explained if cell.paper is not None}
    assert printed == ({"gnnexplainer"} if name == "interpret-p5" else set(EXPLAINERS))


def test_locks_that_nobody_holds_are_removed(tmp_path):
    results = Results(tmp_path)
    results.folder.mkdir(parents=True)
    left, held = results.folder / ".left.lock", results.folder / ".held.lock"
    left.touch()
    with locked(held):
        results.clear_locks()
        assert held.exists()
    assert not left.exists()
