"""Listeners hear of what they want, and of nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import tiny
from gsina.errors import InputError
from gsina.listeners import Beginning, Ending, Listener, OnEpoch, told
from gsina.listeners.base import flat
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection

RUN = Beginning("gsina", "tiny", 2, "accuracy")


class Batches(Listener):
    """Hears of batches only."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def on_batch(self, done: int, of: int) -> None:
        self.heard.append((done, of))


class Ends(Listener):
    """Hears of the start and of the end; it may refuse to start."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.heard: list[Any] = []

    def on_start(self, run: Beginning) -> None:
        if self.refuses:
            raise InputError("not today.")
        self.heard.append(run)

    def on_end(self, ending: Ending) -> None:
        self.heard.append(ending)


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
    with told([deaf], RUN):
        deaf.on_trial("ratio 0.3", 0)
        deaf.on_epoch({})
        OnEpoch(lambda record: None).on_batch(1, 2)
    assert deaf.heard == []


def test_the_end_is_heard_with_the_scores() -> None:
    ends = Ends()
    with told([ends], RUN) as ending:
        ending.metrics = {"test": {"accuracy": 0.5}}
    assert ends.heard == [RUN, Ending("finished", {"test": {"accuracy": 0.5}})]


@pytest.mark.parametrize(
    ("problem", "state"), [(KeyboardInterrupt, "interrupted"), (ZeroDivisionError, "failed")]
)
def test_the_end_is_heard_whatever_happens(problem: type[BaseException], state: str) -> None:
    ends = Ends()
    with pytest.raises(problem), told([ends], RUN):
        raise problem
    assert [one.state for one in ends.heard[1:]] == [state]


def test_who_refuses_to_start_stops_the_run_and_the_others_hear_of_it() -> None:
    first, refusing, last = Ends(), Ends(refuses=True), Ends()
    with pytest.raises(InputError, match="not today"), told([first, refusing, last], RUN):
        pytest.fail("the run has begun")
    assert [one.state for one in first.heard[1:]] == ["failed"]
    assert refusing.heard == last.heard == []


def test_settings_by_their_paths() -> None:
    assert flat({"method": {"name": "gsina", "options": {"ratio": 0.5}}, "seed": 1}) == {
        "method.name": "gsina",
        "method.options.ratio": 0.5,
        "seed": 1,
    }
