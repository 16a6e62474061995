"""Real processes that are interrupted or killed, and go on as if nothing had happened."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from cli.runs import SMALL, assert_same_run
from processes import LIMIT, started, wait_until

RUN = (*SMALL, "--epochs", 15, "--patience", 15)
#: The command, but in the middle of its third epoch it makes a file and waits for its end.
WAITING = """
import sys, time
from pathlib import Path
from gsina.cli import main
from gsina.training import loop
ready, check = Path(sys.argv.pop(1)), loop.check_finite
def check_and_wait(batch, totals, epoch, step):
    check(batch, totals, epoch, step)
    if (epoch, step) == (2, 1):
        ready.touch()
        time.sleep(3600)
loop.check_finite = check_and_wait
main()
"""


def start(out: Path, ready: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WAITING, str(ready), *map(str, RUN), "--out", str(out)]
    return started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_interrupted_and_killed_runs_resume_bit_for_bit(gsina, tmp_path):
    whole, interrupted, killed = (tmp_path / name for name in ("whole", "interrupted", "killed"))
    ready = [tmp_path / "ready-to-interrupt", tmp_path / "ready-to-kill"]
    with start(interrupted, ready[0]) as first, start(killed, ready[1]) as second:
        wait_until(ready[0].exists, first)
        first.send_signal(signal.SIGINT)
        wait_until(ready[1].exists, second)
        second.kill()
        output, errors = first.communicate(timeout=LIMIT)
    assert first.returncode == 130, errors
    assert "Traceback" not in output + errors
    assert "2 whole epochs are saved in" in output
    for folder in (interrupted, killed):
        assert (folder / "checkpoint.safetensors").exists()
        assert not (folder / "result.json").exists()

    assert gsina(*RUN, "--out", whole).exit_code == 0
    # The command that the program printed is the one that works.
    line = next(line for line in output.splitlines() if line.startswith("continue with: "))
    arguments = shlex.split(line.removeprefix("continue with: "))
    arguments = arguments[arguments.index("train") :]
    assert gsina(*arguments).exit_code == 0
    assert_same_run(whole, interrupted)

    assert gsina(*RUN, "--out", killed, "--resume").exit_code == 0
    assert_same_run(whole, killed)
