"""Growth with the number of edges: time and memory per edge, from a thousand to ten million."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.report import Claim, Report, Table

#: Below this everything fits into the processor's cache, or the cost of a call still shows.
BEYOND_CACHE = 1_000_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)
FIGURE = Path(__file__).parent.parent / "docs" / "img" / "scaling.png"

PREAMBLE = """
import json, re, sys, time
import torch
from gsina.ops.memory import reuse_memory
torch.set_num_threads(1)
reuse_memory()
edges, rounds = int(sys.argv[1]), int(sys.argv[2])
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
"""
OPERATOR = """
from gsina import soft_top_r
def make(edges):
    scores = torch.randn(edges, generator=torch.Generator().manual_seed(0)).requires_grad_()
    def call():
        weights = soft_top_r(scores, 0.5)
        torch.autograd.grad(weights, scores, torch.ones_like(weights))
    return call
"""
STEP = """
from benchmarks.large_graphs import METHODS, random_graph, step
def make(edges):
    return step(random_graph(edges), *METHODS["GSINA"])
"""
MEASURE = """
small = make(1000)
for _ in range(3):
    small()  # whatever is loaded at the first use is no memory of an edge
before = peak()
call = make(edges)
call()
times = []
for _ in range(rounds):
    start = time.perf_counter()
    call()
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": sorted(times)[len(times) // 2], "bytes": peak() - before}))
"""
SUBJECTS = {"soft_top_r, forward and backward": OPERATOR, "GSINA-SAGE, a training step": STEP}


def run(quick: bool) -> Report:
    sizes = SIZES[:4] if quick else SIZES
    measured = {
        subject: {edges: _measure(code, edges) for edges in sizes}
        for subject, code in SUBJECTS.items()
    }
    tables, claims = [], []
    for subject, by_size in measured.items():
        rows = [
            (f"{edges:,}", round(ns, 1), round(size, 1)) for edges, (ns, size) in by_size.items()
        ]
        tables.append(Table(subject, ("edges", "ns per edge", "bytes per edge at the peak"), rows))
        beyond = [by_size[edges] for edges in sizes if edges >= BEYOND_CACHE]
        for place, what in enumerate(("time", "memory")):
            values = [pair[place] for pair in beyond]
            text = f"{subject}: largest over smallest {what} per edge beyond the cache"
            claims.append(Claim(text, max(values) / max(min(values), 1e-9), 1.5))
    if not quick:
        _draw(measured)
    return Report(tables, claims)


def _measure(code: str, edges: int) -> tuple[float, float]:
    """Nanoseconds and bytes per edge, in a process of its own."""
    rounds = 3 if edges > 1_000_000 else 15
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code + MEASURE, str(edges), str(rounds)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return found["seconds"] / edges * 1e9, found["bytes"] / edges


def _draw(measured: dict[str, dict[int, tuple[float, float]]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure((9, 3.6), layout="constrained")
    for axes, place, what in zip(
        figure.subplots(1, 2), (0, 1), ("ns per edge", "bytes per edge"), strict=True
    ):
        for subject, by_size in measured.items():
            axes.plot(
                list(by_size), [pair[place] for pair in by_size.values()], "o-", label=subject
            )
        axes.set(xscale="log", yscale="log", xlabel="edges", ylabel=what)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(FIGURE, dpi=150)
