"""Trackio: a database on this machine, or a Space of the hub if its variables name one."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

from gsina.listeners.base import Beginning
from gsina.listeners.trackers.tracker import PROJECT, run_name


class Trackio:
    """Files runs under ``TRACKIO_PROJECT``, or ``gsina``."""

    def begin(self, run: Beginning, key: str | None) -> str:
        """Open a run; its name is its key."""
        import trackio

        with _silence():
            self._run: Any = trackio.init(
                project=os.environ.get("TRACKIO_PROJECT") or PROJECT,
                name=key or _new_name(run),
                config=run.settings,
                resume="never" if key is None else "allow",
                embed=False,
            )
        return str(self._run.name)

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        """One point per curve."""
        self._epoch = epoch
        self._run.log(numbers, step=epoch)

    def end(self, scores: dict[str, float], state: str) -> None:
        """The last scores, at the last epoch."""
        import trackio

        with _silence():
            if scores:
                self._run.log(scores, step=getattr(self, "_epoch", 0))
            trackio.finish()  # not of the run itself, or it is finished again at exit, aloud


def _new_name(run: Beginning) -> str:
    """A name that no other run has, as two folders may be called the same."""
    return f"{run_name(run)}-{os.urandom(3).hex()}"


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep what Trackio prints from the output of a command."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
