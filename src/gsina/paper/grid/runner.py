"""Many runs: finished ones are skipped, interrupted ones continue, in one process or several."""

from __future__ import annotations

import math
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gsina.errors import InputError
from gsina.files import cache_dir
from gsina.listeners import Listener, OnEpoch, Stopped
from gsina.paper.grid.hopeless import watching
from gsina.paper.grid.results import Results
from gsina.paper.studies.connected_components import run_components
from gsina.paper.studies.evidence import STUDIES
from gsina.paper.studies.explainers import run_posthoc
from gsina.runs.data import FileData
from gsina.runs.job import Job
from gsina.runs.provenance import provenance
from gsina.runs.run import run
from gsina.runs.trained import model_folder
from gsina.training import Diverged, UnusableCheckpoint


@dataclass(frozen=True)
class Finished:
    """The end of one job: its result, or why there is none."""

    job: Job
    result: dict[str, Any] | None
    error: str | None = None
    stopped: bool = False


def pending(jobs: Sequence[Job], results: Results) -> list[Job]:
    """The jobs without a result, those that diverged left out."""
    return [job for job in jobs if results.load(job) is None and not results.diverged(job)]


def run_job(
    job: Job, results: Results, listeners: Sequence[Listener] = (), rivals: Sequence[Job] = ()
) -> Finished:
    """Run one job, or continue it after an interruption, and store its result.

    A job that another process holds, or has finished meanwhile, is left alone. The checkpoint is
    kept in the cache folder until the result is on disk.

    Args:
        job: What to run.
        results: Where its result goes.
        listeners: Notified of the progress.
        rivals: Of a trial, all trials of its cell: it is stopped if it falls far behind them.
    """
    with results.claim(job) as mine:
        done = results.load(job)
        if done is not None:
            return Finished(job, done)
        if results.diverged(job):
            return give_up(job, results)
        if not mine:
            return Finished(job, None, "another process is running it")
        watch = watching(job, rivals, results)
        try:
            result = compute(job, [*listeners, *watch])
            results.save(job, result)
        except Stopped as stop:
            results.save_stopped(job, str(stop), watch[0].rival.job, provenance())
            return Finished(job, None, str(stop), stopped=True)
        except Diverged as error:
            return give_up(job, results, str(error))
        except (InputError, OSError) as error:
            return Finished(job, None, str(error))
        except Exception as error:
            return crashed(job, results, error, traceback.format_exc())
        forget(job)
        return Finished(job, result)


def give_up(
    job: Job,
    results: Results,
    message: str | None = None,
    made_with: dict[str, Any] | None = None,
) -> Finished:
    """The end of a job that diverged: it is recorded and not run again, its folder removed."""
    if message is not None:
        results.save_diverged(job, message, made_with or provenance())
        forget(job)
    reason = results.diverged(job)
    path = results.diverged_path(job)
    return Finished(job, None, f"{reason} It is not run again unless you delete {path}.")


def crashed(job: Job, results: Results, error: Exception | str, trace: str) -> Finished:
    """The end of a job that hit a bug: its traceback is kept, and other jobs continue."""
    path = results.save_crash(job, trace)
    what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return Finished(job, None, f"a bug ended it ({what}); the traceback is in {path}.")


def compute(job: Job, listeners: Sequence[Listener] = ()) -> dict[str, Any]:
    """The result of a job, from its checkpoint if there is one; nothing is stored."""
    return _explain(job, listeners) if job.explainer else _train(job, listeners)


def forget(job: Job) -> None:
    """Remove the checkpoint of a job whose result is stored."""
    if not job.explainer:
        shutil.rmtree(_folder(job), ignore_errors=True)


def _folder(job: Job) -> Path:
    return cache_dir() / "runs" / job.name


def _explain(job: Job, listeners: Sequence[Listener]) -> dict[str, Any]:
    """Explain the job's model; it stays in the cache folder for other explainers."""
    assert job.explainer is not None
    folder = model_folder(job.recipe, job.seed)
    if job.explainer == "pieces":
        return run_components(job.recipe, job.seed, folder=folder, listeners=listeners)
    study, _, who = job.explainer.partition(",")
    if study in STUDIES:
        return STUDIES[study](job.recipe, job.seed, who, folder=folder, listeners=listeners)
    return run_posthoc(job.recipe, job.seed, job.explainer, folder=folder, listeners=listeners)


def _train(job: Job, listeners: Sequence[Listener]) -> dict[str, Any]:
    """Continue from the job's checkpoint; start again if it cannot be used."""
    folder, recipe = _folder(job), job.recipe
    known: dict[str, Any] = {
        "report": False,
        "listeners": listeners,
        # As `gsina train` does with users' files.
        "baselines": isinstance(recipe.data, FileData)
        and (recipe.method.name == "gsina" or recipe.trees),
    }
    try:
        found = run(recipe, job.seed, out=folder, resume=True, **known)
    except UnusableCheckpoint:
        shutil.rmtree(folder, ignore_errors=True)
        found = run(recipe, job.seed, out=folder, **known)
    return found.result


def run_jobs(
    jobs: Sequence[Job],
    results: Results,
    *,
    processes: int = 1,
    cluster: str | None = None,
    on_epoch: Callable[[Job, dict[str, Any]], None] | None = None,
    until: float = math.inf,
    rivals: Mapping[str, Sequence[Job]] = MappingProxyType({}),
) -> Iterator[Finished]:
    """Run all jobs that have no result yet; yields each as it ends.

    Args:
        jobs: What to run.
        results: Where results are, and go.
        processes: Jobs at a time, each with one thread if there are several.
        cluster: ``auto`` or the address of a Ray cluster that runs the jobs instead.
        on_epoch: Called after every epoch; only with one process.
        until: No job is begun after this time of ``time.monotonic``; not with a cluster.
        rivals: By the name of a trial that may be stopped, all trials of its cell; not with a
            cluster, where every trial runs to its end.
    """
    waiting = pending(jobs, results)
    if cluster is not None:
        from gsina.paper.grid.cluster import run_on_ray

        yield from run_on_ray(waiting, results, cluster)
        return
    if processes == 1:
        for job in waiting:
            if time.monotonic() >= until:
                return
            listeners = [] if on_epoch is None else [OnEpoch(partial(on_epoch, job))]
            yield run_job(job, results, listeners, rivals.get(job.name, ()))
        return
    from gsina.paper.grid.workers import run_in_processes

    yield from run_in_processes(waiting, results, processes, until, rivals)
