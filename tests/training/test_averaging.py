"""The running average of the weights: what it is, and that runs keep and resume it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tiny
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection, seed_everything
from gsina.training.averaging import Average
from gsina.training.checkpoint import copy_weights
from gsina.training.evaluate import predict, score

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
DATA = tiny.dataset(6)


def test_the_average_follows_by_its_factor() -> None:
    trained = build_method("erm", SPEC, tiny.CLASSES, {})
    start = copy_weights(trained)
    average = Average(trained, 0.75)
    with torch.no_grad():
        for value in trained.parameters():
            value.add_(1.0)
    average.update(trained)
    for name, value in average.method.named_parameters():
        torch.testing.assert_close(value, start[name] + 0.25)
    counters = [name for name in start if name.endswith("num_batches_tracked")]
    assert counters
    trained.get_buffer(counters[0]).fill_(7)
    average.update(trained)
    assert int(average.method.get_buffer(counters[0])) == 7


def test_the_average_is_what_is_validated_and_kept() -> None:
    seed_everything(0)
    trained = build_method("gsina", SPEC, tiny.CLASSES, {})
    settings = Settings(epochs=3, batch_size=4, learning_rate=0.01, average=0.9)
    progress = fit(trained, DATA, settings, make_selection("latest-best"))
    kept = score(predict(trained, DATA.val, 4), DATA.val, DATA.task)
    assert kept["loss"] == pytest.approx(progress.history[progress.best_epoch]["val"]["loss"])
    seed_everything(0)
    plain = build_method("gsina", SPEC, tiny.CLASSES, {})
    without = Settings(epochs=3, batch_size=4, learning_rate=0.01)
    other = fit(plain, DATA, without, make_selection("latest-best"))
    # The steps are the same, what is validated is not.
    assert other.history[2]["train"] == progress.history[2]["train"]
    assert other.history[2]["val"]["loss"] != progress.history[2]["val"]["loss"]


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    found = []
    for stops in ((4,), (2, 4)):
        out = tmp_path / str(len(stops))
        for number, epochs in enumerate(stops):
            seed_everything(0)
            trained = build_method("gsina", SPEC, tiny.CLASSES, {})
            settings = Settings(epochs=epochs, batch_size=4, learning_rate=0.01, average=0.9)
            rule = make_selection("latest-best")
            progress = fit(trained, DATA, settings, rule, out=out, resume=number > 0)
        found.append((copy_weights(trained), [one["val"] for one in progress.history]))
    (straight, first), (resumed, second) = found
    assert first == second
    for name, value in straight.items():
        assert torch.equal(value, resumed[name]), name
