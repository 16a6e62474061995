"""A part of every graph of a batch, as a batch."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gsina.graphs.batch import Batch


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
    def of_edges(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.index_select(0, kept_edges)

    def of_nodes(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.index_select(0, kept_nodes)

    return replace(
        batch,
        x=batch.x.index_select(0, kept_nodes),
        edge_index=new_id[edge_index],
        node_graph=batch.node_graph.index_select(0, kept_nodes),
        edge_graph=batch.edge_graph.index_select(0, kept_edges),
        edge_attr=of_edges(batch.edge_attr),
        edge_truth=of_edges(batch.edge_truth),
        node_truth=of_nodes(batch.node_truth),
        mask=of_nodes(batch.mask),
        reverse=None,
    )
