"""``gsina predict`` on a long file: rows per CPU second, all columns included, and peak memory.

The command runs as users run it, with the default for molecules, on one processor, on a short and
on a long file made of ogbg-molhiv; memory must not grow with the length. CPU seconds, as other
processes do not count in them. Rows that come back are not remembered that long.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.report import Claim, Report, Table
from gsina.files import data_dir
from gsina.molecules.descriptors import USUAL
from gsina.runs.defaults import file_recipe
from gsina.runs.run import run as train

FILE = "ogb/ogbg_molhiv/mapping/mol.csv.gz"
LENGTHS, TRAINED = (2_000, 20_000), 2_000


def run(quick: bool) -> Report:
    lengths = (1_000, 4_000) if quick else LENGTHS
    with gzip.open(data_dir() / FILE, "rt") as source:
        header, *lines = source.readlines()
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "table.csv", Path(folder) / "run"
        table.write_text("".join([header, *lines[:TRAINED]]))
        columns = {"smiles": "smiles", "targets": ["Label"], "features": list(USUAL)}
        train(file_recipe("molecules", (table,), columns, epochs=1), out=model, report=False)
        found = []
        for length in lengths:
            table.write_text("".join([header, *islice(cycle(lines), length)]))
            found.append(_measure(["predict", str(model), str(table), "--force"]))
    rows = [
        (f"{length:,}", round(seconds, 1), round(length / seconds), round(peak, 2))
        for length, (seconds, peak) in zip(lengths, found, strict=True)
    ]
    seconds, peak = found[-1]
    # Without the start of the program, which a file of any length has once.
    speed = (lengths[1] - lengths[0]) / (seconds - found[0][0])
    return Report(
        [Table("gsina predict", ("rows", "CPU s", "rows per CPU s", "peak GiB"), rows)],
        [
            Claim("further rows per CPU second", speed, 2000, at_least=True),
            Claim("peak memory of the long file in times the short one's", peak / found[0][1], 1.2),
        ],
    )


def _measure(arguments: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and peak GiB of a command on one processor."""
    one = {min(os.sched_getaffinity(0))}
    child = subprocess.Popen(
        [sys.executable, "-m", "gsina", *arguments],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, one),
    )
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"gsina {' '.join(arguments)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20
