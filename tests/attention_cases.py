"""A batch for the tests of attention, and how they call it."""

from __future__ import annotations

import torch
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.nn.attention import Attention, GraphSinkhornAttention

H = 8


def run(module: GraphSinkhornAttention, batch: Batch, h: Tensor) -> Attention:
    return module(
        h,
        batch.edge_index,
        batch.node_graph,
        edge_groups=batch.edge_groups,
        reverse=batch.reverse,
    )


def example(undirected: bool = False) -> tuple[Batch, Tensor]:
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    torch.manual_seed(5)
    return batch, torch.randn(batch.num_nodes, H)
