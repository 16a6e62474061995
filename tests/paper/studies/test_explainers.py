"""Post-hoc runs: a whole result file, from a fresh model or from a folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiny
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.paper.studies import explainers
from gsina.paper.studies.explainers import run_posthoc
from gsina.runs import trained
from gsina.runs.recipe import Recipe
from gsina.runs.run import run

QUICK = GNNExplainer(steps=3)


def recipe(method: str = "erm", **optimiser: Any) -> Recipe:
    return Recipe.parse(
        {
            "data": {"name": "spmotif"},
            "method": {"name": method},
            "backbone": {"options": {"hidden_channels": 8}},
            "optimiser": {"epochs": 1, **optimiser},
        }
    )


def test_result_has_the_fields_of_a_result_file_and_more() -> None:
    data = tiny.dataset(2)
    plain = run(recipe(), 1, dataset=data).result
    seen: list[tuple[int, int]] = []
    found = run_posthoc(
        recipe(), 1, QUICK, 4, dataset=data, progress=lambda *step: seen.append(step)
    )
    assert plain.keys() < found.keys()
    assert found.keys() - plain.keys() == {
        "explainer",
        "explainer_settings",
        "graphs_explained",
        "graphs_in_split",
        "seconds_explaining",
        "model",
    }
    assert found["explainer"] == "gnnexplainer"
    assert found["explainer_settings"]["steps"] == 3
    assert (found["graphs_explained"], found["graphs_in_split"]) == (4, 6)
    assert found["metrics"]["val"] == plain["metrics"]["val"]
    test = found["metrics"]["test"]
    assert plain["metrics"]["test"].items() <= test.items()
    assert all(0 <= test[name] <= 1 for name in explainers.ADDED)
    assert seen == [(1, 1)]  # one batch
    json.dumps(found, allow_nan=False)


def test_model_in_a_folder_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.dataset(2)
    first = run_posthoc(recipe(), 0, QUICK, folder=tmp_path, dataset=data)
    assert (tmp_path / "model" / "model.safetensors").exists()

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was trained again")

    monkeypatch.setattr(trained, "run", never)
    second = run_posthoc(recipe(), 0, QUICK, folder=tmp_path, dataset=data)
    assert second["metrics"] == first["metrics"]
    assert second["model"] == {name: first["model"][name] for name in ("commit", "finished")}
    for other in ((recipe(), 1), (recipe(learning_rate=0.1), 0)):
        with pytest.raises(ValueError, match="another recipe or seed"):
            run_posthoc(*other, QUICK, folder=tmp_path, dataset=data)


def test_broken_result_in_the_folder_is_made_again(tmp_path: Path) -> None:
    data = tiny.dataset(2)
    first = run_posthoc(recipe(), 0, QUICK, folder=tmp_path, dataset=data)
    (tmp_path / "result.json").write_text('{"recipe": ', encoding="utf-8")
    again = run_posthoc(recipe(), 0, QUICK, folder=tmp_path, dataset=data)
    assert again["metrics"] == first["metrics"]


def test_what_cannot_be_run_is_said_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained, "run", None)
    data = tiny.dataset(2)
    with pytest.raises(ValueError, match="a model of the method erm, got 'gsina'"):
        run_posthoc(recipe("gsina"), 0, QUICK, dataset=data)
    with pytest.raises(ValueError, match="unknown explainer 'graphmsk'; did you mean 'graphmask'"):
        run_posthoc(recipe(), 0, "graphmsk", dataset=data)
    with pytest.raises(ValueError, match="limit must be at least 1"):
        run_posthoc(recipe(), 0, QUICK, 0, dataset=data)
    bare = tiny.dataset(2, test=replace(data.test, edge_truth=None))
    with pytest.raises(ValueError, match="no true explanations of edges"):
        run_posthoc(recipe(), 0, QUICK, dataset=bare)
