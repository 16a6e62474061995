"""The progress of a training run: a live bar on a terminal, one line per epoch elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn

from gsina.cli import show
from gsina.metrics import metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.data import FileData, NamedData


#: Between two lines about the rows of a file, where there is no terminal.
SECONDS = 20.0


class Bar:
    """A live bar with a text beside it, on a terminal only.

    Args:
        label: Text before the bar.
        total: Where it ends; ``None`` if that is not known.
        done: Where it starts.
        width: Its width in characters.
        transient: Whether it disappears at the end.
    """

    def __init__(
        self,
        label: str,
        total: float | None,
        done: int = 0,
        *,
        width: int = 14,
        transient: bool = False,
    ) -> None:
        self._bar: Progress | None = None
        if show.console.is_terminal:
            columns = [BarColumn(bar_width=width), TextColumn("{task.fields[state]}")]
            if label:
                columns.insert(0, TextColumn("[bold]{task.description:5}"))
            self._bar = Progress(*columns, console=show.console, transient=transient)
            self._bar.add_task(label, total=total, completed=done, state="")
            self._bar.start()

    def move(self, done: float, state: str, total: float | None = None) -> None:
        """Move the bar and change the text."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, state=state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the live display."""
        if self._bar is not None:
            self._bar.stop()


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
        self._bar: Bar | None = None
        self._begin(0)

    def _begin(self, done: int, best: float | None = None) -> None:
        self.done = self._done_before = done
        self.best = best
        self.loss: float | None = None
        self.value: float | None = None
        self._began = time.perf_counter()

    def __enter__(self) -> Epochs:
        return self

    def __exit__(self, *problem: object) -> None:
        self._stop(problem[0] is None)

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """A training starts; there are several if the ratio is tuned."""
        self._stop(True)
        self.label = f"{self.name}, {name}" if name else self.name
        self._begin(done, best)
        if done:
            show.say(f"continuing after {done} epochs")
        if show.console.is_terminal:
            self._bar = Bar(self.label, self.epochs, self.done)

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

    def on_part(self, name: str, done: int, of: int) -> None:
        """Something that has no epochs goes on; elsewhere than on a terminal its start is told."""
        if self.label != name:
            self._stop(True)
            self.label = name
            if show.console.is_terminal:
                self._bar = Bar(name, of)
            else:
                show.say(name)
        if self._bar is not None:
            self._bar.move(done, f"{done:,} of {of:,}")
            if done == of:
                self._bar.stop()
                self._bar = None

    def _show(self, passed: float) -> None:
        assert self._bar is not None
        self._bar.move(passed, self._state(passed))

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


class Count(Bar):
    """Shows how many rows of a file are done; elsewhere than on a terminal by a line now and then.

    Args:
        label: What happens to the rows.
    """

    def __init__(self, label: str) -> None:
        super().__init__(label, None, transient=True)
        self.label, self._told = label, time.perf_counter()

    def update(self, done: int, of: int | None = None) -> None:
        """Show the number of rows done."""
        state = f"{done:,}" if of is None else f"{done:,} of {of:,}"
        self.move(done, state, of)
        if self._bar is None and time.perf_counter() - self._told > SECONDS:
            self._told = time.perf_counter()
            show.say(f"{self.label}: {state}")


def load_with_bar(data: NamedData | FileData) -> Dataset:
    """Load the data of a recipe, with a bar for a download or a first preparation."""
    with Count(f"preparing {data.name}") as count:
        return data.load(count.update)
