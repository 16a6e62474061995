"""`Listener`: callbacks of a run, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Beginning:
    """What listeners hear of a run when it starts.

    Attributes:
        name: What is trained, such as ``gsina``.
        data: Name of the dataset.
        epochs: Largest number of epochs of each of its trainings.
        metric: The validation metric that selects the epoch.
        settings: The settings by their paths, such as ``method.options.ratio``; JSON-able.
        folder: The folder of the run; ``None`` if nothing is kept.
        resumed: Whether a run that was begun before goes on.
    """

    name: str
    data: str
    epochs: int
    metric: str
    settings: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    resumed: bool = False


@dataclass
class Ending:
    """What listeners hear of a run when it is over.

    Attributes:
        state: ``failed`` after any error, and ``interrupted`` after Ctrl-C or :class:`Stopped`.
        metrics: Scores of the selected weights by split and metric, of a finished run.
    """

    state: Literal["finished", "interrupted", "failed"] = "failed"
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)


class Listener(Protocol):
    """Callbacks for all events of a run; a subclass overrides those it needs.

    ``on_start``, then for every training of the run ``on_trial`` and its batches and epochs, and
    ``on_end``, whatever happens. Most runs have one training; one that looks for the best ratio,
    has members, or is compared with baselines has more.
    """

    def on_start(self, run: Beginning) -> None:
        """A run begins."""
        return

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """One of its trainings begins.

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

    def on_end(self, ending: Ending) -> None:
        """The run is over."""
        return


class Stopped(Exception):
    """What a listener raises to end a run that goes nowhere; for the others it is interrupted."""


class OnEpoch(Listener):
    """Calls a function with the record of every epoch."""

    def __init__(self, function: Callable[[dict[str, Any]], None]) -> None:
        self.function = function

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Call the function."""
        self.function(record)


@contextmanager
def told(listeners: Sequence[Listener], run: Beginning) -> Iterator[Ending]:
    """Tell listeners that a run begins and, whatever happens in the block, how it ends.

    The block puts its scores into what it gets. Those that heard of the start hear of the end, the
    last one first, also if another refuses to start or to end.
    """
    ending = Ending()
    with ExitStack() as ends:
        try:
            for listener in listeners:
                listener.on_start(run)
                ends.callback(listener.on_end, ending)
            yield ending
            ending.state = "finished"
        except (KeyboardInterrupt, Stopped):
            ending.state = "interrupted"
            raise


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings in settings by their paths, such as ``method.options.ratio``."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= (
            flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
        )
    return found
