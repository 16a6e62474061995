"""New graphs from parts of others, all at once."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gsina.graphs.batch import Batch
from gsina.ops.host import count_members, widest
from gsina.ops.ragged import number_rows, take_groups


def partners(y: Tensor) -> Tensor:
    """For every graph a random one of the next class in the batch, the last followed by the first.

    Args:
        y: Labels ``[G]`` or ``[G, outputs]``; equal rows are one class.

    Returns:
        Numbers of graphs ``[G]``; of the same class if the batch has no other.
    """
    classes, number = number_rows(y)
    counts = count_members(number, classes.size(0))
    order = number.argsort(stable=True)
    start = counts.cumsum(0) - counts
    wanted = (number + 1) % max(classes.size(0), 1)
    return order.index_select(0, start[wanted] + _draw(counts[wanted]))


def join_parts(
    first: Batch,
    second: Batch,
    partner: Tensor,
    weight: tuple[Tensor, Tensor],
    *,
    links: int = 2,
    both_ways: bool = True,
) -> tuple[Batch, Tensor]:
    """Glue to every graph's first part a copy of another graph's second part.

    ``links`` edges between random nodes connect the two, with weight 1 and features 0; where a part
    has no nodes there are none.

    Args:
        first: First parts of G graphs; labels are theirs.
        second: Second parts of the same graphs.
        partner: Whose second part each first part gets ``[G]``.
        weight: Weights of the edges of both.
        links: Number of connections.
        both_ways: Whether a connection has both directions; otherwise it leads to the first part.

    Returns:
        G new graphs, and the weights of their edges.
    """
    own, theirs = (count_members(part.node_graph, first.num_graphs) for part in (first, second))
    rows, slot = take_groups(theirs, partner)
    graph = torch.cat([first.node_graph, slot])
    order = graph.argsort(stable=True)
    new_id = torch.empty_like(order)
    new_id[order] = torch.arange(order.numel(), device=order.device)

    # Where the copies of a slot's second part begin, before the nodes are put in order.
    copied = theirs[partner]
    begin = first.num_nodes + copied.cumsum(0) - copied
    edges, edge_slot = take_groups(count_members(second.edge_graph, second.num_graphs), partner)
    shift = begin - (theirs.cumsum(0) - theirs)[partner]
    copies = second.edge_index.index_select(1, edges) + shift.index_select(0, edge_slot)

    linked = ((own > 0) & (copied > 0)).nonzero().squeeze(1).repeat(links)
    there = begin[linked] + _draw(copied[linked])
    here = (own.cumsum(0) - own)[linked] + _draw(own[linked])
    bridges = torch.stack([there, here])
    if both_ways:
        bridges, linked = torch.cat([bridges, bridges.flip(0)], dim=1), linked.repeat(2)

    edge_graph = torch.cat([first.edge_graph, edge_slot, linked])
    edge_order = edge_graph.argsort(stable=True)
    edge_index = new_id[torch.cat([first.edge_index, copies, bridges], dim=1)]
    ones = weight[0].new_ones(linked.numel())
    weights = torch.cat([weight[0], weight[1].index_select(0, edges), ones])
    attributes = None
    if first.edge_attr is not None and second.edge_attr is not None:
        blank = first.edge_attr.new_zeros(linked.numel(), first.edge_attr.size(1))
        parts = [first.edge_attr, second.edge_attr.index_select(0, edges), blank]
        attributes = torch.cat(parts).index_select(0, edge_order)
    mixed = replace(
        first,
        x=torch.cat([first.x, second.x.index_select(0, rows)]).index_select(0, order),
        edge_index=edge_index.index_select(1, edge_order),
        node_graph=graph.index_select(0, order),
        edge_graph=edge_graph.index_select(0, edge_order),
        edge_attr=attributes,
        edge_truth=None,
        node_truth=None,
    )
    return mixed, weights.index_select(0, edge_order)


def _draw(counts: Tensor) -> Tensor:
    """A random number from 0 to count - 1 for every count."""
    draw = torch.rand(counts.shape, device=counts.device, dtype=widest(counts.device))
    return (draw * counts).long()
