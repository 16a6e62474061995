"""The loop: selection, stopping, and everything that can go wrong on the way."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import (
    Diverged,
    Interrupted,
    Progress,
    Settings,
    fit,
    loop,
    make_selection,
    seed_everything,
)

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
LATEST = make_selection("latest-best")


def fresh(name: str = "gsina", task: Task = tiny.CLASSES, **options: Any) -> Method:
    seed_everything(0)
    return build_method(name, SPEC, task, options)


def settings(epochs: int = 4, **options: Any) -> Settings:
    return Settings(**{"epochs": epochs, "batch_size": 8, "learning_rate": 0.01, **options})


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace the validation results by a script of metrics, with the loss 1."""

    def script(values: list[float]) -> None:
        results = iter(values)
        monkeypatch.setattr(loop, "score", lambda *_: {"accuracy": next(results), "loss": 1.0})

    return script


def run(values: list[float], rule: str = "latest-best", **options: Any) -> Progress:
    patience, first_epoch = options.pop("patience", None), options.pop("first_epoch", 0)
    selection = make_selection(rule, patience, first_epoch)
    return fit(fresh("erm"), tiny.dataset(2), settings(len(values), **options), selection)


def test_patience_stops(scripted: Callable[..., None]) -> None:
    values = [0.1, 0.5, 0.4, 0.4, 0.4, 0.9]
    scripted(values)
    progress = run(values, patience=3)
    assert (progress.epoch, progress.best_epoch) == (5, 1)
    assert [record["best"] for record in progress.history] == [True, True, False, False, False]


def test_a_tie_is_news_to_one_rule_only(scripted: Callable[..., None]) -> None:
    values = [0.5, 0.5, 0.5, 0.5]
    scripted(values)
    assert run(values, patience=2).best_epoch == 3
    scripted(values)
    progress = run(values, "strict-best", patience=2)
    assert (progress.epoch, progress.best_epoch) == (3, 0)


def test_waiting_starts_with_the_first_eligible_epoch(scripted: Callable[..., None]) -> None:
    values = [0.9, 0.9, 0.9, 0.2, 0.1, 0.1, 0.1]
    scripted(values)
    progress = run(values, patience=2, first_epoch=3)
    assert (progress.epoch, progress.best_epoch) == (6, 3)


def test_without_an_eligible_epoch_the_last_weights_stay(scripted: Callable[..., None]) -> None:
    scripted([math.nan, math.nan])
    progress = run([math.nan, math.nan])
    assert (progress.epoch, progress.best_epoch, progress.best) == (2, -1, None)


def test_the_learning_rate_falls_on_a_plateau(scripted: Callable[..., None]) -> None:
    """As torch's scheduler: after more than `plateau_patience` epochs, and then again."""
    values = [0.5, *[0.1] * 6, 0.6, *[0.1] * 3, 0.0]
    scripted(values)
    progress = run(values, plateau_patience=2)
    rates = [record["learning_rate"] / 0.01 for record in progress.history]
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, "max", factor=0.5, patience=2, threshold=0
    )
    expected = []
    for value in values:
        expected.append(optimiser.param_groups[0]["lr"])
        scheduler.step(value)
    assert rates == pytest.approx(expected)
    assert min(rates) == pytest.approx(1 / 8)


def test_the_model_ends_with_the_selected_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    method, kept = fresh(), []
    results = iter([0.2, 0.8, 0.5, 0.5])
    monkeypatch.setattr(loop, "score", lambda *_: {"accuracy": next(results), "loss": 1.0})

    def keep(record: dict[str, Any]) -> None:
        kept.append({name: value.clone() for name, value in method.state_dict().items()})

    progress = fit(
        method, tiny.dataset(2), settings(), LATEST, listeners=[tiny.Heard(on_epoch=keep)]
    )
    assert progress.best_epoch == 1
    for name, value in method.state_dict().items():
        assert torch.equal(value, kept[1][name])
    assert not torch.equal(kept[1]["predictor.head.weight"], kept[3]["predictor.head.weight"])


def test_a_smaller_rmse_is_better() -> None:
    task = Task("regression", 1, "rmse")
    graphs = replace(tiny.motifs(4), y=torch.linspace(0, 1, 12).view(-1, 1))
    data = Dataset("numbers", task, {"train": graphs, "val": graphs})
    progress = fit(fresh("erm", task), data, settings(6, learning_rate=0.003), LATEST)
    errors = [record["val"]["rmse"] for record in progress.history]
    assert progress.best_epoch == errors.index(min(errors))


class NoTest(dict[str, PackedGraphs]):
    """Splits that must not be looked at beyond train and val."""

    def __getitem__(self, name: str) -> PackedGraphs:
        assert name in ("train", "val"), f"training looked at {name}"
        return super().__getitem__(name)

    def values(self) -> Any:
        raise AssertionError("training looked at all splits")

    items = values


def test_fit_never_looks_at_test_data(tmp_path: Path) -> None:
    hidden = tiny.dataset(2)
    object.__setattr__(hidden, "splits", NoTest(hidden.splits))  # it is frozen, and was checked
    fit(fresh(), hidden, settings(2), LATEST, out=tmp_path)
    fit(fresh(), hidden, settings(3), LATEST, out=tmp_path, resume=True)
    with pytest.raises(AssertionError, match="looked at test"):
        _ = hidden.test


def test_the_log_and_the_callbacks(tmp_path: Path) -> None:
    batches, records = [], []
    data = tiny.dataset(4)  # 12 graphs: two batches
    one_class = replace(tiny.motifs(2), y=torch.zeros(6, dtype=torch.long))
    data = replace(
        data, task=Task("multiclass", 3, "mcc"), splits={**data.splits, "val": one_class}
    )
    progress = fit(
        fresh(),
        data,
        settings(2),
        LATEST,
        out=tmp_path,
        listeners=[tiny.Heard(lambda *done: batches.append(done), records.append)],
    )
    assert batches == [(1, 2), (2, 2)] * 2
    assert records == progress.history
    text = (tmp_path / "log.jsonl").read_text()
    lines = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]  # as on the screen
    assert lines[0]["val"]["mcc"] is None  # not NaN, which is no JSON
    assert lines[0]["train"]["prediction"] == records[0]["train"]["prediction"]
    assert {"learning_rate", "seconds", "seconds_validation", "best"} <= lines[0].keys()


def test_a_diverging_run_names_the_step() -> None:
    with pytest.raises(
        Diverged,
        match=r"epoch \d+, step \d+: the prediction loss is (nan|inf); .*"
        "lower the learning rate",
    ):
        fit(fresh("erm"), tiny.dataset(4), settings(5, learning_rate=1e18), LATEST)


def spoil(graphs: PackedGraphs, field: str, value: float) -> PackedGraphs:
    tensor = getattr(graphs, field).clone()
    tensor[len(tensor) // 2] = value
    return replace(graphs, **{field: tensor})


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("x", math.nan, "node features"), ("edge_attr", math.inf, "edge features")],
)
def test_features_that_are_no_numbers_are_named(field: str, value: float, named: str) -> None:
    data = tiny.dataset(4, train=spoil(tiny.motifs(4), field, value))
    with pytest.raises(Diverged, match=rf"epoch 1, step \d: .*the {named} hold NaN or infinite"):
        fit(fresh(), data, settings(), LATEST)
    data = tiny.dataset(4, val=spoil(tiny.motifs(4), field, value))
    with pytest.raises(Diverged, match=f"validation outputs are finite; the {named} hold NaN"):
        fit(fresh(), data, settings(), LATEST)


def test_infinite_labels_are_named() -> None:
    task = Task("regression", 1, "rmse")
    graphs = replace(tiny.motifs(4), y=torch.full((12, 1), math.inf))
    data = Dataset("numbers", task, {"train": graphs, "val": graphs})
    with pytest.raises(Diverged, match="the labels hold infinite values"):
        fit(fresh("erm", task), data, settings(), LATEST)


def test_splits_without_graphs_are_named() -> None:
    nothing = tiny.motifs(1)[[]]
    full = tiny.dataset(2)
    for split in ("train", "val"):
        with pytest.raises(ValueError, match=f"the {split} split of spmotif has no graphs"):
            replace(full, splits={**full.splits, split: nothing})


def stop_in(epoch: int) -> tiny.Heard:
    """Ctrl-C in the second batch of an epoch."""
    count = iter(range(10_000))

    def on_batch(done: int, total: int) -> None:
        if next(count) == epoch * total + 1:
            raise KeyboardInterrupt

    return tiny.Heard(on_batch)


@pytest.mark.parametrize(
    ("epoch", "message"),
    [(0, "in the first epoch; nothing to resume"), (2, "in epoch 3; 2 whole epochs are saved in")],
)
def test_ctrl_c_says_what_is_safe(epoch: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=message):
        fit(fresh(), tiny.dataset(4), settings(), LATEST, out=tmp_path, listeners=[stop_in(epoch)])
    assert (tmp_path / "checkpoint.safetensors").exists() == (epoch > 0)
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]
    with pytest.raises(Interrupted, match="nothing was saved because no folder was given"):
        fit(fresh(), tiny.dataset(4), settings(), LATEST, listeners=[stop_in(epoch)])


def test_ctrl_c_during_a_save_keeps_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = loop.save_checkpoint, []

    def save(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr(loop, "save_checkpoint", save)
    with pytest.raises(Interrupted, match="2 whole epochs are saved"):
        fit(fresh(), tiny.dataset(2), settings(), LATEST, out=tmp_path)
    monkeypatch.undo()
    progress = fit(fresh(), tiny.dataset(2), settings(), LATEST, out=tmp_path, resume=True)
    assert [record["epoch"] for record in progress.history] == [0, 1, 2, 3]


def test_bf16_steps_leave_the_weights_in_float32() -> None:
    trained = {}
    for precision in ("float32", "bf16"):
        method = fresh(noise=0.0)
        progress = fit(method, tiny.dataset(2), settings(2, precision=precision), LATEST)
        assert math.isfinite(progress.history[-1]["train"]["prediction"])
        trained[precision] = torch.cat([value.flatten() for value in method.parameters()])
    assert trained["bf16"].dtype == torch.float32
    assert not torch.equal(trained["bf16"], trained["float32"])
    torch.testing.assert_close(trained["bf16"], trained["float32"], rtol=0.5, atol=0.1)
    with pytest.raises(ValueError, match="precision"):
        fit(fresh(), tiny.dataset(2), settings(1, precision="float16"), LATEST)


def test_graphs_are_drawn_by_their_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch has as many graphs as ever, and those without a chance are never drawn."""
    data = tiny.dataset(6)
    chances = torch.zeros(len(data.train))
    chances[: len(chances) // 2] = 1.0
    method, seen = fresh("erm"), list[float]()
    loss = method.loss

    def spy(batch: Any, epoch: int = 0) -> Any:
        first = batch.node_graph.unique(return_counts=True)[1].cumsum(0)
        seen.extend(batch.x[first - 1, 0].tolist())
        return loss(batch, epoch)

    monkeypatch.setattr(method, "loss", spy)
    fit(method, data, Settings(epochs=2, batch_size=4), LATEST, chances=chances)
    last = data.train.x[data.train.node_ptr[1:] - 1, 0].tolist()
    assert len(seen) == 2 * len(data.train)
    assert {*seen} <= {*last[: len(last) // 2]}
    assert len({*seen}) > 1
