from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gsina.parallel import cores, parallel_map
from processes import LIMIT, started, wait_until


def square(value: int) -> tuple[int, int]:
    return value * value, os.getpid()


def fail(value: int) -> int:
    raise ValueError(f"got {value}")


@pytest.mark.parametrize("jobs", [None, 1, 2])
def test_in_order(jobs: int | None) -> None:
    seen: list[tuple[int, int | None]] = []
    results = parallel_map(
        square, range(5), jobs=jobs, progress=lambda done, total: seen.append((done, total))
    )
    assert [result for result, _ in results] == [0, 1, 4, 9, 16]
    assert seen == [(done, 5) for done in range(1, 6)]
    if jobs == 1:
        assert {process for _, process in results} == {os.getpid()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_come_through(jobs: int) -> None:
    with pytest.raises(ValueError, match="got 7"):
        parallel_map(fail, [7, 7], jobs=jobs)


def test_nothing_to_do() -> None:
    assert parallel_map(square, []) == []


def test_cores() -> None:
    assert cores() >= 1


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\n"
        "from gsina.parallel import parallel_map\n"
        "def work(path):\n"
        "    open(f'{path}/{os.getpid()}', 'w').close()\n"
        "    time.sleep(3600)\n"
        f"parallel_map(work, [{str(tmp_path)!r}] * 2, jobs=2)\n"
    )

    def workers():
        return [path for path in tmp_path.iterdir() if path.name.isdigit()]

    with started([sys.executable, str(script)], stdout=subprocess.PIPE) as parent:
        wait_until(lambda: len(workers()) == 2, parent)
        parent.kill()
        # Raises if the pipe does not end, which the workers hold open as long as they live.
        parent.communicate(timeout=LIMIT)
        assert parent.returncode < 0
