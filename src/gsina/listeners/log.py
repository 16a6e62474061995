"""``log.jsonl``: one line of JSON per epoch, counted from 1, as on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gsina.files import to_json, write_aside
from gsina.listeners.base import Listener

LOG = "log.jsonl"


class LogFile(Listener):
    """Keeps the log of a training: every epoch is in it before the next begins.

    Args:
        path: The file; it is replaced as a whole, so that a kill leaves complete lines.
        before: The epochs of earlier sessions, in case one was killed before it wrote the last.
    """

    def __init__(self, path: Path, before: Iterable[dict[str, Any]] = ()) -> None:
        self.path, self.records = path, list(before)
        if self.records:
            write_log(path, self.records)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Write the log with one more line."""
        self.records.append(record)
        write_log(self.path, self.records)


def write_log(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write the records of epochs, which are counted from 0 in them."""
    lines = (to_json({**record, "epoch": record["epoch"] + 1}) + "\n" for record in records)
    with write_aside(path) as file:
        file.write("".join(lines).encode())
