"""Baselines beside a run: trained when asked for, kept, and not trained again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tiny
from gsina.listeners import Listener
from gsina.models.folder import load_model
from gsina.runs import baselines
from gsina.runs.baselines import erm_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.run import run


def recipe(method: str = "gsina", **optimiser: Any) -> Recipe:
    return Recipe.parse(
        {
            "data": {"name": "spmotif"},
            "method": {"name": method},
            "backbone": {"options": {"hidden_channels": 8}},
            "optimiser": {"epochs": 2, "batch_size": 8, "learning_rate": 0.01, **optimiser},
        }
    )


class Heard(Listener):
    def __init__(self) -> None:
        self.trials: list[str] = []
        self.epochs = 0

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        self.trials.append(name)

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.epochs += 1


def test_only_where_asked_for() -> None:
    data = tiny.dataset(4)
    assert run(recipe(), dataset=data).result["baselines"] == {}
    assert run(recipe("erm"), dataset=data, baselines=True).result["baselines"] == {}


def test_erm_is_trained_once_and_goes_on_with_the_run(tmp_path: Path) -> None:
    data, first = tiny.dataset(4), Heard()
    options: dict[str, Any] = {"out": tmp_path, "dataset": data, "baselines": True}
    done = run(recipe(), 1, **options, listeners=[first])
    assert first.trials == ["", "baseline ERM"]
    assert first.epochs == 4
    plain = run(recipe("erm"), 1, dataset=data)
    assert done.result["baselines"]["metrics"]["erm"] == plain.result["metrics"]
    assert done.result["metrics"] == run(recipe(), 1, dataset=data).result["metrics"]
    kept = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert kept["baselines"]["verdict"] == done.result["baselines"]["verdict"]
    assert load_model(tmp_path).baselines == kept["baselines"]
    for page in ("model/README.md", "report.html"):
        assert "Equal on validation data: " in (tmp_path / page).read_text(encoding="utf-8")

    again = Heard()
    resumed = run(recipe(), 1, **options, resume=True, listeners=[again])
    assert again.epochs == 0
    assert resumed.result["baselines"] == done.result["baselines"]
    longer = Heard()
    run(recipe(epochs=3), 1, **options, resume=True, listeners=[longer])
    assert longer.epochs == 2  # one more of each: the budget stays the same


def test_the_forest_is_grown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.dataset(4)
    calls = []

    def grow(dataset: Any, **options: Any) -> Any:
        calls.append(options)
        return {
            split: part.y.unsqueeze(1).repeat(1, 3).float() for split, part in data.splits.items()
        }

    monkeypatch.setattr(baselines, "forest_logits", grow)
    monkeypatch.setattr(baselines, "has_molecules", lambda dataset: True)
    options: dict[str, Any] = {"out": tmp_path, "dataset": data, "baselines": True}
    done = run(recipe("erm", class_weight="balanced"), **options)
    again = run(recipe("erm", class_weight="balanced"), **options, resume=True)
    assert len(calls) == 1
    assert calls[0]["class_weight"] == "balanced"
    assert again.result["baselines"] == done.result["baselines"]
    (tmp_path / "baselines" / "forest.safetensors").write_bytes(b"broken")
    run(recipe("erm", class_weight="balanced"), **options, resume=True)
    assert len(calls) == 2


def test_a_forest_that_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "has_molecules", lambda dataset: True)
    monkeypatch.setattr(baselines, "MOST_LABELS", 3)
    found = run(recipe("erm"), dataset=tiny.dataset(4), baselines=True).result["baselines"]
    assert found["left_out"].startswith("no random forest was trained: 12 training labels")


def test_erm_beside_a_recipe() -> None:
    asked = Recipe.parse(
        recipe(resample="shortcuts").model_dump()
        | {"auto_ratio": True, "selection": {"patience": 3}}
    )
    plain = erm_recipe(asked)
    assert (plain.method.name, plain.auto_ratio, plain.optimiser.resample) == ("erm", False, None)
    assert (plain.backbone, plain.selection) == (asked.backbone, asked.selection)
    assert plain.optimiser.epochs == asked.optimiser.epochs
