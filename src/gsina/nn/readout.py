"""From node states to graph states, weighted by node attention."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups

READOUTS = ("sum", "mean", "max")


def readout(
    h: Tensor,
    graphs: Groups,
    how: str,
    weight: Tensor | None = None,
    inside: Tensor | None = None,
) -> Tensor:
    """Pool node states ``[N, H]`` into graph states ``[G, H]``.

    Args:
        h: Node states.
        graphs: Graph of every node.
        how: ``sum`` of the weighted states, ``mean`` weighted (the weighted sum over the sum of the
            weights), or ``max`` of the weighted states. A graph without nodes, or whose weights
            are all 0, gives 0.
        weight: Node attention ``[N]``; ``None`` weighs every node 1.
        inside: Which nodes count ``[N]``, bool; ``None``: all.
    """
    if inside is not None:
        return _readout_inside(h, graphs, how, weight, inside)
    if weight is not None:
        weight = weight.to(h.dtype)  # attention is float32 also in a half-precision model
        h = h * weight.unsqueeze(-1)
    if how == "sum":
        return graphs.sum(h)
    if how == "mean":
        total = graphs.counts(h) if weight is None else graphs.sum(weight)
        return graphs.sum(h) / (total + (total == 0)).unsqueeze(-1)
    if graphs.index is None:
        return h.amax(0, keepdim=True)
    index = graphs.index.unsqueeze(-1).expand_as(h)
    start = h.new_zeros(graphs.num, h.size(1))
    return start.scatter_reduce(0, index, h, "amax", include_self=False)


def _readout_inside(
    h: Tensor, graphs: Groups, how: str, weight: Tensor | None, inside: Tensor
) -> Tensor:
    """The readout of the nodes that count; the others may hold anything."""
    h = torch.where(inside.unsqueeze(-1), h, 0.0)
    if how != "max":
        ones = inside.to(h.dtype)
        return readout(h, graphs, how, ones if weight is None else weight * ones)
    h = h if weight is None else h * weight.to(h.dtype).unsqueeze(-1)
    h = h.masked_fill(~inside.unsqueeze(-1), -torch.inf)
    found = readout(h, graphs, how)
    return torch.where(found == -torch.inf, 0.0, found)
