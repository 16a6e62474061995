"""A training step of GSINA with the plain scorer in times ERM's, by either way of MKL.

On a processor of another maker than Intel, MKL makes the products of torch without its widest
vectors. A library of two functions, loaded before torch, answers its question about the maker; the
same steps are then timed in a process that has it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.report import Cell, Claim, Report, Table
from benchmarks.timing import Candidate, interleaved
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.ops.memory import reuse_memory
from gsina.runs.provenance import mkl
from gsina.runs.published import default_recipe
from gsina.runs.run import make_method

#: Datasets with their network, what to call them, and the most that a step may take in times ERM's.
CASES = {
    "spmotif-struc": ("ogb-gcn", "SPMotif-Struc, GCN", 2.2),
    "nci1": ("ogb-gcn", "NCI1, GCN", 2.2),
    "drugood-ec50-size": ("ogb-gin", "molecules (DrugOOD, EC50), GIN", 2.2),
    "dd": ("ogb-gcn", "DD, GCN", None),
}
METHODS = ("erm", "gsina")
SECONDS, QUICK_SECONDS = 15.0, 3.0
#: What MKL asks.
ANSWER = b"""
int mkl_serv_intel_cpu_true(void) { return 1; }
int mkl_serv_intel_cpu(void) { return 1; }
"""


def run(quick: bool) -> Report:
    seconds = QUICK_SECONDS if quick else SECONDS
    here = measure(seconds)
    tables = [_table("a step with the plain scorer", here)]
    claims = [
        Claim(f"{title}: GSINA in times ERM", here[name]["gsina"] / here[name]["erm"], bar)
        for name, (_, title, bar) in CASES.items()
        if bar is not None and name in here
    ]
    there = measure_answered(seconds) if mkl() == "for others" else None
    if there:
        tables.append(_table("the same where MKL takes the processor for Intel's", there))
        ratios: list[tuple[Cell, ...]] = [
            (CASES[name][1], *(_ratio(here[name][one], there[name][one]) for one in METHODS))
            for name in here
        ]
        title = "times as fast where MKL takes the processor for Intel's"
        tables.append(Table(title, ("graphs and network", "ERM", "GSINA"), ratios))
    return Report(tables, claims)


def measure(seconds: float) -> dict[str, dict[str, float]]:
    """Median seconds of a step of every method on the datasets that are at hand."""
    found = {}
    for name, (backbone, _, _) in CASES.items():
        if DATASETS[name].at_hand():
            steps = _steps(name, backbone)
            timings = interleaved(steps, seconds, warmup=5, clock=time.process_time)
            found[name] = {method: timing.median for method, timing in timings.items()}
    return found


def measure_answered(seconds: float) -> dict[str, dict[str, float]] | None:
    """The same in a process with the library; ``None`` without a C compiler."""
    with tempfile.TemporaryDirectory() as folder:
        library, compiler = Path(folder) / "answer.so", shutil.which("cc")
        if compiler is None:
            return None
        made = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(made, input=ANSWER, check=True)
        call = [sys.executable, "-m", "benchmarks.steps", str(seconds)]
        given = os.environ | {"LD_PRELOAD": str(library)}
        done = subprocess.run(call, env=given, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def _steps(name: str, backbone: str) -> dict[str, Candidate]:
    dataset = load_dataset(name)
    size = default_recipe(name, backbone, "erm").optimiser.batch_size

    def step(method: str) -> Candidate:
        options = {"scorer": "plain", "scope": "graph"} if method == "gsina" else {}
        torch.manual_seed(0)
        recipe = default_recipe(name, backbone, method, options=options)
        model = make_method(recipe, dataset).train()
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
        batches = _batches(dataset.train, size)
        return lambda: model.step(next(batches), optimiser)

    return {method: step(method) for method in METHODS}


def _batches(graphs: PackedGraphs, size: int) -> Iterator[Batch]:
    shuffle = torch.Generator().manual_seed(0)
    while True:
        yield from graphs.batches(size, shuffle)


def _table(title: str, found: dict[str, dict[str, float]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            CASES[name][1],
            round(cost["erm"] * 1e3, 2),
            round(cost["gsina"] * 1e3, 2),
            _ratio(cost["gsina"], cost["erm"]),
        )
        for name, cost in found.items()
    ]
    return Table(title, ("graphs and network", "ERM ms", "GSINA ms", "times ERM"), rows)


def _ratio(one: float, other: float) -> float:
    return round(one / other, 2)


if __name__ == "__main__":
    reuse_memory()
    print(json.dumps(measure(float(sys.argv[1]))))
