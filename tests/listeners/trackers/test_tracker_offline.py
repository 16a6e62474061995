"""The trackers themselves, where they are installed, without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gsina.listeners import Beginning, told
from gsina.listeners.trackers import make_tracker
from gsina.listeners.trackers.tracker import read_tracked

pytestmark = pytest.mark.filterwarnings("ignore")


def record(epoch: int) -> dict[str, Any]:
    return {"epoch": epoch, "train": {"loss": 1.0}, "val": {"accuracy": 0.25 * (epoch + 1)}}


def track(name: str, folder: Path, epochs: range, resumed: bool = False) -> str | None:
    """A run of a few epochs; returns its key."""
    tracker = make_tracker(name)
    run = Beginning("gsina", "tiny", 4, "accuracy", {"a": [1, 2], "b": None}, folder, resumed)
    with told([tracker], run) as ending:
        tracker.on_trial("", epochs.start)
        for epoch in epochs:
            tracker.on_epoch(record(epoch))
        ending.metrics = {"test": {"accuracy": 0.5}}
    assert not list(folder.glob(".*"))
    return read_tracked(folder)[name]


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    track("tensorboard", tmp_path, range(2))
    track("tensorboard", tmp_path, range(2, 3), resumed=True)
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    points = [(one.step, round(one.value, 4)) for one in found.Scalars("val/accuracy")]
    assert points == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert {one.value for one in found.Scalars("final/test/accuracy")} == {0.5}


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    key = track("mlflow", tmp_path / "run", range(2))
    assert track("mlflow", tmp_path / "run", range(2, 3), resumed=True) == key
    client = mlflow.MlflowClient()
    points = client.get_metric_history(key, "val/accuracy")
    assert [(one.step, one.value) for one in points] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    run = client.get_run(key)
    assert run.data.params["a"] == "[1, 2]"
    assert run.data.metrics["final/test/accuracy"] == 0.5
    assert (run.info.status, run.info.run_name) == ("FINISHED", "run")


def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    key = track("wandb", tmp_path / "run", range(2))
    assert track("wandb", tmp_path / "run", range(2, 3), resumed=True) == key
    kept = list((tmp_path / "wandb").glob(f"offline-run-*-{key}/run-{key}.wandb"))
    sent = b"".join(file.read_bytes() for file in kept)
    assert b"val/accuracy" in sent
    assert sys.executable.encode() not in sent  # neither the command nor the machine
    assert not list((tmp_path / "wandb").rglob("*.py"))


def test_trackio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    key = track("trackio", tmp_path / "run", range(2))
    assert track("trackio", tmp_path / "run", range(2, 3), resumed=True) == key
    found = [row for row in SQLiteStorage.get_logs("gsina", key) if "val/accuracy" in row]
    assert [(row["step"], row["val/accuracy"]) for row in found] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert capsys.readouterr().out == ""
