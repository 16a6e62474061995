"""Runs on a Ray cluster: many trainings on many machines.

The workers compute, the process that started them writes the result files, so the machines need no
common disk; with one (a shared ``GSINA_CACHE``) a job that is moved goes on from its checkpoint.
"""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from gsina.experiments.recipe import Recipe
from gsina.experiments.results import Job, Results
from gsina.experiments.run import provenance
from gsina.experiments.runner import Finished, compute, forget, give_up
from gsina.training import Diverged

#: Seconds to wait for a cluster to answer.
PATIENCE = 20
#: How often Ray starts a job again after its worker has died.
RETRIES = 3

_PROBE = "import ray, sys; ray.init(address=sys.argv[1], log_to_driver=False)"


def connect(address: str) -> Any:
    """Join a cluster and return the module ``ray``.

    Args:
        address: ``host:port``, ``ray://host:port``, or ``auto``: the cluster that runs on this
            machine, or else a new one of its cores.

    Raises:
        ValueError: Ray is not installed, or nothing answers within 20 seconds.
    """
    try:
        import ray
    except ImportError:
        raise ValueError("--ray needs Ray; install it with pip install 'gsina[cluster]'.") from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "auto":
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError:
            ray.init(include_dashboard=False, **quiet)
        return ray
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE, address], capture_output=True, timeout=PATIENCE
        )
        answered = probe.returncode == 0
    except subprocess.TimeoutExpired:
        answered = False
    if not answered:
        raise ValueError(
            f"no Ray cluster answers at {address} within {PATIENCE} s; check the address and the "
            "firewall, start one with: ray start --head, or run here with --jobs."
        )
    ray.init(address=address, **quiet)
    return ray


def run_on_ray(jobs: Sequence[Job], results: Results, address: str) -> Iterator[Finished]:
    """Run the jobs on a cluster, one a core; yields each as it ends.

    A job whose worker dies is started again. A job that another process holds is left alone.
    """
    ray = connect(address)
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_run_remote)
    places = max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = deque(jobs)
    with ExitStack() as locks:
        running: dict[Any, tuple[Job, ExitStack]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < places:
                    job = waiting.popleft()
                    lock = locks.enter_context(ExitStack())
                    if not lock.enter_context(results.claim(job)):
                        yield Finished(job, None, "another process is running it")
                        continue
                    reference = remote.remote(job.recipe.model_dump(), job.seed, job.explainer)
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
        result, error, made_with = ray.get(reference)
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
    recipe: dict[str, Any], seed: int, explainer: str | None
) -> tuple[dict[str, Any] | None, str | None, dict[str, Any] | None]:
    """Compute one job in a worker: its result, or why not and, if it diverged, on what machine."""
    import torch

    torch.set_num_threads(1)
    try:
        return compute(Job(Recipe.parse(recipe), seed, explainer)), None, None
    except (ValueError, RuntimeError, OSError) as error:
        return None, str(error), provenance() if isinstance(error, Diverged) else None
