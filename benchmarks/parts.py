"""Where a training step of GSINA goes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.report import Report, Table
from benchmarks.timing import Candidate, Timing, interleaved
from gsina.datasets import spmotif
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.methods.gsina import GSINA
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, embed
from gsina.ops.compiled import Graphs

WHOLE = "whole step"


def run(quick: bool) -> Report:
    seconds = 4 if quick else 40
    tables = []
    for title, make in _cases().items():
        batch, model = make()
        timings = interleaved(_parts(batch, model), seconds)
        tables.append(_shares(title, timings))
    return Report(tables)


def _cases() -> dict[str, Callable[[], tuple[Batch, GSINA]]]:
    graphs = spmotif.generate(0.5, "train", num_per_class=200)
    cases = {
        f"{name.upper()}, 128 SPMotif graphs": lambda name=name: (
            graphs.batch(torch.randperm(len(graphs))[:128]),
            _model(name, graphs.num_features, graphs.num_edge_features, Task("multiclass", 3), {}),
        )
        for name in ("gin", "pna")
    }
    if DATASETS["nci1"].at_hand():
        data = load_dataset("nci1")
        cases["GCN, 32 NCI1 graphs"] = lambda: (
            data.train.batch(torch.randperm(len(data.train))[:32]),
            _model("ogb-gcn", data.train.num_features, 0, data.task, {"scorer": "plain"}),
        )
    return cases


def _model(backbone: str, nodes: int, edges: int, task: Task, options: dict[str, object]) -> GSINA:
    torch.manual_seed(0)
    model = build_method("gsina", NetworkSpec(backbone, nodes, edges), task, options)
    assert isinstance(model, GSINA)
    return model.train()


def _parts(batch: Batch, model: GSINA) -> dict[str, Candidate]:
    """Every part alone, forward and backward, on inputs as the whole step gives it."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    attention = model.attention
    h = embed(model.extractor, batch).detach().requires_grad_()
    scores = attention.scorer(h, batch.edge_index, batch.edge_groups).detach().requires_grad_()
    edge = torch.rand(batch.num_edges, requires_grad=True)
    node = torch.rand(batch.num_nodes, requires_grad=True)

    def through(make: Callable[[], Tensor]) -> Candidate:
        return lambda: make().sum().backward()  # type: ignore[no-untyped-call]

    def select() -> Tensor:
        graphs = Graphs(batch.edge_groups, batch.edge_index, batch.reverse, batch.num_nodes)
        found = attention.select(scores, graphs, model.config.ratio, model.config.ratio)
        assert found.node is not None
        return found.edge.sum() + found.node.sum()

    def predict() -> Tensor:
        return model.predictor(batch, Attention(edge, node))  # type: ignore[no-any-return]

    return {
        WHOLE: lambda: model.step(batch, optimiser),
        "extractor": through(lambda: embed(model.extractor, batch)),
        "scorer": through(lambda: attention.scorer(h, batch.edge_index, batch.edge_groups)),
        "attention from scores": through(select),
        "predictor": through(predict),
        "Adam": lambda: optimiser.step(),
    }


def _shares(title: str, timings: dict[str, Timing]) -> Table:
    whole = timings[WHOLE].median
    rows = [
        (name, round(time.median * 1e3, 2), f"{time.median / whole:.0%}")
        for name, time in timings.items()
    ]
    return Table(f"{title}: parts of a GSINA step", ("part", "median ms", "of the step"), rows)
