"""Small graphs that tests of estimators share."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

FEW = {"hidden_channels": 8, "num_layers": 2, "epochs": 2, "dropout": 0.0, "batch_size": 16}


def shapes(count: int = 40) -> tuple[list[Data], list[str]]:
    """Rings and stars, which a network tells apart by the degrees."""
    graphs, labels = [], []
    for number in range(count):
        size = 5 + number % 3
        ring = number % 2 == 0
        edges = [(i, (i + 1) % size) if ring else (0, i) for i in range(size) if ring or i]
        index = torch.tensor([*edges, *((b, a) for a, b in edges)]).T
        graphs.append(Data(x=torch.ones(size, 1), edge_index=index))
        labels.append("ring" if ring else "star")
    return graphs, labels


def nodes() -> Data:
    """Two communities with noisy features."""
    torch.manual_seed(0)
    y = torch.arange(60) % 2
    pairs = torch.randint(0, 60, (2, 600))
    same = y[pairs[0]] == y[pairs[1]]
    return Data(
        x=torch.randn(60, 4) + 2 * y.view(-1, 1),
        edge_index=pairs[:, same],
        y=y,
        train_mask=torch.arange(60) < 30,
        val_mask=(torch.arange(60) >= 30) & (torch.arange(60) < 45),
        test_mask=torch.arange(60) >= 45,
    )
