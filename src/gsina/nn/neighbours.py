"""`NeighbourSum`: aggregation as a layer, so that its edges can be weighted."""

from __future__ import annotations

from torch import Tensor, nn

from gsina.ops.neighbour_sum import neighbour_sum


class NeighbourSum(nn.Module):
    """The (weighted) sum of the neighbours' states, see :func:`~gsina.ops.neighbour_sum`.

    A layer without parameters. :func:`~gsina.nn.weighted_messages` hands it the weights, so a
    network that aggregates by it needs no memory for the messages of its edges.
    """

    def forward(self, h: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[N, H]`` and ``[2, E]`` to ``[N, H]``."""
        return neighbour_sum(h, edge_index, weight)
