"""Runs on a Ray cluster: many trainings on many machines.

The workers compute, the process that started them writes the result files, so the machines need no
common disk; with one (a shared ``GSINA_CACHE``) a job that is moved continues from its checkpoint.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gsina.errors import InputError
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import Finished, compute, crashed, forget, give_up
from gsina.runs.job import Job
from gsina.runs.provenance import provenance
from gsina.runs.ray_cluster import RETRIES, connect, device_there, needs, places
from gsina.training import Diverged


def run_on_ray(jobs: Sequence[Job], results: Results, address: str) -> Iterator[Finished]:
    """Run the jobs on a cluster, one per core (or GPU); yields each as it ends.

    A job whose worker dies is started again. A job that another process holds is left alone.
    """
    ray = connect(address)
    device = device_there(ray, jobs[0].recipe.run.device if jobs else "cpu")
    remote = ray.remote(max_retries=RETRIES, **needs(device))(_run_remote)
    most = places(ray, device)
    waiting = deque(jobs)
    with ExitStack() as locks:
        running: dict[Any, tuple[Job, ExitStack]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    job = waiting.popleft()
                    lock = locks.enter_context(ExitStack())
                    if not lock.enter_context(results.claim(job)):
                        yield Finished(job, None, "another process is running it")
                        continue
                    reference = remote.remote(replace(job, recipe=job.recipe.on_device(device)))
                    running[reference] = (job, lock)
                for reference in ray.wait(list(running), num_returns=1)[0] if running else []:
                    job, lock = running.pop(reference)
                    yield _collect(ray, reference, job, results)
                    lock.close()
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def _collect(ray: Any, reference: Any, job: Job, results: Results) -> Finished:
    """Store the result of a job that has ended."""
    try:
        result, error, made_with, trace = ray.get(reference)
        if trace is not None:
            return crashed(job, results, error, trace)
        if made_with is not None:
            return give_up(job, results, error, made_with)
        if result is not None:
            results.save(job, result)
            forget(job)
        return Finished(job, result, error)
    except (ray.exceptions.RayError, OSError) as error:
        first, *_ = (str(error).strip() or type(error).__name__).splitlines()
        return Finished(job, None, first)


def _run_remote(
    job: Job,
) -> tuple[dict[str, Any] | None, str | None, dict[str, Any] | None, str | None]:
    """Compute one job in a worker.

    Returns:
        Its result; or why there is none and, if it diverged, on what machine; or the bug that ended
        it, and its traceback.
    """
    import torch

    torch.set_num_threads(1)
    try:
        return compute(job), None, None, None
    except (InputError, OSError) as error:
        return None, str(error), provenance() if isinstance(error, Diverged) else None, None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}", None, traceback.format_exc()
