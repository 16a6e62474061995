"""`Listener`: callbacks of a training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Listener(Protocol):
    """Callbacks for all events of a training; a subclass overrides those it needs."""

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """A training begins.

        Args:
            name: What tells it from the others of the run, such as ``ratio 0.3``; empty if it is
                the only one.
            done: Epochs that an earlier session has finished.
            best: Validation metric of the one of them that is selected.
        """
        return

    def on_batch(self, done: int, of: int) -> None:
        """So many batches of the epoch have passed."""
        return

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch has passed; errors of a single target are in its units."""
        return

    def on_part(self, name: str, done: int, of: int) -> None:
        """So much is done of something that has no epochs, such as the trees of a forest."""
        return


class OnEpoch(Listener):
    """Calls a function with the record of every epoch."""

    def __init__(self, function: Callable[[dict[str, Any]], None]) -> None:
        self.function = function

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Call the function."""
        self.function(record)
