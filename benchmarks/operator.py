"""`soft_top_r`: speed against other ways to weigh edges, and memory for one large graph."""

from __future__ import annotations

import subprocess
import sys

import torch
from torch import Tensor

from benchmarks import peers
from benchmarks.report import Claim, Report, Table, timing_table
from benchmarks.timing import Candidate, Timing, interleaved
from gsina import soft_top_r
from gsina.ops.compiled import torch_alone
from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r

GRAPHS = 128
RATIO = 0.5
SWEEPS = 10
OURS = "soft_top_r"
LOOP = f"padded loop, {SWEEPS} sweeps"
RAGGED = f"ragged sweeps, {SWEEPS} sweeps"

# Not getrusage: on Linux its peak starts with that of the process that started this one.
LARGE_GRAPH = """
import re
import torch
from gsina import soft_top_r
torch.set_num_threads(1)
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 2**20
before = peak()
scores = torch.randn({edges}, generator=torch.Generator().manual_seed(0)).requires_grad_()
weights = soft_top_r(scores, {ratio})
weights.backward(torch.ones_like(weights))
after = peak()
error = abs(float(weights.double().mean()) - {ratio})
print(before, after, error)
"""


def run(quick: bool) -> Report:
    tables, claims = [], []
    for edges in (6_000, 25_000):
        timings = _batch(edges, seconds=2 if quick else 30)
        title = f"{GRAPHS} graphs with {edges:,} edges in all, forward and backward, tau = 1"
        tables.append(timing_table(title, timings, OURS))
        ours = timings[OURS].median
        claims += [
            Claim(
                f"{LOOP} takes so many times as long, {edges:,} edges",
                timings[LOOP].median / ours,
                15,
                at_least=True,
            ),
            Claim(
                f"{RAGGED} takes so many times as long, {edges:,} edges",
                timings[RAGGED].median / ours,
                1,
                at_least=True,
            ),
        ]
    tables.append(_one_graph(seconds=1 if quick else 10))
    if sys.platform == "linux":
        table, claim = _large_graph(10_000_000)
        tables.append(table)
        claims.append(claim)
    return Report(tables, claims)


def _batch(edges: int, seconds: float) -> dict[str, Timing]:
    """Forward and backward of every candidate on the same batch."""
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(GRAPHS, (edges,), generator=generator).sort().values
    scores = torch.randn(edges, generator=generator).requires_grad_()
    upstream = torch.randn(edges, generator=generator)
    groups = Groups(index, GRAPHS, edges)

    def with_gradient(weights: Tensor) -> None:
        torch.autograd.grad(weights, scores, upstream)

    def by_torch() -> None:
        with torch_alone():
            with_gradient(soft_top_r(scores, RATIO, index, num_groups=GRAPHS))

    candidates: dict[str, Candidate] = {
        OURS: lambda: with_gradient(soft_top_r(scores, RATIO, index, num_groups=GRAPHS)),
        f"{OURS} without its compiled kernel": by_torch,
        LOOP: lambda: with_gradient(peers.padded_loop(scores, RATIO, index, GRAPHS, SWEEPS)),
        f"padded batch, {SWEEPS} sweeps": lambda: with_gradient(
            peers.padded_batch(scores, RATIO, index, GRAPHS, SWEEPS)
        ),
        RAGGED: lambda: with_gradient(
            soft_top_r(
                scores, RATIO, index, num_groups=GRAPHS, solver="sinkhorn", iterations=SWEEPS
            )
        ),
        "plain sigmoid": lambda: with_gradient(torch.sigmoid(scores)),
        "hard top-r, forward only": lambda: hard_top_r(scores, RATIO, groups),
    }
    return interleaved(candidates, seconds)


def _one_graph(seconds: float, edges: int = 200) -> Table:
    scores = torch.randn(edges, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    timings = interleaved(
        {
            OURS: lambda: soft_top_r(scores, RATIO),
            "POT, log domain, to 1e-9": lambda: peers.transport(scores, RATIO),
        },
        seconds,
    )
    return timing_table(f"one graph with {edges} edges, float64, forward", timings, OURS)


def _large_graph(edges: int) -> tuple[Table, Claim]:
    """Peak memory in a process of its own."""
    code = LARGE_GRAPH.format(edges=edges, ratio=RATIO)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after, error = (float(number) for number in done.stdout.split())
    table = Table(
        f"one graph with {edges:,} edges, forward and backward",
        ("peak GiB", "of it torch itself GiB", "bytes per edge", "error of the mean"),
        [
            (
                round(after, 2),
                round(before, 2),
                round((after - before) * 2**30 / edges),
                f"{error:.1e}",
            )
        ],
    )
    return table, Claim(f"peak memory in GiB with {edges:,} edges", after, 2)
