"""Weights of nodes from the weights of their edges."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

NodeAttention = Literal["max", "mean", "none"]
NODE_ATTENTIONS = ("max", "mean", "none")


def node_attention(
    edge: Tensor, edge_index: Tensor, num_nodes: int, isolated: float | Tensor, how: str
) -> Tensor | None:
    """Weight of every node ``[N]`` from the weights of the edges that start or end there.

    Args:
        edge: Weight of every edge ``[E]``.
        edge_index: Edges ``[2, E]``.
        num_nodes: Number of nodes N.
        isolated: Weight of a node without edges, or one per node ``[N]``.
        how: ``max``, ``mean``, or ``none`` (returns ``None``).
    """
    if how == "none":
        return None
    ends, weights = edge_index.reshape(-1), edge.repeat(2)
    if not isinstance(isolated, Tensor):
        isolated = edge.new_full((num_nodes,), isolated)
    start = isolated.to(edge.dtype)
    if how == "mean":
        return start.scatter_reduce(0, ends, weights, "mean", include_self=False)
    # From `isolated` on, a weight equal to it would share its gradient with the start.
    largest = edge.new_full((num_nodes,), -1.0).scatter_reduce(0, ends, weights, "amax")
    return torch.where(largest < 0, start, largest)
