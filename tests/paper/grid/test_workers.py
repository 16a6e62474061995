"""Runs in other processes and on a Ray cluster: the same files, and a dead worker is replaced."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from gsina.listeners import OnEpoch
from gsina.paper.grid import cluster, workers
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import Finished, compute, run_job, run_jobs
from gsina.runs import ray_cluster
from gsina.runs.job import Job
from gsina.runs.published import default_recipe


def jobs(count: int, epochs: int = 1) -> list[Job]:
    data = {"bias": 0.5, "num_per_class": 4}
    recipe = default_recipe("spmotif", "gin", "erm", data=data, epochs=epochs)
    return [Job(recipe, seed) for seed in range(count)]


def die_once(marker: Path) -> OnEpoch:
    """Kill the process after its first epoch, unless that has happened before."""

    def die(record: dict[str, object]) -> None:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return OnEpoch(die)


def _run_and_die_once(job: Job, results: Results, *others: object) -> Finished:
    """What a worker does, but the one with seed 0 dies at its first try."""
    return run_job(job, results, [die_once(results.root / "died")] if job.seed == 0 else [])


def test_a_killed_worker_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "run_job", _run_and_die_once)
    ended = list(run_jobs(jobs(3, epochs=2), Results(tmp_path), processes=2))
    assert (tmp_path / "died").exists()
    assert sorted(one.job.seed for one in ended) == [0, 1, 2]
    assert [one.error for one in ended] == [None] * 3


def test_a_job_that_always_dies_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_prepare_worker", _die)
    [ended] = workers.run_in_processes(jobs(1), Results(tmp_path), 1)
    assert ended.result is None
    assert ended.error == "its process was killed 3 times, perhaps for want of memory"


def _die(parent: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_full_disk_in_the_middle_of_a_grid_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, plain = Results(tmp_path), Results.save

    def save(self: Results, job: Job, result: dict[str, object]) -> None:
        if job.seed == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(self, job, result)

    monkeypatch.setattr(Results, "save", save)
    ended = list(run_jobs(jobs(3), results))
    assert [one.error for one in ended] == [None, "[Errno 28] No space left on device", None]
    monkeypatch.undo()
    [again] = run_jobs(jobs(3), results)
    assert (again.job.seed, again.error) == (1, None)


def test_an_address_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(ray_cluster, "PATIENCE", 4)
    with pytest.raises(ValueError, match=r"no Ray cluster answers at 127\.0\.0\.1:9 within 4 s"):
        ray_cluster.connect("127.0.0.1:9")


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
def test_ray_gives_the_files_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, died = jobs(3, epochs=2), tmp_path / "died"
    here, there = Results(tmp_path / "here"), Results(tmp_path / "there")
    list(run_jobs(some, here))
    plain, listeners = cluster._run_remote, [die_once(died)]

    def run_and_die_once(job: Job) -> object:
        if job.seed == 0 and not died.exists():
            compute(job, listeners)
        return plain(job)

    monkeypatch.setattr(cluster, "_run_remote", run_and_die_once)
    ended = list(run_jobs(some, there, cluster="auto"))
    assert died.exists(), "no worker was killed"
    assert [one.error for one in ended] == [None] * 3
    for job in some:
        first, second = here.load(job), there.load(job)
        assert first is not None
        assert second is not None
        assert first["metrics"] == second["metrics"]
    assert list(run_jobs(some, there, cluster="auto")) == []
