"""A small node classification dataset whose labels can be learned from neighbours."""

from __future__ import annotations

import torch

from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

FEATURES = 6
CLASSES = 3
TASK = Task("multiclass", CLASSES, "accuracy", level="node")


def graphs(
    count: int = 1, nodes: int = 60, degree: int = 4, seed: int = 0, *, mask: bool = False
) -> PackedGraphs:
    """Undirected graphs whose nodes mostly know nodes of their class, with noisy features."""
    draw = torch.Generator().manual_seed(seed)
    total, edges = count * nodes, nodes * degree
    y = torch.randint(CLASSES, (total,), generator=draw)
    x = torch.randn(total, FEATURES, generator=draw)
    x[torch.arange(total), y] += 2.0
    pairs = []
    for graph in range(count):
        own = y[graph * nodes : (graph + 1) * nodes]
        source = torch.randint(nodes, (4 * edges,), generator=draw)
        target = torch.randint(nodes, (4 * edges,), generator=draw)
        wanted = (own[source] == own[target]) | (torch.rand(4 * edges, generator=draw) < 0.1)
        kept = (wanted & (source < target)).nonzero().flatten()[: edges // 2]
        both = torch.stack([source[kept], target[kept]])
        pairs.append(torch.unique(torch.cat([both, both.flip(0)], 1), dim=1))
    return PackedGraphs(
        x=x,
        edge_index=torch.cat(pairs, 1),
        node_ptr=torch.arange(count + 1) * nodes,
        edge_ptr=offsets(torch.tensor([pair.size(1) for pair in pairs])),
        node_y=y,
        mask=torch.rand(total, generator=draw) < 0.7 if mask else None,
    )


def dataset(count: int = 1, nodes: int = 60, *, mask: bool = False) -> Dataset:
    """Training, validation and two test splits."""
    names = ("train", "val", "test-a", "test-b")
    splits = {name: graphs(count, nodes, seed=seed, mask=mask) for seed, name in enumerate(names)}
    return Dataset("tiny-nodes", TASK, splits)
