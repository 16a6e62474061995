"""Trials of a search in trackers: each is a run of its own there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gsina.listeners import Beginning, Ending, Listener
from gsina.listeners.trackers import make_tracker

#: In the folder of a search: one folder per trial that trackers were told of.
TRIALS = "trials"


class Tracking(NamedTuple):
    """Who hears of the trials of a search.

    Attributes:
        names: Names of trackers.
        folder: The folder of the search.
        study: Its name.
    """

    names: tuple[str, ...]
    folder: Path
    study: str

    def listeners(self, number: int) -> Iterator[Listener]:
        """Those of one trial."""
        plain = re.sub(r"[^\w.-]+", "-", self.study)  # the name of a study is any text
        place = self.folder / TRIALS / f"{plain}-trial-{number}"
        for name in self.names:
            yield TrackedTrial(make_tracker(name), place)


class TrackedTrial(Listener):
    """Tells a tracker of a trial as of a run with a name and a folder.

    Args:
        tracker: The tracker.
        folder: The folder, made when the trial begins.
    """

    def __init__(self, tracker: Listener, folder: Path) -> None:
        self.tracker, self.folder = tracker, folder

    def on_start(self, run: Beginning) -> None:
        """The trial begins."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tracker.on_start(replace(run, folder=self.folder))

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch has passed."""
        self.tracker.on_epoch(record)

    def on_end(self, ending: Ending) -> None:
        """The trial is over."""
        self.tracker.on_end(ending)
