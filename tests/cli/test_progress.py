from __future__ import annotations

import io

import pytest
from rich.console import Console

from gsina.cli import show
from gsina.cli.progress import Count, Epochs, load_with_bar
from gsina.datasets.catalog import DATASETS, DatasetEntry
from gsina.listeners import Beginning, progress, told
from gsina.metrics import metric_text
from gsina.runs.data import NamedData


def record(epoch: int, accuracy: float, best: bool) -> dict:
    return {
        "epoch": epoch,
        "train": {"prediction": 0.5, "information": 0.25},
        "val": {"accuracy": accuracy, "loss": 1.0},
        "best": best,
        "seconds": 1.0,
        "seconds_validation": 0.5,
    }


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def output_of(monkeypatch, terminal: bool, play) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80, color_system=None)
    monkeypatch.setattr(show, "console", console)
    play()
    return file.getvalue()


def test_one_plain_line_per_epoch_without_a_terminal(monkeypatch, clock):
    def play() -> None:
        bar = Epochs()
        with told([bar], Beginning("gsina", "spmotif", 4, "accuracy")):
            bar.on_trial("", 0)
            bar.on_batch(1, 2)
            clock[0] = 10.0
            bar.on_epoch(record(0, 0.5, True))
            clock[0] = 20.0
            bar.on_epoch(record(1, 0.25, False))

    assert output_of(monkeypatch, False, play).splitlines() == [
        "gsina 1/4  loss 0.750  val 50.0 %  best 50.0 %  ≤ 0:30 left  1.5 s per epoch",
        "gsina 2/4  loss 0.750  val 25.0 %  best 50.0 %  ≤ 0:20 left  1.5 s per epoch",
        "gsina stopped after 2 epochs: no further improvement",
    ]


def test_a_live_bar_on_a_terminal(monkeypatch, clock):
    def play() -> None:
        bar = Epochs()
        with told([bar], Beginning("gsina", "spmotif", 100, "accuracy")):
            bar.on_trial("", 2, 0.6)
            bar.on_batch(1, 2)
            clock[0] = 60.0
            bar.on_epoch(record(2, 0.7, True))

    shown = output_of(monkeypatch, True, play)
    last = [line for line in shown.splitlines() if "loss" in line][-1]
    # One epoch of this session took a minute, whatever happened before it.
    assert "3/100  loss 0.750  val 70.0 %  best 70.0 %  ≤ 1:37:00 left" in last
    assert len(last.rpartition("\x1b[2K")[2]) <= 80


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (200, "3:20"), (7500, "2:05:00")])
def test_times(seconds, text):
    assert progress.clock(seconds) == text


def test_numbers():
    assert metric_text(0.123, "accuracy") == "12.3 %"
    assert metric_text(0.123, "rmse") == "0.123"
    assert metric_text(None, "accuracy") == metric_text(float("nan"), "rmse") == "-"


def test_the_first_preparation_shows_how_far_it_is(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(show, "console", screen)
    told = []

    def load(*, size: int, progress=None):
        progress(3, size)
        told.append(size)
        return "the data"

    entry = DatasetEntry("made-up", load, "", "", "accuracy", "none", lambda: True)
    monkeypatch.setitem(DATASETS, "made-up", entry)
    assert load_with_bar(NamedData(name="made-up", options={"size": 7})) == "the data"
    assert told == [7]
    assert "preparing made-up" in screen.file.getvalue()
    assert "3 of 7" in screen.file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_rows_are_told_now_and_then_where_there_is_no_terminal(monkeypatch, clock, terminal):
    def play() -> None:
        with Count("preparing bace") as count:
            for clock[0], done in ((1.0, 100), (21.0, 200), (30.0, 300), (50.0, 400)):
                count.update(done, 1513)
            clock[0] = 80.0
            count.update(500)

    lines = ["preparing bace: 200 of 1,513", "preparing bace: 400 of 1,513", "preparing bace: 500"]
    said = output_of(monkeypatch, terminal, play)
    assert all(line in said for line in lines) is not terminal
    assert "100 of" not in said or terminal
