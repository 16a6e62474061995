"""Listeners hear of what they want, and of nothing else."""

from __future__ import annotations

from typing import Any

import tiny
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection
from gsina.training.listeners import Listener, OnEpoch


class Batches(Listener):
    """Hears of batches only."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def on_batch(self, done: int, of: int) -> None:
        self.heard.append((done, of))


def test_several_listeners_hear_one_training() -> None:
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
    method = build_method("erm", spec, tiny.CLASSES, {})
    records: list[dict[str, Any]] = []
    batches = Batches()
    settings = Settings(epochs=2, batch_size=4)
    selection = make_selection("latest-best")
    fit(method, tiny.dataset(2), settings, selection, listeners=[batches, OnEpoch(records.append)])
    assert [record["epoch"] for record in records] == [0, 1]
    assert batches.heard
    assert all(1 <= done <= of for done, of in batches.heard)


def test_a_listener_need_not_hear_anything() -> None:
    deaf = Batches()
    deaf.on_trial("ratio 0.3", 0)
    deaf.on_epoch({})
    OnEpoch(lambda record: None).on_batch(1, 2)
    assert deaf.heard == []
