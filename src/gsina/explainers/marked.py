"""The marked part of a graph: its edges with the largest weights, as many as a budget allows."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.ops.budget import Budget
from gsina.ops.edges import count_edges
from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r


def edge_groups(graphs: PackedGraphs) -> tuple[Groups, Tensor | None]:
    """The edges of each graph, and the opposite of every edge among all edges ``[E]``."""
    sizes = graphs.edge_ptr.diff()
    groups = Groups(torch.repeat_interleave(sizes), len(graphs), graphs.edge_index.size(1))
    start = graphs.edge_ptr[:-1].repeat_interleave(sizes)
    return groups, None if graphs.reverse is None else graphs.reverse + start


def mark(weights: Tensor, graphs: PackedGraphs, budget: Budget) -> Tensor:
    """Which edges are among the largest of their graph ``[E]``, bool.

    Both directions of an edge count once and share one fate, and no graph that has edges is left
    without a marked one.

    Args:
        weights: Weights or ranks of the edges ``[E]``.
        graphs: The graphs.
        budget: How many edges to mark: a share of every graph's, rounded up, or a number.
    """
    if weights.shape != (graphs.edge_index.size(1),):
        raise InputError(
            f"got {list(weights.shape)} weights for graphs with {graphs.edge_index.size(1)} edges; "
            "pass the explanations of these very graphs."
        )
    groups, reverse = edge_groups(graphs)
    ratio = budget.ratios(count_edges(groups, reverse, weights.device))
    return hard_top_r(weights, ratio, groups, reverse)


def touched(edges: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Which nodes the marked edges touch ``[N]``, bool.

    Args:
        edges: Marked edges ``[E]``, bool.
        edge_index: Ends of all edges ``[2, E]``.
        num_nodes: Number of nodes N.
    """
    found = torch.zeros(num_nodes, dtype=torch.bool, device=edge_index.device)
    found[edge_index[:, edges].flatten()] = True
    return found
