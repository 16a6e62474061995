"""What every tracker is told, when it fails, and when it is not installed."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from gsina.errors import InputError, MissingPackageError, Note
from gsina.listeners import Beginning, OnEpoch, told, trackers
from gsina.listeners.trackers import TRACKERS, as_listeners, check_tracker, make_tracker
from gsina.listeners.trackers.tracker import Tracker, numbers_of, read_tracked, run_name

RECORD = {
    "epoch": 4,
    "train": {"prediction": 0.5, "information": 0.25},
    "val": {"accuracy": 0.75, "roc_auc": float("nan"), "loss": 1.0},
    "learning_rate": 0.001,
    "seconds": 2.0,
    "seconds_validation": 0.5,
    "best": True,
}


class Book:
    """A service that writes down what it is told, and may fail."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.told = fails, list[Any]()

    def note(self, what: str, *rest: Any) -> None:
        if what == self.fails:
            raise ConnectionError("the line\nis dead")
        self.told.append((what, *rest))

    def begin(self, run: Beginning, key: str | None) -> str:
        self.note("begin", run, key)
        return key or "key-1"

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        self.note("log", numbers, epoch)

    def end(self, scores: dict[str, float], state: str) -> None:
        self.note("end", scores, state)


def beginning(folder: Path | None = None, resumed: bool = False) -> Beginning:
    return Beginning("gsina", "tiny", 9, "accuracy", {"seed": 0}, folder, resumed)


def play(book: Book, run: Beginning) -> None:
    tracker = Tracker("book", "Book", book)
    with told([tracker], run) as ending:
        tracker.on_trial("", 0)
        tracker.on_epoch(RECORD)
        tracker.on_trial("baseline ERM, ratio 0.3", 0)
        tracker.on_epoch(RECORD)
        ending.metrics = {"test": {"accuracy": 0.5, "roc_auc": float("nan")}}


def test_numbers_are_flat_and_finite() -> None:
    assert numbers_of(RECORD) == {
        "train/prediction": 0.5,
        "train/information": 0.25,
        "train/loss": 0.75,
        "val/accuracy": 0.75,
        "val/loss": 1.0,
        "learning_rate": 0.001,
        "seconds": 2.0,
    }


def test_a_tracker_hears_of_settings_epochs_and_scores(tmp_path: Path) -> None:
    book = Book()
    play(book, beginning(tmp_path))
    begin, first, second, end = book.told
    assert begin[1].settings == {"seed": 0}
    assert begin[2] is None
    assert first == ("log", numbers_of(RECORD), 5)
    assert second[1]["baseline ERM ratio 0.3/val/accuracy"] == 0.75
    assert end == ("end", {"final/test/accuracy": 0.5}, "finished")
    assert json.loads((tmp_path / "trackers.json").read_text()) == {"book": "key-1"}


def test_a_resumed_run_goes_on_under_its_key(tmp_path: Path) -> None:
    play(Book(), beginning(tmp_path))
    (tmp_path / "trackers.json").write_text('{"book": "key-7", "other": null, "odd": 3}')
    book = Book()
    play(book, beginning(tmp_path, resumed=True))
    assert book.told[0][2] == "key-7"
    assert read_tracked(tmp_path) == {"book": "key-7", "other": None}
    (tmp_path / "trackers.json").write_text("[")
    assert read_tracked(tmp_path) == {}


@pytest.mark.parametrize("when", ["log", "end"])
def test_a_tracker_that_fails_costs_one_note_and_not_the_run(when: str) -> None:
    book = Book(fails=when)
    with pytest.warns(Note, match=r"Book failed \(ConnectionError: the line is dead\)") as notes:
        play(book, beginning())
    assert len(notes) == 1
    assert "end" not in [what for what, *_ in book.told]


def test_a_tracker_that_cannot_start_is_an_error_before_the_training() -> None:
    with pytest.raises(InputError, match=r"Book cannot be used \(ConnectionError"):
        play(Book(fails="begin"), beginning())


@pytest.mark.parametrize("name", TRACKERS)
def test_a_tracker_that_is_not_installed_names_its_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trackers, "is_installed", lambda package: False)
    with pytest.raises(MissingPackageError, match=rf'pip install "gsina\[{name}\]"'):
        check_tracker(name)


def test_an_unknown_tracker() -> None:
    with pytest.raises(InputError, match="did you mean 'tensorboard'"):
        check_tracker("tensorbord")
    with pytest.raises(InputError, match=r"names of trackers .* or Listener objects, got 3"):
        as_listeners([3])  # type: ignore[list-item]


def test_listeners_in_whatever_a_user_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers, "is_installed", lambda package: True)
    mine = OnEpoch(print)
    assert as_listeners(None) == []
    assert as_listeners(mine) == [mine]
    one, other = as_listeners(["wandb", mine])
    assert isinstance(one, Tracker)
    assert other is mine
    (alone,) = as_listeners("mlflow")
    assert isinstance(alone, Tracker)
    assert alone.label == "MLflow"


def test_names_of_runs(tmp_path: Path) -> None:
    assert run_name(beginning(tmp_path / "first")) == "first"
    assert run_name(beginning()) == "tiny-gsina"


# --- each service, with a stand-in for its package that writes down how it is called ---


class Calls:
    """Any object of a package: whatever is called on it is written down."""

    def __init__(self, told: list[Any], called: str = "", /, **fields: Any) -> None:
        self.__dict__.update(fields, _told=told, _called=called)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Calls(self._told, name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        self._told.append((self._called, given, named))
        return Calls(self._told, self._called, id="id-1", name="name-1")


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **fields: Any) -> list[Any]:
    """Put a package into the place of ``name``; returns the list of calls."""
    calls: list[Any] = []
    package: Any = types.ModuleType(name)
    for field, value in fields.items():
        setattr(package, field, value)
    package.__getattr__ = lambda what: Calls(calls, what)
    package.__spec__ = types.SimpleNamespace(origin=name)  # as of one that is installed
    monkeypatch.setitem(sys.modules, name, package)
    return calls


def track(name: str, run: Beginning) -> None:
    tracker = make_tracker(name)
    with told([tracker], run) as ending:
        tracker.on_trial("", 0)
        tracker.on_epoch(RECORD)
        ending.metrics = {"test": {"accuracy": 0.5}}


def test_tensorboard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_in(monkeypatch, "tensorboard")
    calls = stand_in(monkeypatch, "torch.utils.tensorboard")
    track("tensorboard", beginning(tmp_path))
    assert calls[0] == ("SummaryWriter", (str(tmp_path / "tensorboard"),), {})
    assert ("add_scalar", ("val/accuracy", 0.75, 5), {}) in calls
    assert ("add_scalar", ("final/test/accuracy", 0.5, 5), {}) in calls
    assert calls[-1][0] == "close"


def test_wandb_asks_nobody_and_sends_no_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = []

    class Settings:
        model_fields = ("silent", "save_code", "x_disable_meta", "entity")

        def __init__(self, **given: bool) -> None:
            settings.append(given)

    calls = stand_in(monkeypatch, "wandb", Settings=Settings)
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_PROJECT", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.warns(Note, match="nobody is logged in"):
        track("wandb", beginning(tmp_path / "run"))
    init = calls[0]
    assert settings == [{"silent": True, "save_code": False, "x_disable_meta": True}]
    assert (init[2]["mode"], init[2]["id"], init[2]["config"]) == ("offline", None, {"seed": 0})
    assert ("log", ({**numbers_of(RECORD), "epoch": 5},), {}) in calls
    assert calls[-1] == ("finish", (), {"exit_code": 0})
    (tmp_path / "netrc").write_text("machine api.wandb.ai login user password secret\n")
    calls.clear()
    track("wandb", beginning(tmp_path / "run", resumed=True))
    assert (calls[0][2]["mode"], calls[0][2]["id"]) == (None, "id-1")


def test_trackio_is_silent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Any] = []

    def init(**named: Any) -> Calls:
        print("* Trackio project initialized")
        calls.append(("init", (), named))
        return Calls(calls, name=named["name"])

    finished = stand_in(monkeypatch, "trackio", init=init)
    track("trackio", beginning(tmp_path / "run"))
    assert calls[0][2]["name"].startswith("run-")
    assert calls[0][2]["resume"] == "never"
    assert ("log", (numbers_of(RECORD),), {"step": 5}) in calls
    assert finished == [("finish", (), {})]
    assert capsys.readouterr().out == ""


def test_mlflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[Any] = []

    class Client:
        def __getattr__(self, name: str) -> Any:
            return Calls(calls, name)

        def create_run(self, place: Any, run_name: str) -> Any:
            calls.append(("create_run", (run_name,), {}))
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id="run-1"))

        def get_experiment_by_name(self, name: str) -> None:
            calls.append(("get_experiment_by_name", (name,), {}))

    entities: Any = types.ModuleType("mlflow.entities")
    entities.Param = entities.Metric = lambda *given: given
    stand_in(monkeypatch, "mlflow", MlflowClient=Client)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    track("mlflow", beginning(tmp_path / "run"))
    assert ("create_experiment", ("gsina",), {}) in calls
    assert ("log_batch", ("run-1",), {"params": [("seed", "0")]}) in calls
    logged = [
        named["metrics"] for what, _, named in calls if what == "log_batch" and "metrics" in named
    ]
    assert ("val/accuracy", 0.75) in [one[:2] for one in logged[0]]
    assert {one[3] for one in logged[0]} == {5}
    assert calls[-1] == ("set_terminated", ("run-1", "FINISHED"), {})
    calls.clear()
    track("mlflow", beginning(tmp_path / "run", resumed=True))
    assert calls[0] == ("update_run", ("run-1",), {"status": "RUNNING"})
