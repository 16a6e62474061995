"""The progress of a training run: a live bar on a terminal, one line per epoch elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn

from gsina.cli import show
from gsina.metrics import metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.recipe import FileData, NamedData


class Epochs:
    """Shows the epochs of a run; a :class:`~gsina.training.listeners.Listener`.

    Args:
        label: Name of what is trained.
        epochs: Largest number of epochs of each training.
        metric: The validation metric that selects the epoch.
    """

    def __init__(self, label: str, epochs: int, metric: str) -> None:
        self.name = self.label = label
        self.epochs, self.metric = epochs, metric
        self._bar: Progress | None = None
        self._begin(0)

    def _begin(self, done: int, best: float | None = None) -> None:
        self.done = self._done_before = done
        self.best = best
        self.loss: float | None = None
        self.value: float | None = None
        self._began = time.perf_counter()

    def __enter__(self) -> Epochs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop(kind is None)

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """A training starts; there are several if the ratio is tuned."""
        self._stop(True)
        self.label = f"{self.name}, {name}" if name else self.name
        self._begin(done, best)
        if done:
            show.say(f"continuing after {done} epochs")
        if show.console.is_terminal:
            columns = (
                TextColumn("[bold]{task.description:5}"),
                BarColumn(bar_width=14),
                TextColumn("{task.fields[state]}"),
            )
            self._bar = Progress(*columns, console=show.console)
            self._bar.add_task(self.label, total=self.epochs, completed=self.done, state="")
            self._bar.start()

    def _stop(self, whole: bool) -> None:
        if self._bar is not None:
            self._show(self.done)
            self._bar.stop()
            self._bar = None
        if whole and 0 < self.done < self.epochs:
            show.say(f"{self.label} stopped after {self.done} epochs: no further improvement")
        self.done = 0

    def on_batch(self, done: int, of: int) -> None:
        """A batch is done."""
        if self._bar is not None:
            self._show(self.done + done / of)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch is done."""
        self.done = record["epoch"] + 1
        self.loss = sum(record["train"].values())
        self.value = record["val"][self.metric]
        if record["best"]:
            self.best = self.value
        if self._bar is not None:
            self._show(self.done)
        else:
            seconds = record["seconds"] + record["seconds_validation"]
            show.say(f"{self.label} {self._state(self.done)}  {seconds:.1f} s per epoch")

    def _show(self, passed: float) -> None:
        assert self._bar is not None
        self._bar.update(self._bar.task_ids[0], completed=passed, state=self._state(passed))

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
            parts.append(f"≤ {show.clock(left)} left")
        return "  ".join(parts)

    def _left(self, passed: float) -> float | None:
        ran = passed - self._done_before
        if ran <= 0 or passed >= self.epochs:
            return None
        return (time.perf_counter() - self._began) / ran * (self.epochs - passed)


class Count:
    """Shows how many rows of a file are done, on a terminal only.

    Args:
        label: What happens to the rows.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._bar: Progress | None = None

    def __enter__(self) -> Count:
        if show.console.is_terminal:
            columns = (
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=14),
                TextColumn("{task.fields[state]}"),
            )
            self._bar = Progress(*columns, console=show.console, transient=True)
            self._bar.add_task(self.label, total=None, state="")
            self._bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, of: int | None = None) -> None:
        """Show the number of rows done."""
        if self._bar is not None:
            state = f"{done:,}" if of is None else f"{done:,} of {of:,}"
            self._bar.update(self._bar.task_ids[0], completed=done, total=of, state=state)


def load_with_bar(data: NamedData | FileData) -> Dataset:
    """Load the data of a recipe, with a bar for a download or a first preparation."""
    with Count(f"preparing {data.name}") as count:
        return data.load(count.update)
