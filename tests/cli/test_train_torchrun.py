"""``torchrun -m gsina train``: two processes, one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from processes import LIMIT

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
    return subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT)


def test_two_processes_make_one_run_that_one_process_can_resume(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(command(2, *train(out)))
    assert done.returncode == 0, done.stderr
    assert "2 processes share every batch of 16" in done.stdout
    assert done.stdout.count("to look at in a browser") == 1
    result = json.loads((out / "result.json").read_text())
    assert result["epochs"] == 2
    again = run(resume(out, 3))
    assert again.returncode == 0, again.stderr
    assert "continuing after 2 epochs" in again.stdout
    assert json.loads((out / "result.json").read_text())["epochs"] == 3


def test_two_processes_train_on_a_file(tmp_path: Path) -> None:
    texts = ("CCO", "CCN", "c1ccccc1", "CC(=O)O")
    lines = [f"{'C' * (i // 4)}{texts[i % 4]},{i % 2}" for i in range(32)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,active", *lines]))
    arguments = ("-m", "gsina", "train", str(tmp_path / "m.csv"), "--target", "active")
    out = tmp_path / "run"
    done = run(command(2, *arguments, "--split", "random", "--epochs", "2", "--out", str(out)))
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "result.json").read_text())["epochs"] == 2
    assert (out / "model" / "model.json").exists()


def test_more_processes_than_graphs_is_one_sentence(tmp_path: Path) -> None:
    done = run(command(2, *train(tmp_path / "run", "--batch-size", "1")))
    assert done.returncode != 0
    assert "2 processes share batches of 1 graphs of" in done.stderr
    assert "Traceback (most recent call last)" not in done.stderr.split("torch/distributed")[0]


#: The command, but the second process is killed as it begins its third epoch. It has shared the
#: second one with the first process, which therefore has saved at least the first one.
KILLED = """
import os, signal
from gsina.cli import main
from gsina.training import loop
train = loop._epoch
def train_or_die(take, dataset, settings, epoch, on_batch):
    if (take.ranks.first, epoch) == (False, 2):
        os.kill(os.getpid(), signal.SIGKILL)
    return train(take, dataset, settings, epoch, on_batch)
loop._epoch = train_or_die
main()
"""


def test_a_killed_process_ends_the_job_and_the_checkpoint_stays(tmp_path: Path) -> None:
    out, script = tmp_path / "run", tmp_path / "killed.py"
    script.write_text(KILLED)
    job = run(command(2, str(script), *train(out, epochs=1000)[2:]))
    text = job.stdout + job.stderr
    assert job.returncode != 0
    assert "SIGKILL" in text or "another process of this training has ended" in text
    epochs = len((out / "log.jsonl").read_text().splitlines())
    again = run(resume(out, epochs + 1))
    assert again.returncode == 0, again.stderr
