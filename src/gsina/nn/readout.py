"""From node states to graph states, weighted by node attention."""

from __future__ import annotations

from torch import Tensor

from gsina.ops.groups import Groups

READOUTS = ("sum", "mean", "max")


def readout(h: Tensor, graphs: Groups, how: str, weight: Tensor | None = None) -> Tensor:
    """Pool node states ``[N, H]`` into graph states ``[G, H]``.

    Args:
        h: Node states.
        graphs: Graph of every node.
        how: ``sum`` of the weighted states, ``mean`` weighted (the weighted sum over the sum of the
            weights), or ``max`` of the weighted states. A graph without nodes, or whose weights
            are all 0, gives 0.
        weight: Node attention ``[N]``; ``None`` weighs every node 1.
    """
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
