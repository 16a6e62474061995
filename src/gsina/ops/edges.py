"""Index work on edge lists."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups
from gsina.ops.host import is_exporting, widest


def symmetrise(values: Tensor, reverse: Tensor | None) -> Tensor:
    """Give the two directions of every edge the mean of their values ``[E]``.

    Args:
        values: One value per edge.
        reverse: From :func:`reverse_edges`; ``None`` leaves all as it is.
    """
    return values if reverse is None else (values + values.index_select(0, reverse)) / 2


def share_first(values: Tensor, reverse: Tensor | None) -> Tensor:
    """Give the two directions of every edge the value of the earlier one ``[E]``, such as a draw.

    Args:
        values: One value per edge.
        reverse: From :func:`reverse_edges`; ``None`` leaves all as it is.
    """
    if reverse is None:
        return values
    position = torch.arange(values.numel(), device=values.device)
    return values.index_select(0, torch.minimum(reverse, position))


def count_edges(groups: Groups, reverse: Tensor | None, device: torch.device | str) -> Tensor:
    """Edges of each group ``[G]``, the two directions of an undirected one counted once.

    Args:
        groups: Group of every stored edge ``[E]``.
        reverse: From :func:`reverse_edges`; ``None`` if no edge has an opposite.
        device: Where the groups are.

    Returns:
        float64, or float32 on a device that has no wider numbers.
    """
    once = torch.ones(groups.size, dtype=widest(torch.device(device)), device=device)
    if reverse is not None:
        once = torch.where(reverse == torch.arange(groups.size, device=device), once, 0.5)
    return groups.sum(once)


def edge_groups_of(edge_index: Tensor, batch: Tensor | None, num_graphs: int | None) -> Groups:
    """The edges of each graph, from the graph of every node.

    Args:
        edge_index: Edges ``[2, E]``.
        batch: Graph of every node ``[N]``; ``None`` for one graph.
        num_graphs: Number of graphs; ``None`` for ``batch.max() + 1``.
    """
    num_edges = edge_index.size(1)
    if batch is None:
        return Groups.single(num_edges)
    if num_graphs is None:
        num_graphs = int(batch.max()) + 1 if batch.numel() else 0
    return Groups(batch.index_select(0, edge_index[0]), num_graphs, num_edges)


def reverse_edges(edge_index: Tensor, num_nodes: int) -> Tensor | None:
    """Find the opposite edge of every edge.

    The k-th edge i -> j is paired with the k-th edge j -> i, so the result is its own inverse also
    for graphs with parallel edges. An edge without an opposite, and a self-loop, is paired with
    itself.

    Args:
        edge_index: Source and target ``[2, E]``, int64.
        num_nodes: Number of nodes.

    Returns:
        Index of the opposite edge ``[E]``, int64, or ``None`` if no edge has one.
    """
    source, target = edge_index
    num_edges = source.numel()
    if num_edges == 0:
        return None
    key, order = torch.sort(source * num_nodes + target, stable=True)
    opposite, opposite_order = torch.sort(target * num_nodes + source, stable=True)
    position = torch.arange(num_edges, device=edge_index.device)
    rank = position - torch.searchsorted(opposite, opposite)
    slot = torch.searchsorted(key, opposite) + rank
    slot_or_end = slot.clamp(max=num_edges - 1)
    paired = (slot < num_edges) & (key[slot_or_end] == opposite)
    reverse = torch.empty_like(position)
    reverse[opposite_order] = torch.where(paired, order[slot_or_end], opposite_order)
    if is_exporting():  # a program of any edges: those without an opposite are their own
        return reverse
    return reverse if bool((reverse != position).any()) else None
