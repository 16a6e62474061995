"""`Tracker`: sends the numbers of a run to a service, and never costs the run."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from gsina.errors import InputError, Note, reason_of
from gsina.files import load_text, parse_json, save_json
from gsina.listeners.base import Beginning, Ending, Listener

#: In the folder of a run: the trackers that it is told to, and how they call it.
TRACKED = "trackers.json"
#: What the runs of this package are filed under, if the service's own variables name nothing else.
PROJECT = "gsina"


class Service(Protocol):
    """What a tracker can do; any exception means that it cannot."""

    def begin(self, run: Beginning, key: str | None) -> str | None:
        """Open a run; with ``key``, the one that was opened before. Returns the key of the run."""

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        """Take the numbers of an epoch, which is counted from 1."""

    def end(self, scores: dict[str, float], state: str) -> None:
        """Take the last scores, and close the run: ``finished``, ``interrupted`` or ``failed``."""


class Tracker(Listener):
    """Tells a service of a run: settings, every epoch, and the scores at the end.

    A service that cannot be reached when the run begins is an error, as it can still be mended. One
    that fails later costs a note, and the run goes on without it. A run that is resumed goes on
    under the same key.

    Args:
        name: Name of the tracker.
        label: What people call it.
        service: Speaks to it.
    """

    def __init__(self, name: str, label: str, service: Service) -> None:
        self.name, self.label, self.service = name, label, service
        self._lost, self._trial = True, ""

    def on_start(self, run: Beginning) -> None:
        """Open a run of the service, or go on with the one of the folder.

        Raises:
            InputError: The service refuses.
        """
        self._lost, self._trial = False, ""
        known = read_tracked(run.folder) if run.folder is not None and run.resumed else {}
        try:
            key = self.service.begin(run, known.get(self.name))
        except Exception as error:
            self._lost = True
            raise InputError(
                f"{self.label} cannot be used ({reason_of(error)}); mend that, or train without it."
            ) from error
        if run.folder is not None:
            save_json(run.folder / TRACKED, known | read_tracked(run.folder) | {self.name: key})

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """Keep the curves of the trainings of a run apart."""
        plain = re.sub(r"[^\w .-]+", "", name)
        self._trial = f"{plain}/" if plain else ""

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Send the numbers of an epoch."""
        found = {f"{self._trial}{name}": value for name, value in numbers_of(record).items()}
        self._try(lambda: self.service.log(found, record["epoch"] + 1))

    def on_end(self, ending: Ending) -> None:
        """Send the scores of all splits, and close."""
        scores = finite(
            {
                f"final/{split}/{name}": value
                for split, row in ending.metrics.items()
                for name, value in row.items()
            }
        )
        self._try(lambda: self.service.end(scores, ending.state))
        self._lost = True

    def _try(self, tell: Callable[[], None]) -> None:
        if self._lost:
            return
        try:
            tell()
        except Exception as error:
            self._lost = True
            why = reason_of(error)
            text = f"{self.label} failed ({why}), so this run goes on without it."
            warnings.warn(Note(text), stacklevel=2)


def read_tracked(folder: Path) -> dict[str, str | None]:
    """The trackers that the run in a folder was told to, and its key there; a damaged file is none.

    Args:
        folder: The folder of the run.
    """
    try:
        found = parse_json(load_text(folder / TRACKED))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: key for name, key in found.items() if key is None or isinstance(key, str)}


def numbers_of(record: dict[str, Any]) -> dict[str, float]:
    """The numbers of an epoch under flat names: ``train/loss``, ``val/accuracy``, ..."""
    losses, scores = record["train"], record["val"]
    found = {f"train/{name}": value for name, value in losses.items()}
    found |= {"train/loss": sum(losses.values())}
    found |= {f"val/{name}": value for name, value in scores.items()}
    found |= {name: record[name] for name in ("learning_rate", "seconds") if name in record}
    return finite(found)


def finite(numbers: dict[str, Any]) -> dict[str, float]:
    """Those that are numbers; a metric that is not defined is left out."""
    return {
        name: float(value)
        for name, value in numbers.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }


def run_name(run: Beginning) -> str:
    """What to call a run that a service shows among others."""
    return run.folder.resolve().name if run.folder is not None else f"{run.data}-{run.name}"
