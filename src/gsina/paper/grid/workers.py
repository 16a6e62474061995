"""Runs in several processes of this machine; a worker that dies is replaced."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import MappingProxyType

import torch

from gsina.ops.memory import reuse_memory
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import Finished, run_job
from gsina.parallel import end_with_parent
from gsina.runs.job import Job

#: How often a job is started before it is given up, as it may itself kill its worker.
TRIES = 3


def run_in_processes(
    jobs: Sequence[Job],
    results: Results,
    processes: int,
    until: float = math.inf,
    rivals: Mapping[str, Sequence[Job]] = MappingProxyType({}),
) -> Iterator[Finished]:
    """Run the jobs, ``processes`` at a time; yields each as it ends.

    None is begun after the time ``until`` of ``time.monotonic``. Trials are held against their
    ``rivals``.

    If the system kills a worker, all jobs that were running are started again (from their last
    checkpoint), each at most ``TRIES`` times.
    """
    waiting = deque(jobs)
    tries = dict.fromkeys((job.name for job in jobs), 0)
    while waiting:
        running: dict[Future[Finished], Job] = {}
        try:
            yield from _until_broken(waiting, running, results, processes, until, rivals)
        except BrokenProcessPool:
            for job in reversed(list(running.values())):
                tries[job.name] += 1
                if tries[job.name] < TRIES:
                    waiting.appendleft(job)
                else:
                    why = f"its process was killed {TRIES} times, perhaps for want of memory"
                    yield Finished(job, None, why)


def _until_broken(
    waiting: deque[Job],
    running: dict[Future[Finished], Job],
    results: Results,
    processes: int,
    until: float,
    rivals: Mapping[str, Sequence[Job]],
) -> Iterator[Finished]:
    """Run one job per process; stopping this stops all processes."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, _prepare_worker, (os.getpid(),)) as pool:

        def submit() -> None:
            job = waiting.popleft()
            try:
                running[pool.submit(run_job, job, results, (), rivals.get(job.name, ()))] = job
            except BrokenProcessPool:
                waiting.appendleft(job)
                raise

        try:
            while waiting or running:
                if time.monotonic() >= until:
                    waiting.clear()
                while waiting and len(running) < processes:
                    submit()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    finished = future.result()
                    del running[future]
                    yield finished
        except BrokenProcessPool:
            raise
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.terminate()  # the checkpoint of its last epoch is on disk
            raise


def _prepare_worker(parent: int) -> None:
    torch.set_num_threads(1)
    reuse_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent ends the others
    end_with_parent(parent)
