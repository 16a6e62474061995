"""One run: the same seed gives the same numbers, and the result file says everything."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from gsina.errors import Note
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task
from gsina.listeners import OnEpoch
from gsina.runs import data as data_of_runs
from gsina.runs import provenance
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run, make_method, run
from gsina.runs.trained import load_model
from gsina.training import Interrupted, predict


def recipe(method: str = "gsina", **options: Any) -> Recipe:
    return Recipe.parse(
        {
            "data": {"name": "spmotif"},
            "method": {"name": method},
            "backbone": {"options": {"hidden_channels": 8}},
            "optimiser": {"epochs": 2, "batch_size": 8, "learning_rate": 0.01},
            **options,
        }
    )


def numbers(finished: Run) -> dict[str, Any]:
    return {key: finished.result[key] for key in ("metrics", "best_epoch", "epochs")}


def test_the_same_seed_gives_the_same_numbers() -> None:
    data = tiny.dataset(4)
    first, again = run(recipe(), 3, dataset=data), run(recipe(), 3, dataset=data)
    assert numbers(first) == numbers(again)
    for a, b in zip(first.method.parameters(), again.method.parameters(), strict=True):
        assert torch.equal(a, b)
    other = run(recipe(), 4, dataset=data)
    assert numbers(other) != numbers(first)


def test_a_run_from_before_there_were_budgets_goes_on(tmp_path: Path) -> None:
    kept = Path(__file__).parents[1] / "kept" / "v0.1" / "unfinished"
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    begun = json.loads((kept / "run.json").read_text(encoding="utf-8"))
    begun["recipe"]["optimiser"]["epochs"] = 2
    finished = run(Recipe.parse(begun["recipe"]), begun["seed"], out=tmp_path, resume=True)
    assert finished.result["epochs"] == 2


def test_the_result_file(tmp_path: Path) -> None:
    data = replace(tiny.dataset(4), notes=("nothing was left out",))
    finished = run(recipe(), 1, out=tmp_path, dataset=data)
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    result = json.loads(text, parse_constant=pytest.fail)
    assert result == finished.result
    fields = "recipe seed metrics selection best_epoch epochs seconds_per_epoch versions hardware"
    assert {*fields.split(), "commit", "finished"} <= result.keys()
    assert Recipe.parse(result["recipe"]) == recipe()
    assert (result["seed"], result["selection"], result["epochs"]) == (1, "latest-best", 2)
    assert result["metrics"].keys() == {"train", "val", "test"}
    expected = {"loss", "accuracy", "f1", "explanation_auc", "explanation_auc_per_graph"}
    assert result["metrics"]["test"].keys() == {*expected, "precision_at_5"}
    assert result["seconds_per_epoch"] > 0
    assert {"python", "gsina", "torch", "torch-geometric"} <= result["versions"].keys()
    assert result["hardware"].keys() >= {"machine", "cpu", "threads", "kernels"}
    assert (result["hardware"]["device"], result["hardware"]["accelerator"]) == ("cpu", None)
    assert datetime.fromisoformat(result["finished"]).tzinfo is not None
    assert result["notes"] == ["nothing was left out"]


def test_the_model_file_holds_the_selected_weights(tmp_path: Path) -> None:
    finished = run(recipe(), out=tmp_path, dataset=tiny.dataset(4))
    loaded = load_model(tmp_path).method
    graphs = finished.dataset.test
    assert torch.equal(predict(loaded, graphs).logits, predict(finished.method, graphs).logits)


def test_a_number_that_is_not_defined_is_null(tmp_path: Path) -> None:
    """NaN is not JSON: other languages, and strict readers, refuse the whole file."""
    graphs = tiny.motifs(4)
    one_class = replace(graphs, y=torch.ones(12, 1))
    mixed = replace(graphs, y=torch.arange(12).remainder(2).float().view(-1, 1))
    splits = {"train": mixed, "val": mixed, "test": one_class}
    data = Dataset("spmotif", Task("binary", 1, "roc_auc"), splits)
    finished = run(recipe("erm"), out=tmp_path, dataset=data)
    result = json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    assert result["metrics"]["test"]["roc_auc"] is None
    assert result["metrics"]["val"]["roc_auc"] == finished.result["metrics"]["val"]["roc_auc"]


def test_a_resumed_run_has_the_same_result(tmp_path: Path) -> None:
    data = tiny.dataset(4)
    straight = run(recipe(), out=tmp_path / "straight", dataset=data)

    def stop(record: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="1 whole epochs are saved"):
        run(recipe(), out=tmp_path / "parts", dataset=data, listeners=[OnEpoch(stop)])
    assert not (tmp_path / "parts" / "result.json").exists()
    resumed = run(recipe(), out=tmp_path / "parts", dataset=data, resume=True)
    assert numbers(straight) == numbers(resumed)
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        run(recipe("gsat"), out=tmp_path / "parts", dataset=data, resume=True)


def test_the_dataset_is_loaded_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def load(name: str, **options: Any) -> Dataset:
        seen.append((name, options))
        return tiny.dataset(2)

    monkeypatch.setattr(data_of_runs, "load_dataset", load)
    wanted = recipe(data={"name": "spmotif", "options": {"bias": 0.9}})
    run(wanted)
    assert seen == [("spmotif", {"bias": 0.9})]


def test_an_empty_split_is_refused_before_training() -> None:
    data = tiny.dataset(4)
    none = data.train[torch.zeros(0, dtype=torch.long)]
    empty = replace(data, splits=data.splits | {"test": none})
    epochs: list[Any] = []
    with pytest.raises(ValueError, match=r"the test split of .* has no graphs; expected some"):
        run(recipe(), dataset=empty, listeners=[OnEpoch(epochs.append)])
    assert epochs == []


def test_categorical_features_are_embedded() -> None:
    graphs = replace(
        tiny.motifs(2),
        x=torch.randint(0, 3, (tiny.motifs(2).x.size(0), 2)),
        edge_attr=torch.zeros(tiny.motifs(2).edge_index.size(1), 1, dtype=torch.long),
    )
    splits = {"train": graphs, "val": graphs, "test": graphs}
    data = Dataset("molecules", tiny.CLASSES, splits, node_sizes=(3, 3), edge_sizes=(1,))
    method = make_method(recipe(), data)
    assert method(tiny.whole(graphs)).logits.shape == (6, 3)


def test_a_folder_without_git_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "run.py"))
    assert provenance.commit() == ""


def test_the_commit_says_whether_the_source_has_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src" / "gsina"
    (package / "runs").mkdir(parents=True)
    here = package / "runs" / "run.py"
    for path in (here, package / "ops.py"):
        path.write_text("")

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        call = ["git", *identity, *arguments]
        return subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    monkeypatch.setattr(provenance, "__file__", str(here))
    git("init", "-q")
    assert provenance.commit() == ""  # in a checkout, but not part of it
    git("add", ".")
    git("commit", "-q", "-m", "one")
    head = git("rev-parse", "HEAD").strip()
    assert provenance.commit() == head
    (package / "ops.py").write_text("changed")
    assert provenance.commit() == head + "+"
    assert provenance.short_commit(head + "+") == head[:10] + "+"


def test_a_result_names_every_session_that_trained(tmp_path: Path) -> None:
    data = tiny.dataset(2)
    first = recipe("erm", optimiser={"epochs": 1})
    run(first, out=tmp_path, dataset=data)
    longer = recipe("erm", optimiser={"epochs": 2})
    result = run(longer, out=tmp_path, dataset=data, resume=True).result
    assert len(result["sessions"]) == 1  # the same versions, commit and threads
    assert result["commit"] == result["sessions"][0]["commit"]


def test_going_on_with_other_threads_says_so(tmp_path: Path) -> None:
    data = tiny.dataset(4)
    run(recipe(), 0, dataset=data, out=tmp_path, report=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        run(recipe(), 0, dataset=data, out=tmp_path, resume=True, report=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        with pytest.warns(Note, match=f"threads {threads}, now {threads + 1}"):
            run(recipe(), 0, dataset=data, out=tmp_path, resume=True, report=False)
    finally:
        torch.set_num_threads(threads)
