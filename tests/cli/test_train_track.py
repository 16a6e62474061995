"""``gsina train --track``: the run is told, and nothing that a tracker does can cost it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gsina.listeners.trackers as trackers
from cli.runs import SMALL, assert_same_run
from conftest import Invoke
from gsina.listeners import Beginning
from gsina.listeners.trackers import Entry


class Book:
    """A tracker that writes down what it is told; it fails where a test says so."""

    told: list[tuple[Any, ...]] = []  # noqa: RUF012
    fails_at = 0

    def begin(self, run: Beginning, key: str | None) -> str:
        self.told.append(("begin", run, key))
        return key or "key"

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        if epoch == self.fails_at:
            raise ConnectionError("the line is dead")
        self.told.append(("log", numbers, epoch))

    def end(self, scores: dict[str, float], state: str) -> None:
        self.told.append(("end", scores, state))


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> type[Book]:
    monkeypatch.setitem(trackers.TRACKERS, "json", Entry("Book", f"{__name__}:Book"))
    monkeypatch.setattr(trackers, "resolve_name", lambda name: Book)
    monkeypatch.setattr(Book, "told", [])
    return Book


def test_a_tracked_run_is_the_same_run(gsina: Invoke, book: type[Book], tmp_path: Path) -> None:
    for out, track in (("plain", ()), ("tracked", ("--track", "json"))):
        assert gsina(*SMALL, "--epochs", 2, "--out", out, *track).exit_code == 0
    assert_same_run(tmp_path / "plain", tmp_path / "tracked")
    begin, first, second, end = book.told
    settings = begin[1].settings
    assert (settings["data.name"], settings["method.name"]) == ("spmotif", "gsina")
    assert settings["seed"] == 0
    assert [first[2], second[2]] == [1, 2]
    result = json.loads((tmp_path / "tracked" / "result.json").read_text())
    assert end[1]["final/test/accuracy"] == result["metrics"]["test"]["accuracy"]
    assert end[2] == "finished"
    # A resumed run is tracked on without being asked, under the same key.
    book.told.clear()
    done = gsina("train", "--out", "tracked", "--resume", "--epochs", 3)
    assert done.exit_code == 0, done.output
    assert (book.told[0][2], book.told[1][2]) == ("key", 3)


def test_a_tracker_that_fails_in_the_middle(
    gsina: Invoke, book: type[Book], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "fails_at", 1)
    done = gsina(*SMALL, "--epochs", 2, "--out", "run", "--track", "json")
    assert done.exit_code == 0
    assert "note: Book failed (ConnectionError: the line is dead), so this run" in done.output
    assert (tmp_path / "run" / "result.json").exists()
    assert [what for what, *_ in book.told] == ["begin"]


def test_trackers_that_are_not_there(
    gsina: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = gsina(*SMALL, "--out", "run", "--track", "tensorbord")
    assert failed.exit_code == 2
    assert "did you mean 'tensorboard'?" in failed.stderr
    monkeypatch.setattr(trackers, "is_installed", lambda name: False)
    failed = gsina(*SMALL, "--out", "run", "--track", "wandb")
    assert failed.exit_code == 2
    assert 'pip install "gsina[wandb]"' in failed.stderr
    assert not (tmp_path / "run").exists()
    failed = gsina("train", "spmotif", "--show-recipe", "--track", "wandb")
    assert failed.exit_code == 2
