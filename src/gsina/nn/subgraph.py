"""A part of every graph of a batch, as a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.graphs.batch import Batch
from gsina.graphs.fields import take
from gsina.ops.host import at_hand


def edge_subgraph(batch: Batch, edges: Tensor, *, compact: bool = False) -> Batch:
    """Keep the marked edges and the nodes that they touch; graphs and labels stay.

    A graph may be left without edges and nodes. Opposite edges are not looked up again.

    On a device the number of what is left is not known beforehand, and asking would stall it. There
    nothing is taken out: all edges and nodes keep their places, :func:`leave_out` says which are
    not in the graphs any more, and networks, readouts and norms do not count these.

    Args:
        batch: Graphs.
        edges: Which edges to keep ``[E]``, bool.
        compact: Take them out also on a device, for one who needs that and waits.
    """
    touched = torch.zeros(batch.num_nodes, dtype=torch.bool, device=edges.device)
    if not (compact or at_hand(edges)):
        ends = torch.where(edges, 1, 0).repeat(2)
        times = touched.long().scatter_add_(0, batch.edge_index.reshape(-1), ends)
        return leave_out(batch, edges, times > 0)
    kept_edges = edges.nonzero().squeeze(1)
    edge_index = batch.edge_index.index_select(1, kept_edges)
    touched[edge_index.reshape(-1)] = True
    kept_nodes = touched.nonzero().squeeze(1)
    new_id = touched.cumsum(0) - 1

    # Rows by index and not by mask: the gradient of the latter is several times slower.
    parts = take(batch, {"node": kept_nodes, "edge": kept_edges})
    return replace(batch, edge_index=new_id[edge_index], reverse=None, **parts)


def leave_out(batch: Batch, edges: Tensor, nodes: Tensor | None = None) -> Batch:
    """The batch without some edges and nodes, of the same size but for one node more at its end.

    Edges that are left out lead from that node to itself.

    Args:
        batch: Graphs.
        edges: Which edges to keep ``[E]``, bool.
        nodes: Which nodes to keep ``[N]``, bool, with both ends of all kept edges; ``None``: all.
    """
    size = batch.num_nodes
    inside = torch.ones_like(batch.node_graph, dtype=torch.bool) if nodes is None else nodes
    if batch.inside is not None:
        inside = inside & batch.inside
        edges = edges & batch.inside.index_select(0, batch.edge_index[0])
    more: dict[str, Any] = {
        "x": F.pad(batch.x, (0, 0, 0, 1)),
        "node_graph": F.pad(batch.node_graph, (0, 1), value=max(batch.num_graphs - 1, 0)),
        "inside": F.pad(inside, (0, 1)),
    }
    for name in ("mask", "node_truth"):
        value = getattr(batch, name)
        if value is not None:
            more[name] = F.pad(value, (0, 1))
    edge_index = torch.where(edges, batch.edge_index, size)
    return replace(batch, edge_index=edge_index, reverse=None, **more)
