"""Runs in other processes and on a Ray cluster: the same files, and a dead worker is replaced."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gsina.paper.grid import cluster, workers
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import Finished, run_jobs
from gsina.runs.job import Job
from gsina.runs.published import default_recipe


def jobs(count: int, epochs: int = 1) -> list[Job]:
    data = {"bias": 0.5, "num_per_class": 4}
    recipe = default_recipe("spmotif", "gin", "erm", data=data, epochs=epochs)
    return [Job(recipe, seed) for seed in range(count)]


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        while not killed:
            for child in multiprocessing.active_children():
                if child.pid is not None and not killed:
                    os.kill(child.pid, signal.SIGKILL)
                    killed.append(child.pid)
            time.sleep(0.05)

    thread = threading.Thread(target=kill_one)
    thread.start()
    ended = list(run_jobs(jobs(3), Results(tmp_path), processes=2))
    thread.join()
    assert killed
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
    monkeypatch.setattr(cluster, "PATIENCE", 4)
    with pytest.raises(ValueError, match=r"no Ray cluster answers at 127\.0\.0\.1:9 within 4 s"):
        cluster.connect("127.0.0.1:9")


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def workers_of_ray() -> list[int]:
    """Processes that run a job now."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"ray::_run_remote" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
def test_ray_gives_the_files_of_one_process(tmp_path: Path) -> None:
    some = jobs(3, epochs=60)  # long enough to be caught at work
    here, there = Results(tmp_path / "here"), Results(tmp_path / "there")
    list(run_jobs(some, here))
    ended: list[Finished] = []
    thread = threading.Thread(target=lambda: ended.extend(run_jobs(some, there, cluster="auto")))
    thread.start()
    limit = time.monotonic() + 60
    while not (running := workers_of_ray()) and time.monotonic() < limit and thread.is_alive():
        time.sleep(0.02)
    for pid in running[:1]:
        os.kill(pid, signal.SIGKILL)
    thread.join()
    assert running, "no worker was seen, so none was killed"
    assert [one.error for one in ended] == [None] * 3
    for job in some:
        first, second = here.load(job), there.load(job)
        assert first is not None
        assert second is not None
        assert first["metrics"] == second["metrics"]
    assert list(run_jobs(some, there, cluster="auto")) == []
