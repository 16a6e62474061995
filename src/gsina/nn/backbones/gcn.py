"""GCN, as in the EERM benchmark."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gsina.nn.backbones.layers import Convolutions, make_map, normal_weights
from gsina.nn.backbones.protocol import Features
from gsina.nn.neighbours import NeighbourSum
from gsina.nn.weighting import is_watched
from gsina.ops.host import at_hand
from gsina.ops.neighbour_sum import message_sum


class SumConv(nn.Module):
    """``b + sum over incoming edges of W h_source``: neither degrees nor self-loops."""

    def __init__(self, in_channels: Features, out_channels: int) -> None:
        super().__init__()
        self.map = make_map(in_channels, out_channels)
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.gather = NeighbourSum()

    def forward(self, h: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[N, in]`` to ``[N, out]``, with weights of the edges ``[E]``."""
        states: Tensor = self.gather(self.map(h), edge_index, weight) + self.bias
        return states


class NormalConv(nn.Module):
    """Kipf and Welling's convolution, by PyG: symmetric normalisation and self-loops."""

    def __init__(self, in_channels: Features, out_channels: int) -> None:
        super().__init__()
        plain = isinstance(in_channels, int)
        self.encode = nn.Identity() if plain else make_map(in_channels, out_channels)
        self.conv = GCNConv(in_channels if plain else out_channels, out_channels)

    def forward(self, h: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[N, in]`` to ``[N, out]``, with weights of the edges ``[E]``."""
        h = self.encode(h).to(self.conv.lin.weight.dtype)
        if weight is None and (at_hand(edge_index) or is_watched(self.conv)):
            states: Tensor = self.conv(h, edge_index)
        else:
            h = self.conv.lin(h)
            norm, own = normal_weights(h, edge_index, weight)
            states = message_sum(h, edge_index, norm) + own * h + self.conv.bias
        return states


class GCN(Convolutions):
    """Graph convolutions with batch norm, ReLU and dropout between them, none after the last.

    The benchmark's convolution is a plain sum over incoming edges, without degrees and without
    self-loops: a node without incoming edges knows nothing of itself. ``normalise`` brings the
    convolution of Kipf and Welling (2017).

    At node level the last convolution gives the logits. The plain sum keeps no messages in memory,
    weighted or not.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of convolutions.
        dropout: Dropout between convolutions.
        out_channels: Width of the output; by default H.
        normalise: Use PyG's normalised convolution.
    """

    weighs_edges = True

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 32,
        num_layers: int = 2,
        dropout: float = 0.0,
        out_channels: int | None = None,
        normalise: bool = False,
    ) -> None:
        conv = NormalConv if normalise else SumConv
        super().__init__(conv, in_channels, hidden_channels, num_layers, dropout, out_channels)

    def forward(  # type: ignore[override]
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Node states ``[N, out_channels]`` from features ``[N, F]`` and edges ``[2, E]``.

        ``edge_weight`` ``[E]`` multiplies the messages.
        """
        weight = () if edge_weight is None else (edge_weight,)
        return super().forward(x, edge_index, *weight)
