"""The edge scorer: how much more it costs than the matrix products in it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import InstanceNorm

from benchmarks.report import Claim, Report, timing_table
from benchmarks.timing import Candidate, interleaved
from gsina.datasets import spmotif
from gsina.graphs.batch import Batch
from gsina.nn.scorer import NormedScorer
from gsina.ops.groups import Groups

CHANNELS = 64
GRAPHS = 128
OURS = "NormedScorer"
BARE = "its bare matrix products"


class StraightforwardScorer(nn.Module):
    """The same layers from PyTorch's and PyG's parts: concatenation, instance norm, dropout."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Linear(2 * channels, 4 * channels)
        self.second = nn.Linear(4 * channels, channels)
        self.last = nn.Linear(channels, 1)
        self.norms = nn.ModuleList([InstanceNorm(4 * channels), InstanceNorm(channels)])

    def forward(self, h: Tensor, edge_index: Tensor, edge_graph: Tensor, graphs: int) -> Tensor:
        """Scores ``[E]``."""
        z = torch.cat([h[edge_index[0]], h[edge_index[1]]], 1)
        for layer, norm in zip((self.first, self.second), self.norms, strict=True):
            z = F.dropout(F.relu(norm(layer(z), edge_graph, graphs)), 0.5, self.training)
        scores: Tensor = self.last(z)
        return scores.squeeze(-1)


def run(quick: bool) -> Report:
    graphs = spmotif.generate(0.5, "train", num_per_class=GRAPHS)
    batch = graphs.batch(
        torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))[:GRAPHS]
    )
    timings = interleaved(_candidates(batch), seconds=3 if quick else 40)
    title = (
        f"{GRAPHS} SPMotif graphs ({batch.num_nodes:,} nodes, {batch.num_edges:,} edges), width "
        f"{CHANNELS}, training, forward and backward"
    )
    ratio = timings[OURS].median / timings[BARE].median
    return Report(
        [timing_table(title, timings, OURS)], [Claim(f"{OURS} in times {BARE}", ratio, 3)]
    )


def _candidates(batch: Batch) -> dict[str, Candidate]:
    torch.manual_seed(0)
    h = torch.randn(batch.num_nodes, CHANNELS, requires_grad=True)
    upstream = torch.randn(batch.num_edges)
    groups = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    ours, theirs = NormedScorer(CHANNELS), StraightforwardScorer(CHANNELS)
    return {
        OURS: lambda: ours(h, batch.edge_index, groups).backward(upstream),
        BARE: _products(
            [
                (batch.num_nodes, CHANNELS, 4 * CHANNELS),
                (batch.num_nodes, CHANNELS, 4 * CHANNELS),
                (batch.num_edges, 4 * CHANNELS, CHANNELS),
                (batch.num_edges, CHANNELS, 1),
            ]
        ),
        "matrix products on the edges": _products(
            [
                (batch.num_edges, 2 * CHANNELS, 4 * CHANNELS),
                (batch.num_edges, 4 * CHANNELS, CHANNELS),
                (batch.num_edges, CHANNELS, 1),
            ]
        ),
        "straightforward scorer": lambda: theirs(
            h, batch.edge_index, batch.edge_graph, batch.num_graphs
        ).backward(upstream),
    }


def _products(shapes: list[tuple[int, int, int]]) -> Candidate:
    """Linear maps of ``rows`` vectors ``width -> out``, each forward and backward."""
    inputs = [torch.randn(rows, width, requires_grad=True) for rows, width, _ in shapes]
    weights = [torch.randn(out, width, requires_grad=True) for _, width, out in shapes]
    upstream = [torch.randn(rows, out) for rows, _, out in shapes]

    def call() -> None:
        for x, weight, gradient in zip(inputs, weights, upstream, strict=True):
            torch.autograd.backward(F.linear(x, weight), gradient)

    return call
