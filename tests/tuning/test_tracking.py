"""Trackers hear of every trial of a search as of a run of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gsina.listeners.trackers as trackers
from conftest import Invoke
from gsina.errors import InputError
from gsina.listeners import Beginning, Listener, Stopped, told
from gsina.listeners.trackers import Entry
from gsina.tuning.tracking import TrackedTrial, Tracking

SMALL = ("tune", "spmotif", "--data-option", "num_per_class=3", "--epochs", 2, "--batch-size", 8)


class Book:
    """A tracker that writes down what it is told."""

    told: list[tuple[Any, ...]] = []  # noqa: RUF012
    refuses = False

    def begin(self, run: Beginning, key: str | None) -> str:
        if self.refuses:
            raise ConnectionError("the line is dead")
        self.told.append(("begin", run.folder, run.settings))
        return "key"

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        self.told.append(("log", numbers, epoch))

    def end(self, scores: dict[str, float], state: str) -> None:
        self.told.append(("end", scores, state))


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> type[Book]:
    monkeypatch.setitem(trackers.TRACKERS, "json", Entry("Book", f"{__name__}:Book"))
    monkeypatch.setattr(trackers, "resolve_name", lambda name: Book)
    monkeypatch.setattr(Book, "told", [])
    return Book


def test_every_trial_is_a_run(gsina: Invoke, book: type[Book], tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    done = gsina(*SMALL, "--trials", 2, "--out", "search", "--track", "json", "--track", "json")
    assert done.exit_code == 0, done.output
    assert [what for what, *_ in book.told] == ["begin", "log", "log", "end"] * 2
    begins = [one for one in book.told if one[0] == "begin"]
    assert [one[1].name for one in begins] == ["search-trial-0", "search-trial-1"]
    rates = {one[2]["optimiser.learning_rate"] for one in begins}
    assert len(rates) == 2  # its own settings
    ends = [one for one in book.told if one[0] == "end"]
    assert [one[2] for one in ends] == ["finished", "finished"]
    assert all("final/test/accuracy" not in one[1] for one in ends)  # a search sees no test data
    # What is done is not told again.
    book.told.clear()
    assert gsina(*SMALL, "--trials", 2, "--out", "search", "--track", "json").exit_code == 0
    assert not book.told


def test_tensorboard_finds_the_trials_below_the_search(gsina: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("tensorboard")
    done = gsina(*SMALL, "--trials", 1, "--out", "search", "--track", "tensorboard")
    assert done.exit_code == 0, done.output
    assert list(tmp_path.glob("search/trials/search-trial-0/tensorboard/events.*"))


def test_a_tracker_that_is_not_there_or_refuses(
    gsina: Invoke, book: type[Book], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    failed = gsina(*SMALL, "--trials", 1, "--out", "search", "--track", "tensorbord")
    assert failed.exit_code == 2
    assert "did you mean 'tensorboard'?" in failed.stderr
    assert not (tmp_path / "search").exists()
    monkeypatch.setattr(book, "refuses", True)
    failed = gsina(*SMALL, "--trials", 1, "--out", "search", "--track", "json")
    assert failed.exit_code == 2
    assert failed.stderr.count("\n") == 1
    assert "Book cannot be used (ConnectionError: the line is dead); mend that" in failed.stderr


def test_a_trial_that_is_stopped_early_is_no_failure(tmp_path: Path, book: type[Book]) -> None:
    trial = TrackedTrial(trackers.make_tracker("json"), tmp_path / "one")
    with pytest.raises(Stopped), told([trial], Beginning("gsina", "data", 3, "accuracy")):
        raise Stopped
    assert book.told[-1] == ("end", {}, "interrupted")


def test_names_of_studies_are_no_paths(tmp_path: Path, book: type[Book]) -> None:
    one: Listener
    (one,) = Tracking(("json",), tmp_path, "../a b/c").listeners(7)
    assert isinstance(one, TrackedTrial)
    assert one.folder == tmp_path / "trials" / "..-a-b-c-trial-7"
    with pytest.raises(InputError):
        list(Tracking(("nobody",), tmp_path, "s").listeners(0))
