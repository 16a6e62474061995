"""``torchrun -m gsina train``: two processes, one run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def command(processes: int, *arguments: str) -> list[str]:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    # A free port for every job, so that tests side by side do not meet.
    return [*torchrun, "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", *arguments]


def train(out: Path, *more: str, epochs: int = 2) -> tuple[str, ...]:
    data = ("--data-option", "num_per_class=10", "--bias", "0.5", "--batch-size", "16")
    options = ("--set", "noise=0.0", "--epochs", str(epochs), "--out", str(out))
    return ("-m", "gsina", "train", "spmotif", *data, *options, *more)


def resume(out: Path, epochs: int) -> list[str]:
    """One process that goes on with a run."""
    arguments = ("train", "--out", str(out), "--resume", "--epochs", str(epochs))
    return [sys.executable, "-m", "gsina", *arguments]


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=240)


def test_two_processes_make_one_run_that_one_process_can_resume(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(command(2, *train(out)))
    assert done.returncode == 0, done.stderr
    assert "2 processes share every batch of 16" in done.stdout
    assert done.stdout.count("weights, log and result are in") == 1
    result = json.loads((out / "result.json").read_text())
    assert result["epochs"] == 2
    again = run(resume(out, 3))
    assert again.returncode == 0, again.stderr
    assert "going on after 2 epochs" in again.stdout
    assert json.loads((out / "result.json").read_text())["epochs"] == 3


def test_more_processes_than_graphs_is_one_sentence(tmp_path: Path) -> None:
    done = run(command(2, *train(tmp_path / "run", "--batch-size", "1")))
    assert done.returncode != 0
    assert "2 processes share batches of 1 graphs of" in done.stderr
    assert "Traceback (most recent call last)" not in done.stderr.split("torch/distributed")[0]


def test_a_killed_process_ends_the_job_and_the_checkpoint_stays(tmp_path: Path) -> None:
    out = tmp_path / "run"
    job = subprocess.Popen(
        command(2, *train(out, epochs=1000)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        limit = time.monotonic() + 120
        while not (out / "checkpoint.safetensors").exists() and time.monotonic() < limit:
            time.sleep(0.1)
        children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        os.kill(int(children[-1]), signal.SIGKILL)
        text, _ = job.communicate(timeout=90)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    assert job.returncode != 0
    assert "SIGKILL" in text or "another process of this training has ended" in text
    epochs = len((out / "log.jsonl").read_text().splitlines())
    again = run(resume(out, epochs + 1))
    assert again.returncode == 0, again.stderr
