"""Small graphs that many tests share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch_geometric.data import Data

from gsina.datasets import spmotif
from gsina.graphs.batch import Batch
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.listeners import Listener

CLASSES = Task("multiclass", 3)
FEATURES = 4


def graph(
    nodes: int, edges: Sequence[tuple[int, int]], label: int = 0, *, undirected: bool = False
) -> Data:
    """One graph with random features, an edge feature, ground truth and a label."""
    pairs = [*edges, *((b, a) for a, b in edges if undirected)]
    edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous()
    return Data(
        x=torch.randn(nodes, FEATURES),
        edge_index=edge_index,
        edge_attr=torch.randn(len(pairs), 1),
        edge_truth=torch.rand(len(pairs)) < 0.5,
        y=torch.tensor([label]),
    )


def cycle(nodes: int, label: int = 0, *, undirected: bool = False) -> Data:
    """A cycle."""
    edges = [(node, (node + 1) % nodes) for node in range(nodes)]
    return graph(nodes, edges, label, undirected=undirected)


def ragged(*, undirected: bool = False) -> PackedGraphs:
    """Graphs of all sizes: edgeless, one node, one edge, isolated nodes, larger ones."""
    torch.manual_seed(0)
    way = {"undirected": undirected}
    return PackedGraphs.from_pyg(
        [
            cycle(5, 0, **way),
            graph(3, [], 1),
            graph(2, [(0, 1)], 2, **way),
            graph(1, [], 0),
            graph(7, [(0, 1), (1, 2), (2, 0), (3, 1)], 1, **way),  # 4, 5 and 6 are isolated
            graph(40, [(i, (i + j) % 40) for i in range(40) for j in (1, 5, 8)], 2, **way),
            cycle(12, 0, **way),
        ]
    )


def whole(graphs: PackedGraphs) -> Batch:
    """All graphs as one batch."""
    return graphs.batch(range(len(graphs)))


def motifs(per_class: int = 8, split: spmotif.Split = "train") -> PackedGraphs:
    """A few Spurious-Motif graphs."""
    return spmotif.generate(split=split, num_per_class=per_class)


def dataset(per_class: int = 8, **splits: PackedGraphs) -> Dataset:
    """A few Spurious-Motif graphs in three splits; ``splits`` replace them by name."""
    names: tuple[spmotif.Split, ...] = ("train", "val", "test")
    drawn = {name: splits.get(name) or motifs(per_class, name) for name in names}
    return Dataset("spmotif", CLASSES, drawn)


class Heard(Listener):
    """A listener of functions, for tests."""

    def __init__(self, on_batch: Any = None, on_epoch: Any = None) -> None:
        self.batch, self.epoch = on_batch, on_epoch

    def on_batch(self, done: int, of: int) -> None:
        if self.batch is not None:
            self.batch(done, of)

    def on_epoch(self, record: dict[str, Any]) -> None:
        if self.epoch is not None:
            self.epoch(record)
