"""The clock by which work is measured."""

from __future__ import annotations

import time

import torch


def work_clock() -> float:
    """Seconds of work; on one thread the processor's, as if the machine had nothing else to do."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()
