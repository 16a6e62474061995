"""Many runs: what is done is skipped, what was cut off goes on, one process or several."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gsina.files import cache_dir
from gsina.paper.grid.results import Results
from gsina.paper.studies.explainers import run_posthoc
from gsina.paper.studies.pieces import run_pieces
from gsina.runs.job import Job
from gsina.runs.run import provenance, run
from gsina.runs.trained import model_folder
from gsina.training import Diverged, UnusableCheckpoint
from gsina.training.loop import OnEpoch


@dataclass(frozen=True)
class Finished:
    """The end of one job: its result, or why there is none."""

    job: Job
    result: dict[str, Any] | None
    error: str | None = None


def pending(jobs: Sequence[Job], results: Results) -> list[Job]:
    """The jobs without a result, those that diverged left out."""
    return [job for job in jobs if results.load(job) is None and not results.diverged(job)]


def run_job(job: Job, results: Results, on_epoch: OnEpoch | None = None) -> Finished:
    """Run one job, or go on where it was cut off, and store its result.

    A job that another process holds, or has finished meanwhile, is left alone. The checkpoint is
    kept in the cache folder until the result is on disk.
    """
    with results.claim(job) as mine:
        done = results.load(job)
        if done is not None:
            return Finished(job, done)
        if results.diverged(job):
            return give_up(job, results)
        if not mine:
            return Finished(job, None, "another process is running it")
        try:
            result = compute(job, on_epoch)
            results.save(job, result)
        except Diverged as error:
            return give_up(job, results, str(error))
        except (ValueError, RuntimeError, OSError) as error:
            return Finished(job, None, str(error))
        forget(job)
        return Finished(job, result)


def give_up(
    job: Job,
    results: Results,
    message: str | None = None,
    made_with: dict[str, Any] | None = None,
) -> Finished:
    """The end of a job that diverged: as it would again, that is remembered and its folder gone."""
    if message is not None:
        results.save_diverged(job, message, made_with or provenance())
        forget(job)
    said = results.diverged(job)
    path = results.diverged_path(job)
    return Finished(job, None, f"{said} It is not run again unless you delete {path}.")


def compute(job: Job, on_epoch: OnEpoch | None = None) -> dict[str, Any]:
    """The result of a job, from its checkpoint if there is one; nothing is stored."""
    return _explain(job, on_epoch) if job.explainer else _train(job, on_epoch)


def forget(job: Job) -> None:
    """Remove the checkpoint of a job whose result is stored."""
    if not job.explainer:
        shutil.rmtree(_folder(job), ignore_errors=True)


def _folder(job: Job) -> Path:
    return cache_dir() / "runs" / job.name


def _explain(job: Job, on_epoch: OnEpoch | None) -> dict[str, Any]:
    """Explain the job's model; it stays in the cache folder for other explainers."""
    assert job.explainer is not None
    folder = model_folder(job.recipe, job.seed)
    if job.explainer == "pieces":
        return run_pieces(job.recipe, job.seed, folder=folder, on_epoch=on_epoch)
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
    cluster: str | None = None,
    on_epoch: Callable[[Job, dict[str, Any]], None] | None = None,
) -> Iterator[Finished]:
    """Run all jobs that have no result yet; yields each as it ends.

    Args:
        jobs: What to run.
        results: Where results are, and go.
        processes: Jobs at a time, each with one thread if there are several.
        cluster: ``auto`` or the address of a Ray cluster that runs the jobs instead.
        on_epoch: Called after every epoch; only with one process.
    """
    waiting = pending(jobs, results)
    if cluster is not None:
        from gsina.paper.grid.cluster import run_on_ray

        yield from run_on_ray(waiting, results, cluster)
        return
    if processes == 1:
        for job in waiting:
            report = None if on_epoch is None else _bind(on_epoch, job)
            yield run_job(job, results, report)
        return
    from gsina.paper.grid.workers import run_in_processes

    yield from run_in_processes(waiting, results, processes)


def _bind(on_epoch: Callable[[Job, dict[str, Any]], None], job: Job) -> OnEpoch:
    return lambda record: on_epoch(job, record)
