"""A training step on one large graph: time beside the plain network, and peak memory.

Times are those of the processor, on one thread: what other processes take does not count.
"""

from __future__ import annotations

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import process_time

import torch

from benchmarks.report import Claim, Report, Table
from benchmarks.timing import Candidate, interleaved
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec

#: The shape of OGB-Arxiv and of the network that its benchmark has.
DEGREE, FEATURES, HIDDEN, LAYERS, CLASSES = 14, 128, 32, 5, 40
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "ERM": ("erm", {}),
    "GSINA": ("gsina", {"scorer": "narrow"}),
    "GSINA, scorer plain": ("gsina", {"scorer": "plain"}),
}
#: Edges, and how many rounds to time at least, after one that does not count.
SIZES = {100_000: 7, 1_000_000: 5, 10_000_000: 3}


def run(quick: bool) -> Report:
    rows, claims = [], []
    for edges in [100_000] if quick else SIZES:
        batch = random_graph(edges)
        steps = {name: step(batch, *method) for name, method in METHODS.items()}
        cost = interleaved(steps, 0, warmup=1, at_least=SIZES[edges], clock=process_time)
        del batch, steps
        memory = {name: peak_gib(edges, name) for name in ("nothing", *METHODS)}
        rows += [
            (
                f"{edges:,}" if name == "ERM" else "",
                f"{edges // DEGREE:,}" if name == "ERM" else "",
                name,
                round(cost[name].median, 3),
                round(cost[name].median / cost["ERM"].median, 2),
                round(memory[name], 2),
                round(memory["nothing"], 2),
            )
            for name in METHODS
        ]
        ratio = cost["GSINA"].median / cost["ERM"].median
        claims.append(Claim(f"{edges:,} edges: GSINA in times ERM", ratio, 3.5))
        if edges == 10_000_000:
            text = f"{edges:,} edges: peak GiB of"
            claims += [Claim(f"{text} {name}", memory[name], 10.0) for name in METHODS]
    title = (
        f"One full-batch step of SAGE with {LAYERS} layers, width {HIDDEN}, {FEATURES} features: "
        "forward, backward, Adam"
    )
    columns = ("edges", "nodes", "what", "seconds", "times ERM", "peak GiB", "graph alone GiB")
    return Report([Table(title, columns, rows)], claims)


def random_graph(edges: int) -> Batch:
    """An undirected random graph with labels; both directions of an edge count."""
    draw = torch.Generator().manual_seed(0)
    nodes, half = edges // DEGREE, edges // 2
    one_way = torch.randint(nodes, (2, half), generator=draw)
    opposite = torch.arange(half)
    return Batch(
        x=torch.randn(nodes, FEATURES, generator=draw),
        edge_index=torch.cat([one_way, one_way.flip(0)], dim=1),
        node_graph=torch.zeros(nodes, dtype=torch.long),
        edge_graph=torch.zeros(edges, dtype=torch.long),
        num_graphs=1,
        y=torch.randint(CLASSES, (nodes,), generator=draw),
        reverse=torch.cat([opposite + half, opposite]),
    )


def step(batch: Batch, method: str, options: dict[str, object]) -> Candidate:
    """A training step on the graph."""
    torch.manual_seed(0)
    task = Task("multiclass", CLASSES, level="node")
    spec = NetworkSpec("sage", FEATURES, 0, {"hidden_channels": HIDDEN, "num_layers": LAYERS})
    model = build_method(method, spec, task, options).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    return lambda: model.step(batch, optimiser, epoch=0)


def peak_gib(edges: int, method: str) -> float:
    """Largest memory of a process of its own that takes two steps; ``nothing`` takes none."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        return pool.submit(_peak_gib, edges, method).result()


def _peak_gib(edges: int, method: str) -> float:
    torch.set_num_threads(1)
    batch = random_graph(edges)
    if method in METHODS:
        take = step(batch, *METHODS[method])
        take()
        take()
    # Not getrusage: on Linux its peak starts with that of the process that started this one.
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 2**20
