"""The progress of a training run: a live bar on a terminal, one line per epoch elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, Progress, TextColumn

from gsina.cli import show
from gsina.listeners.progress import EpochProgress

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


class Epochs(EpochProgress):
    """Shows the epochs of a run, and before the first how many are done already."""

    _bar: Bar | None = None

    def open_bar(self, label: str, total: int, done: int) -> None:
        """Show a bar, on a terminal."""
        if show.console.is_terminal:
            self._bar, self.live = Bar(label, total, done), True

    def move_bar(self, done: float, state: str) -> None:
        """Move it."""
        assert self._bar is not None
        self._bar.move(done, state)

    def close_bar(self) -> None:
        """End the live display."""
        assert self._bar is not None
        self._bar.stop()
        self._bar, self.live = None, False

    def say(self, sentence: str) -> None:
        """Print a line."""
        show.say(sentence)


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
