"""Processes that a test starts, interrupts and kills, and waiting that needs no luck."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: Seconds after which a test gives up waiting. Only what hangs takes so long, on any machine.
LIMIT = 300


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that SIGINT interrupts, even where the tests ignore it; it is killed at the end.

    Under nohup and on many build machines SIGINT is ignored. Children inherit that, and a Python
    that starts so never raises KeyboardInterrupt. A handler is not inherited: while this process
    has one, its children start with the default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool], *processes: subprocess.Popen[str]) -> None:
    """Wait until the condition holds; fail if one of the processes ends before that."""
    limit = time.monotonic() + LIMIT
    while not condition():
        for process in processes:
            if process.poll() is not None:
                raise AssertionError(f"{process} ended too early: {process.communicate()}")
        assert time.monotonic() < limit, f"waited {LIMIT} s in vain"
        time.sleep(0.01)
