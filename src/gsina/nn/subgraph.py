"""A part of every graph of a batch, as a batch."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gsina.graphs.batch import Batch
from gsina.graphs.fields import take


def edge_subgraph(batch: Batch, edges: Tensor) -> Batch:
    """Keep the marked edges and the nodes that they touch; graphs and labels stay.

    A graph may be left without edges and nodes. Opposite edges are not looked up again.

    Args:
        batch: Graphs.
        edges: Which edges to keep ``[E]``, bool.
    """
    kept_edges = edges.nonzero().squeeze(1)
    edge_index = batch.edge_index.index_select(1, kept_edges)
    touched = torch.zeros(batch.num_nodes, dtype=torch.bool, device=edges.device)
    touched[edge_index.reshape(-1)] = True
    kept_nodes = touched.nonzero().squeeze(1)
    new_id = touched.cumsum(0) - 1

    # Rows by index and not by mask: the gradient of the latter is several times slower.
    parts = take(batch, {"node": kept_nodes, "edge": kept_edges})
    return replace(batch, edge_index=new_id[edge_index], reverse=None, **parts)
