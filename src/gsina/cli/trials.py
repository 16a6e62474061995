"""The progress of a search: a live bar on a terminal, one line per trial elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gsina.cli import show
from gsina.cli.progress import Bar
from gsina.listeners.progress import clock
from gsina.metrics import metric_text

if TYPE_CHECKING:
    from gsina.graphs.task import Task
    from gsina.tuning.study import TrialResult


class Trials:
    """Shows trials as they end, and the epochs of the one that runs here.

    Args:
        trials: Total number of trials.
        epochs: Largest number of epochs of each.
        task: Gives the metric, and whether larger is better.
        before: Trials of earlier calls.
    """

    def __init__(
        self, trials: int, epochs: int, task: Task, before: Sequence[TrialResult] = ()
    ) -> None:
        self.trials, self.epochs, self.task = trials, epochs, task
        self.done = self._done_before = len(before)
        self.best: float | None = None
        self._learn(before)
        self._running = ""
        self._began = time.perf_counter()

    def __enter__(self) -> Trials:
        self._bar = Bar("trials", self.trials, self.done)
        self._show(0.0)
        return self

    def __exit__(self, *problem: object) -> None:
        self._running = ""
        self._show(0.0)
        self._bar.stop()

    def on_start(self, number: int, settings: dict[str, Any]) -> None:
        """A trial starts in this process."""
        self._running = f"trial {number}"
        self._show(0.0)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch of the running trial is done."""
        self._show((record["epoch"] + 1) / self.epochs)

    def on_result(self, result: TrialResult) -> None:
        """A trial has ended."""
        self.done += 1
        self._learn([result])
        self._running = ""
        self._show(0.0)
        show.say(self._line(result))

    def _learn(self, results: Sequence[TrialResult]) -> None:
        values = [one.value for one in results if one.value is not None]
        values += [] if self.best is None else [self.best]
        if values:
            self.best = (max if self.task.larger_is_better else min)(values)

    def _line(self, result: TrialResult) -> str:
        value = result.last if result.value is None else result.value
        score = metric_text(value, self.task.metric)
        how = {"stopped": f"stopped early at {score}", "diverged": "diverged"}
        took = f"{result.epochs} epochs, {clock(result.seconds)}"
        ending = how.get(result.state, score)
        return f"trial {result.number}: {ending}  {settings_text(result.settings)}  ({took})"

    def _show(self, share: float) -> None:
        parts = [f"{self.done}/{self.trials}", self._running]
        if self.best is not None:
            parts.append(f"best {metric_text(self.best, self.task.metric)}")
        passed = self.done + share - self._done_before
        if passed > 0 and self.done < self.trials:
            left = (time.perf_counter() - self._began) / passed
            parts.append(f"~ {clock(left * (self.trials - self.done - share))} left")
        self._bar.move(self.done + share, "  ".join(part for part in parts if part))


def settings_text(settings: dict[str, Any]) -> str:
    """Settings in words."""
    return ", ".join(f"{name} {value:g}" for name, value in settings.items())
