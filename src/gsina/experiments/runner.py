"""Many runs: what is done is skipped, what was cut off goes on, one process or several."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from gsina.data.files import cache_dir
from gsina.data.parallel import end_with_parent
from gsina.experiments.posthoc import run_posthoc
from gsina.experiments.recipe import Recipe
from gsina.experiments.results import Job, Results
from gsina.experiments.run import run
from gsina.training import UnusableCheckpoint
from gsina.training.loop import OnEpoch


@dataclass(frozen=True)
class Finished:
    """The end of one job: its result, or why there is none."""

    job: Job
    result: dict[str, Any] | None
    error: str | None = None


def pending(jobs: Sequence[Job], results: Results) -> list[Job]:
    """The jobs without a result."""
    return [job for job in jobs if results.load(job) is None]


def run_job(job: Job, results: Results, on_epoch: OnEpoch | None = None) -> Finished:
    """Run one job, or go on where it was cut off, and store its result.

    A job that another process holds, or has finished meanwhile, is left alone. The checkpoint is
    kept in the cache folder until the result is on disk.
    """
    with results.claim(job) as mine:
        done = results.load(job)
        if done is not None:
            return Finished(job, done)
        if not mine:
            return Finished(job, None, "another process is running it")
        try:
            result = _explain(job, on_epoch) if job.explainer else _train(job, on_epoch)
        except (ValueError, RuntimeError, OSError) as error:
            return Finished(job, None, str(error))
        results.save(job, result)
        if not job.explainer:
            shutil.rmtree(_folder(job), ignore_errors=True)
        return Finished(job, result)


def _folder(job: Job) -> Path:
    return cache_dir() / "runs" / job.name


def _explain(job: Job, on_epoch: OnEpoch | None) -> dict[str, Any]:
    """Explain the job's model; it stays in the cache folder for other explainers."""
    assert job.explainer is not None
    folder = cache_dir() / "models" / replace(job, explainer=None).name
    return run_posthoc(job.recipe, job.seed, job.explainer, folder=folder, on_epoch=on_epoch)


def _train(job: Job, on_epoch: OnEpoch | None) -> dict[str, Any]:
    """Go on from the job's checkpoint; start anew if it is of no use."""
    folder = _folder(job)
    try:
        return run(job.recipe, job.seed, out=folder, resume=True, on_epoch=on_epoch).result
    except UnusableCheckpoint:
        shutil.rmtree(folder, ignore_errors=True)
        return run(job.recipe, job.seed, out=folder, on_epoch=on_epoch).result


def run_jobs(
    jobs: Sequence[Job],
    results: Results,
    *,
    processes: int = 1,
    on_epoch: Callable[[Job, dict[str, Any]], None] | None = None,
) -> Iterator[Finished]:
    """Run all jobs that have no result yet; yields each as it ends.

    Args:
        jobs: What to run.
        results: Where results are, and go.
        processes: Jobs at a time, each with one thread if there are several.
        on_epoch: Called after every epoch; only with one process.
    """
    waiting = pending(jobs, results)
    if processes == 1:
        for job in waiting:
            report = None if on_epoch is None else _bind(on_epoch, job)
            yield run_job(job, results, report)
        return
    yield from _run_parallel(waiting, results, processes)


def _run_parallel(jobs: Sequence[Job], results: Results, processes: int) -> Iterator[Finished]:
    """Hand out one job a process; when this is stopped, so are they."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, _prepare_worker, (os.getpid(),)) as pool:

        def submit(job: Job) -> Future[tuple[dict[str, Any] | None, str | None]]:
            values = job.recipe.model_dump()
            return pool.submit(_run_plain, values, job.seed, job.explainer, str(results.folder))

        left = iter(jobs)
        running = {submit(job): job for job in itertools.islice(left, processes)}
        try:
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    running |= {submit(more): more for more in itertools.islice(left, 1)}
                    yield Finished(job, *future.result())
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.terminate()  # the checkpoint of its last epoch is on disk
            raise


def _bind(on_epoch: Callable[[Job, dict[str, Any]], None], job: Job) -> OnEpoch:
    return lambda record: on_epoch(job, record)


def _prepare_worker(parent: int) -> None:
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent ends the others
    end_with_parent(parent)


def _run_plain(
    recipe: dict[str, Any], seed: int, explainer: str | None, folder: str
) -> tuple[dict[str, Any] | None, str | None]:
    """:func:`run_job` with plain values in and out, for another process."""
    finished = run_job(Job(Recipe.parse(recipe), seed, explainer), Results(Path(folder)))
    return finished.result, finished.error
