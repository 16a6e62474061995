"""What estimators log: the logger ``gsina``, one line per epoch."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger("gsina")


def log_epoch(record: dict[str, Any]) -> None:
    """Log an epoch; on the terminal if the program has not said where to."""
    if not log.hasHandlers():
        log.addHandler(logging.StreamHandler())
        log.setLevel(logging.INFO)
    values = ", ".join(f"{name} {value:.4f}" for name, value in record["val"].items())
    loss = sum(record["train"].values())
    log.info("epoch %d: training loss %.4f; validation: %s", record["epoch"] + 1, loss, values)
