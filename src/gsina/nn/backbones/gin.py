"""GIN, as in the GSAT benchmark."""

from __future__ import annotations

from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GINConv, GINEConv

from gsina.errors import check_name
from gsina.nn.backbones.protocol import BackboneModule, Features
from gsina.nn.encoders import encode_edges, make_encoder
from gsina.nn.norm import BatchNorm
from gsina.nn.readout import READOUTS
from gsina.ops.dropout import dropout
from gsina.ops.neighbour_sum import message_sum


class GIN(BackboneModule):
    """Graph isomorphism network (Xu et al., 2019), with edge features where there are any.

    A layer sends ``relu(h_j + W e_ij)`` (``h_j`` without edge features), sums, adds ``h_i`` and
    applies Linear, BatchNorm, ReLU, Linear; then ReLU and dropout. No residual connection.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of layers.
        dropout: Dropout after every layer.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
        readout: ``sum``, ``mean`` or ``max``, for predictors.
    """

    weighs_edges = True

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.3,
        edge_channels: Features = 0,
        readout: Literal["sum", "mean", "max"] = "sum",
    ) -> None:
        super().__init__()
        self.readout = check_name(readout, READOUTS, "readout")
        width = hidden_channels
        self.out_channels = width
        self.dropout = dropout
        self.encode_nodes = make_encoder(in_channels, width)
        self.encode_edges = make_encoder(edge_channels, width) if edge_channels else None
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            mlp = nn.Sequential(
                nn.Linear(width, width), BatchNorm(width), nn.ReLU(), nn.Linear(width, width)
            )
            self.layers.append(GINEConv(mlp, edge_dim=width) if edge_channels else GINConv(mlp))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Node states ``[N, H]`` from features ``[N, F]``, edges ``[2, E]`` and ``[E, D]``.

        ``edge_weight`` ``[E]`` multiplies the messages.
        """
        h: Tensor = self.encode_nodes(x)
        edges = encode_edges(self.encode_edges, edge_attr)
        extra = () if edges is None else (edges,)
        for layer in self.layers:
            if edge_weight is None:
                h = layer(h, edge_index, *extra)
            else:
                h = _weighted(layer, h, edge_index, edges, edge_weight)
            h = dropout(F.relu(h), self.dropout, self.training)
        return h


def _weighted(
    layer: Any, h: Tensor, edge_index: Tensor, edges: Tensor | None, weight: Tensor
) -> Tensor:
    """What a layer of PyG computes, with every message times the weight of its edge."""
    edges = None if edges is None else layer.lin(edges)
    states: Tensor = layer.nn((1 + layer.eps) * h + message_sum(h, edge_index, weight, edges))
    return states
