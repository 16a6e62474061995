"""How far a run is, in words; where they are shown is for others to say."""

from __future__ import annotations

import time
from typing import Any

from gsina.listeners.base import Beginning, Ending, Listener
from gsina.metrics import metric_text


class EpochProgress(Listener):
    """Follows the epochs of a run; a subclass has a bar, or says a line per epoch, or both.

    Args:
        label: What to call what is trained, if not by the name of the method.
    """

    #: Whether a bar is shown just now.
    live = False

    def __init__(self, label: str = "") -> None:
        self.name = self.label = label
        self.epochs, self.metric = 0, ""
        self._begin(0)

    def open_bar(self, label: str, total: int, done: int) -> None:
        """Show a bar, if there is a place for one."""

    def move_bar(self, done: float, state: str) -> None:
        """Move the bar and change the text beside it."""

    def close_bar(self) -> None:
        """Leave the bar as it is."""

    def say(self, sentence: str) -> None:
        """Say a sentence."""

    def _begin(self, done: int, best: float | None = None) -> None:
        self.done = self._done_before = done
        self.best = best
        self.loss: float | None = None
        self.value: float | None = None
        self._began = time.perf_counter()

    def on_start(self, run: Beginning) -> None:
        """A run starts, with these epochs at most."""
        self.name = self.label = self.name or run.name
        self.epochs, self.metric = run.epochs, run.metric

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """A training starts; there are several if the ratio is tuned."""
        self._stop(True)
        self.label = f"{self.name}, {name}" if name else self.name
        self._begin(done, best)
        if done:
            self.say(f"continuing after {done} epochs")
        self.open_bar(self.label, self.epochs, done)

    def on_batch(self, done: int, of: int) -> None:
        """A batch is done."""
        if self.live:
            self._show(self.done + done / of)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch is done."""
        self.done = record["epoch"] + 1
        self.loss = sum(record["train"].values())
        self.value = record["val"][self.metric]
        if record["best"]:
            self.best = self.value
        if self.live:
            self._show(self.done)
        else:
            seconds = record["seconds"] + record["seconds_validation"]
            self.say(f"{self.label} {self._state(self.done)}  {seconds:.1f} s per epoch")

    def on_part(self, name: str, done: int, of: int) -> None:
        """Something that has no epochs goes on; where there is no bar its start is told."""
        if self.label != name:
            self._stop(True)
            self.label = name
            self.open_bar(name, of, 0)
            if not self.live:
                self.say(name)
        if self.live:
            self.move_bar(done, f"{done:,} of {of:,}")
            if done == of:
                self.close_bar()

    def on_end(self, ending: Ending) -> None:
        """The run is over; one that failed has not stopped by itself."""
        self._stop(ending.state == "finished")

    def _stop(self, whole: bool) -> None:
        if self.live:
            if self.done:
                self._show(self.done)
            self.close_bar()
        if whole and 0 < self.done < self.epochs:
            self.say(f"{self.label} stopped after {self.done} epochs: no further improvement")
        self.done = 0

    def _show(self, passed: float) -> None:
        self.move_bar(passed, self._state(passed))

    def _state(self, passed: float) -> str:
        """The state in short, to fit beside the bar in 80 characters."""
        parts = [f"{int(passed)}/{self.epochs}"]
        if self.loss is not None and self.value is not None:
            parts += [f"loss {self.loss:.3f}", f"val {metric_text(self.value, self.metric)}"]
        if self.best is not None:
            parts.append(f"best {metric_text(self.best, self.metric)}")
        left = self._left(passed)
        if left is not None:
            # A run may stop early, so this is an upper bound.
            parts.append(f"≤ {clock(left)} left")
        return "  ".join(parts)

    def _left(self, passed: float) -> float | None:
        ran = passed - self._done_before
        if ran <= 0 or passed >= self.epochs:
            return None
        return (time.perf_counter() - self._began) / ran * (self.epochs - passed)


def clock(seconds: float) -> str:
    """Seconds as on a clock: ``0:42``, ``3:20``, ``2:05:00``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
