"""How far a soft part of a graph is from hanging together: losses for parts of nodes and of edges.

Both are sums over the edges or nodes of all graphs at once, and differentiable.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups


def node_connectivity_loss(membership: Tensor, edge_index: Tensor, graphs: Groups) -> Tensor:
    """The connectivity loss of GIB (Yu et al., 2021) for every graph.

    With S = [p, 1 - p] the soft assignment of the nodes to the part and to the rest, and A the
    adjacency without directions, let D be ``S^T A S`` with each row divided by its sum: of the
    edges that leave the part (the rest), the share that ends there again. The loss is

        ((1 - D_11)^2 + (1 - D_22)^2) / 2,

    0 where the assignment is hard and no edge is cut, at most 1. A side without any mass adds 0,
    and so does a graph without edges.

    Args:
        membership: How much every node belongs to the part, p ``[N]`` in [0, 1].
        edge_index: Edges ``[2, E]``; a graph may hold each edge once or in both directions.
        graphs: Graph of every edge.

    Returns:
        Losses ``[G]``.
    """
    source, target = membership.index_select(0, edge_index.reshape(-1)).view(2, -1)
    inside = source * target
    outside = (1 - source) * (1 - target)
    cut = source + target - 2 * inside
    # An edge inside counts twice in S^T (A + A^T) S, one that is cut once on each side.
    within = graphs.sum(2 * torch.stack([inside, outside], dim=1))
    return _leaving(within, within + graphs.sum(cut).unsqueeze(1)).square().mean(dim=1)


def edge_connectivity_loss(
    weights: Tensor, edge_index: Tensor, nodes: Groups, reverse: Tensor | None = None
) -> Tensor:
    """The chance to leave the part, for every graph.

    Draw an edge by its weight, one of its ends that has other edges, and one of those: the loss is
    the expected share of that edge that is not in the part,

        1 - sum_v (s_v^2 - q_v) / (d_v - 1)  /  sum_v s_v,

    where s_v and q_v are the sums of the weights and of their squares over the d_v >= 2 edges at
    node v. A part that is a whole component has 0; one whose edges do not touch each other has 1.
    This is GIB's idea on the line graph, where a part of *edges* lives. On the nodes that the edges
    touch it would misfire: disjoint edges can touch every node, and then no edge is cut.

    Args:
        weights: How much every edge belongs to the part ``[E]`` in [0, 1].
        edge_index: Edges ``[2, E]``.
        nodes: Graph of every node.
        reverse: Opposite of every edge ``[E]`` as from :func:`~gsina.ops.reverse_edges`; the two
            directions count as one edge, with the weight of the first one.

    Returns:
        Losses ``[G]``; 0 for a graph in which no edge has another one beside it.
    """
    counted = edge_index[0] != edge_index[1]
    if reverse is not None:
        counted = counted & (reverse >= torch.arange(reverse.numel(), device=reverse.device))
    counted = counted.to(weights.dtype)
    part = weights * counted
    at_node = Groups(edge_index.reshape(-1), nodes.size, edge_index.numel())
    sums = torch.stack([counted, part, part * weights], dim=1)
    degree, total, squares = at_node.sum(sums.repeat(2, 1)).unbind(1)
    pairs = (total.square() - squares) / (degree - 1).clamp(min=1)
    has_others = degree >= 2
    return _leaving(nodes.sum(pairs * has_others), nodes.sum(total * has_others))


def _leaving(within: Tensor, total: Tensor) -> Tensor:
    """``1 - within / total``, and 0 where there is nothing in total."""
    empty = total <= 0
    return torch.where(empty, 0, 1 - within / torch.where(empty, 1, total))
