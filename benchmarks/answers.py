"""How long a user waits for an answer that needs no tensors, beside ``import torch`` alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.report import Claim, Report, timing_table
from benchmarks.timing import interleaved

TORCH = "import torch"
COMMANDS = ("--help", "train --help", "datasets", "methods", "predict missing-run new.csv")


def run(quick: bool) -> Report:
    programs = {TORCH: ["-c", TORCH]}
    programs |= {f"gsina {command}": ["-m", "gsina", *command.split()] for command in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        candidates = {
            name: partial(
                subprocess.run, [sys.executable, *arguments], capture_output=True, cwd=folder
            )
            for name, arguments in programs.items()
        }
        timings = interleaved(candidates, 5 if quick else 60, at_least=3 if quick else 9)
    torch = timings[TORCH].median
    claims = [
        Claim(f"{name}, times {TORCH}", timing.median / torch, 1 / 3)
        for name, timing in timings.items()
        if name != TORCH
    ]
    return Report([timing_table("a whole process each", timings, TORCH)], claims)
