"""An epoch of GSINA with PNA on Spurious-Motif beside one of a plain PyG ``PNAConv`` network."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import PNAConv, global_mean_pool
from torch_geometric.utils import degree

from benchmarks.report import Cell, Report, Table
from benchmarks.timing import Candidate, interleaved
from benchmarks.training import BATCH, _batches, _step
from gsina.datasets import spmotif
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs

PEER = "PyG PNAConv network"
WIDTH, LAYERS = 80, 4


class PNANetwork(nn.Module):
    """Four ``PNAConv`` layers of width 80 as anybody would write them, with a mean and an MLP."""

    def __init__(self, features: int, edge_features: int, classes: int, degrees: Tensor) -> None:
        super().__init__()
        self.nodes = nn.Linear(features, WIDTH)
        self.edges = nn.Linear(edge_features, WIDTH)
        how = ["mean", "min", "max", "std", "sum"]
        self.layers = nn.ModuleList(
            PNAConv(WIDTH, WIDTH, how, ["identity"], degrees, edge_dim=WIDTH) for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in range(LAYERS))
        half, quarter = WIDTH // 2, WIDTH // 4
        self.head = nn.Sequential(
            nn.Linear(WIDTH, half),
            nn.ReLU(),
            nn.Linear(half, quarter),
            nn.ReLU(),
            nn.Linear(quarter, classes),
        )

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``[G, classes]``."""
        h, edges = self.nodes(batch.x), self.edges(batch.edge_attr)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = F.dropout(h + F.relu(norm(layer(h, batch.edge_index, edges))), 0.3, self.training)
        logits: Tensor = self.head(global_mean_pool(h, batch.node_graph, batch.num_graphs))
        return logits


def run(quick: bool) -> Report:
    graphs = spmotif.generate(0.5, "train", num_per_class=300 if quick else 3000)
    candidates = {
        PEER: _peer_step(graphs),
        "ERM with PNA": _step(graphs, "pna", "erm", {}),
        "GSINA with PNA": _step(graphs, "pna", "gsina", {"ratio": 0.1}),
    }
    timings = interleaved(candidates, 20 if quick else 120)
    steps = math.ceil(9000 / BATCH)
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            round(time.median * steps, 2),
            f"{time.low * steps:.2f} to {time.high * steps:.2f}",
            round(time.median / timings[PEER].median, 2),
        )
        for name, time in timings.items()
    ]
    title = f"PNA, an epoch of 9,000 SPMotif graphs: {steps} steps of the median time"
    columns = ("what", "seconds", "middle half", f"times {PEER}")
    return Report([Table(title, columns, rows)])


def _peer_step(graphs: PackedGraphs) -> Candidate:
    torch.manual_seed(0)
    batches = _batches(graphs)
    first = next(batches)
    degrees = torch.bincount(degree(first.edge_index[1], first.num_nodes, torch.long))
    model = PNANetwork(graphs.num_features, graphs.num_edge_features, 3, degrees)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)

    def step() -> None:
        batch = next(batches)
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(batch), batch.labels).backward()
        optimiser.step()

    return step
