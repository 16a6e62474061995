"""Real processes that are interrupted or killed, and go on as if nothing had happened."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from cli.runs import SMALL, assert_same_run

RUN = (*SMALL, "--epochs", 15, "--patience", 15)
#: The command, but with a rest after every epoch, so that there is time to interrupt it.
SLOWLY = """
import time
from gsina.cli import main
from gsina.training import loop
write = loop._write_log
loop._write_log = lambda *arguments: (write(*arguments), time.sleep(0.3))
main()
"""


def start(out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOWLY, *map(str, RUN), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_epochs(process: subprocess.Popen[str], log: Path, epochs: int) -> None:
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        if log.exists() and len(log.read_text().splitlines()) >= epochs:
            return
        time.sleep(0.01)
    raise AssertionError(f"the run did not come to epoch {epochs}: {process.communicate()}")


def test_interrupted_and_killed_runs_resume_bit_for_bit(gsina, tmp_path):
    whole, interrupted, killed = (tmp_path / name for name in ("whole", "interrupted", "killed"))
    with start(interrupted) as first, start(killed) as second:
        wait_for_epochs(first, interrupted / "log.jsonl", 2)
        first.send_signal(signal.SIGINT)
        wait_for_epochs(second, killed / "log.jsonl", 1)
        second.kill()
        output, errors = first.communicate(timeout=60)
    assert first.returncode == 130, errors
    assert "Traceback" not in output + errors
    assert "whole epochs are saved in" in output
    for folder in (interrupted, killed):
        assert (folder / "checkpoint.safetensors").exists()
        assert not (folder / "result.json").exists()

    assert gsina(*RUN, "--out", whole).exit_code == 0
    # The command that the program printed is the one that works.
    line = next(line for line in output.splitlines() if line.startswith("go on with: "))
    arguments = shlex.split(line.removeprefix("go on with: "))
    arguments = arguments[arguments.index("train") :]
    assert gsina(*arguments).exit_code == 0
    assert_same_run(whole, interrupted)

    assert gsina(*RUN, "--out", killed, "--resume").exit_code == 0
    assert_same_run(whole, killed)
