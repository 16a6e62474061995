"""One function over many items, on several processes where that is safe."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from gsina.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parallel_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Result]:
    """``[function(item) for item in items]``, in order, on ``jobs`` processes.

    Processes are forked, so that scripts need no ``__main__`` guard; where forking is not usual
    (anywhere but on Linux), and inside another worker, all happens in this process.

    Args:
        function: A function of a module; it must not use torch, whose threads do not fork.
        items: Its arguments; each should be worth some milliseconds.
        jobs: Number of processes, by default one per core.
        progress: Called with the number of items done and the total.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}.")
    jobs = min(jobs or cores(), len(items))
    alone = jobs < 2 or sys.platform != "linux" or multiprocessing.current_process().daemon
    results: list[Result] = []
    if alone:
        for item in items:
            results.append(function(item))
            if progress:
                progress(len(results), len(items))
        return results
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, fork, end_with_parent, (os.getpid(),)) as pool:
        for result in pool.map(function, items):
            results.append(result)
            if progress:
                progress(len(results), len(items))
    return results


def end_with_parent(parent: int) -> None:
    """End this worker when its parent is gone, also after a ``kill -9``."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
