from __future__ import annotations

import json
from pathlib import Path

from gsina.listeners.log import LogFile


def test_the_log_has_every_epoch_and_those_of_earlier_sessions(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = LogFile(path)
    assert not path.exists()
    log.on_epoch({"epoch": 0, "val": {"loss": float("nan")}})
    lines = path.read_text()
    assert json.loads(lines) == {"epoch": 1, "val": {"loss": None}}
    path.unlink()  # as a kill just before it was written
    again = LogFile(path, log.records)
    assert path.read_text() == lines
    again.on_epoch({"epoch": 1})
    assert [json.loads(line)["epoch"] for line in path.read_text().splitlines()] == [1, 2]
