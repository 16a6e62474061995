"""Results in notebooks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gsina.runs.display import result_html
from html_texts import texts

RESULT: dict[str, Any] = {
    "recipe": {
        "data": {"format": "molecules", "files": ["<mine>.csv"]},
        "method": {"name": "gsina"},
        "backbone": {"name": "gin"},
    },
    "seed": 3,
    "epochs": 7,
    "best_epoch": 4,
    "selection": "strict-best",
    "metric": "accuracy",
    "metrics": {"val": {"accuracy": 0.75, "loss": 1.0}, "test": {"accuracy": 0.5, "loss": 2.0}},
    "shifted": True,
    "notes": ["one row was not read"],
    "baselines": {},
}


def shown(result: dict[str, Any]) -> list[str]:
    return texts(SimpleNamespace(_repr_html_=lambda: result_html(result)))


def test_a_result_shows_what_was_trained_and_its_scores() -> None:
    found = shown(RESULT)
    assert found[0] == "gsina"
    assert " on <mine>.csv" in found
    assert "7; epoch 5 was kept, by validation data (strict-best)" in found
    assert {"OOD test", "50.0 %", "75.0 %", "one row was not read", "3"} <= set(found)
    assert "test" in shown(RESULT | {"shifted": False})
    assert any("the last was kept" in one for one in shown(RESULT | {"best_epoch": -1}))


def test_baselines_stand_beside_it() -> None:
    baselines = {
        "metrics": {"erm": {"val": {"accuracy": 0.5}, "test": {"accuracy": 0.25}}},
        "verdict": "better than ERM.",
    }
    found = shown(RESULT | {"baselines": baselines})
    assert {"ERM", "25.0 %", "better than ERM."} <= set(found)


def test_a_run_of_another_process() -> None:
    assert shown({}) == ["a run whose result another process has"]
