"""A training step of each method on Spurious-Motif, and the share that making the batch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.report import Claim, Report, timing_table
from benchmarks.timing import Candidate, interleaved
from gsina.datasets import spmotif
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec

BATCH = 128
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "ERM": ("erm", {}),
    "GSAT": ("gsat", {}),
    "GSINA": ("gsina", {"ratio": 0.6}),
    "GSINA, scope batch": ("gsina", {"ratio": 0.6, "scope": "batch"}),
}
ASSEMBLY = "the batch alone"


def run(quick: bool) -> Report:
    graphs = spmotif.generate(0.5, "train", num_per_class=3000)
    tables, claims = [], []
    for backbone, seconds in (("gin", 15 if quick else 120), ("pna", 25 if quick else 120)):
        steps = {label: _step(graphs, backbone, *method) for label, method in METHODS.items()}
        timings = interleaved(steps | {ASSEMBLY: _assembly(graphs)}, seconds)
        title = (
            f"{backbone.upper()}, batches of {BATCH} SPMotif graphs: batch, forward, backward, Adam"
        )
        tables.append(timing_table(title, timings, "ERM"))
        cost = {label: timing.median for label, timing in timings.items()}
        name = backbone.upper()
        bar = 1.05 if backbone == "gin" else 1.10
        claims.append(Claim(f"{name}: GSINA in times GSAT", cost["GSINA"] / cost["GSAT"], bar))
        if backbone == "gin":
            scope = cost["GSINA"] / cost["GSINA, scope batch"]
            claims.append(Claim("GIN: GSINA in times its scope batch", scope, 1.05))
            share = cost[ASSEMBLY] / cost["ERM"]
            claims.append(Claim("GIN: share of ERM's step that makes the batch", share, 0.15))
    return Report(tables, claims)


def _batches(graphs: PackedGraphs) -> Iterator[Batch]:
    shuffle = torch.Generator().manual_seed(0)
    while True:
        yield from graphs.batches(BATCH, shuffle)


def _assembly(graphs: PackedGraphs) -> Candidate:
    batches = _batches(graphs)
    return lambda: next(batches)


def _step(
    graphs: PackedGraphs, backbone: str, method: str, options: dict[str, object]
) -> Candidate:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, graphs.num_features, graphs.num_edge_features)
    model = build_method(method, spec, Task("multiclass", 3), options)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    batches = _batches(graphs)
    return lambda: model.step(next(batches), optimiser, epoch=0)
