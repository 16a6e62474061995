"""GraphSAGE with mean aggregation, as in the EERM benchmark."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gsina.nn.backbones.layers import Convolutions, make_map
from gsina.nn.backbones.protocol import Features
from gsina.nn.neighbours import NeighbourSum
from gsina.ops.host import count_members


class MeanConv(nn.Module):
    """``b + W mean over incoming edges of h_source + V h``.

    The map comes before the mean, which is the same and narrower. Weighted messages are divided by
    the number of edges, not by the sum of their weights.
    """

    def __init__(self, in_channels: Features, out_channels: int) -> None:
        super().__init__()
        self.of_neighbours = make_map(in_channels, out_channels)
        self.of_itself = make_map(in_channels, out_channels)
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.gather = NeighbourSum()

    def forward(
        self, h: Tensor, edge_index: Tensor, share: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        """``[N, in]`` to ``[N, out]``; ``share`` is one over the number of edges ``[N, 1]``."""
        summed = self.gather(self.of_neighbours(h), edge_index, weight)
        states: Tensor = torch.addcmul(self.of_itself(h) + self.bias, summed, share)
        return states


class SAGE(Convolutions):
    """GraphSAGE (Hamilton et al., 2017): batch norm, ReLU and dropout between convolutions.

    At node level the last convolution gives the logits. It keeps no messages in memory, weighted
    or not.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of convolutions.
        dropout: Dropout between convolutions.
        out_channels: Width of the output; by default H.
    """

    weighs_edges = True

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 32,
        num_layers: int = 5,
        dropout: float = 0.0,
        out_channels: int | None = None,
    ) -> None:
        super().__init__(MeanConv, in_channels, hidden_channels, num_layers, dropout, out_channels)

    def forward(  # type: ignore[override]
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Node states ``[N, out_channels]`` from features ``[N, F]`` and edges ``[2, E]``.

        ``edge_weight`` ``[E]`` multiplies the messages.
        """
        degree = count_members(edge_index[1], x.size(0))
        dtype = next(self.parameters()).dtype
        share = degree.clamp(min=1).to(dtype).reciprocal_().unsqueeze(1)
        weight = () if edge_weight is None else (edge_weight,)
        return super().forward(x, edge_index, share, *weight)
