"""Trials of a search on the workers of a Ray cluster; the storage ties them together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gsina.errors import InputError
from gsina.runs.ray_cluster import RETRIES, connect, device_there, needs, places
from gsina.tuning.study import Search, TrialResult, ended, open_study, run_trial
from gsina.tuning.tracking import Tracking

HERE = ("auto", "localhost", "127.0.0.1", "[::1]")


def run_trials_on_ray(
    search: Search,
    storage: str,
    name: str,
    trials: int,
    address: str,
    *,
    timeout: float | None = None,
    tracking: Tracking | None = None,
) -> Iterator[TrialResult]:
    """Run trials, one per core (or GPU), until the study has ``trials``; yields each as it ends.

    A trial whose worker dies is started again. Workers get training and validation graphs with
    the trial, so they need no files.

    Args:
        search: What is searched.
        storage: URL of the storage; an SQLite file only if all workers are on this machine.
        name: Name of the study.
        trials: Total number in the study, with those of earlier calls.
        address: ``auto`` or the address of the cluster.
        timeout: Seconds after which no trial starts.
        tracking: Who hears of the trials, from the machines on which they run.

    Raises:
        InputError: Workers on other machines could not reach the storage, or a trial found
            something wrong with the recipe or the data.
    """
    began = time.monotonic()
    check_reachable(storage, address)
    study = open_study(search, storage, name)
    if ended(study) >= trials:
        return
    ray = connect(address)
    if sum(node["Alive"] for node in ray.nodes()) > 1:
        _check_shared(storage, address)
    device = device_there(ray, search.recipe.run.device)
    remote = ray.remote(max_retries=RETRIES, **needs(device))(_run_remote)
    data = ray.put(replace(search, recipe=search.recipe.on_device(device)))
    most = places(ray, device)
    missing, turn = trials - ended(study), len(study.get_trials(deepcopy=False))
    running: set[Any] = set()
    yielded: set[int] = set()
    try:
        while missing or running:
            late = timeout is not None and time.monotonic() - began >= timeout
            missing = 0 if late else missing
            while missing and len(running) < most:
                running.add(remote.remote(data, storage, name, turn, tracking))
                missing, turn = missing - 1, turn + 1
            for reference in ray.wait(list(running), num_returns=1)[0] if running else []:
                running.remove(reference)
                result, error = ray.get(reference)
                if error is not None:
                    raise InputError(error)
                if result.number not in yielded:
                    yielded.add(result.number)
                    yield result
            if not (late or missing or running):  # two workers may have had the same trial
                missing = max(trials - ended(study), 0)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def check_reachable(storage: str, address: str) -> None:
    """Refuse an SQLite file for a cluster on other machines."""
    host = address.removeprefix("ray://").rpartition(":")[0] or address
    if host not in HERE:
        _check_shared(storage, address)


def _check_shared(storage: str, address: str) -> None:
    if storage.startswith("sqlite"):
        raise InputError(
            f"workers of the cluster {address} on other machines cannot share an SQLite file; give "
            "--storage the URL of a database that all of them reach, such as postgresql://..."
        )


def _run_remote(
    search: Search, storage: str, name: str, turn: int, tracking: Tracking | None
) -> tuple[TrialResult | None, str | None]:
    """One trial in a worker."""
    import torch

    torch.set_num_threads(1)
    try:
        study = open_study(search, storage, name)
        return run_trial(search, study, turn, tracking=tracking), None
    except (InputError, OSError) as error:
        return None, str(error)
