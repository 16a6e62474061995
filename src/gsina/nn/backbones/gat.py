"""GAT, as in the EERM benchmark."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from gsina.errors import InputError
from gsina.nn.backbones.layers import NodeNetwork, make_map
from gsina.nn.backbones.protocol import Features
from gsina.nn.norm import BatchNorm
from gsina.ops.dropout import dropout


class GAT(NodeNetwork):
    """Graph attention network (Velickovic et al., 2018), by PyG, with its self-loops.

    Hidden layers put the heads side by side, the last one averages them; batch norm, ELU and
    dropout between. At node level the last layer gives the logits. Categorical features are
    embedded in front of the first layer.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H of every head.
        num_layers: Number of convolutions.
        dropout: Dropout between convolutions.
        out_channels: Width of the output; by default H.
        heads: Number of heads.
    """

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 32,
        num_layers: int = 2,
        dropout: float = 0.0,
        out_channels: int | None = None,
        heads: int = 4,
    ) -> None:
        super().__init__(hidden_channels, out_channels)
        if num_layers < 1:
            raise InputError(f"a network needs at least one layer, got num_layers = {num_layers}.")
        self.dropout = dropout
        plain = isinstance(in_channels, int)
        self.encode = nn.Identity() if plain else make_map(in_channels, hidden_channels)
        width = in_channels if plain else hidden_channels
        self.layers = nn.ModuleList()
        self.norms = nn.ModuleList()
        for _ in range(num_layers - 1):
            self.layers.append(GATConv(width, hidden_channels, heads))
            width = hidden_channels * heads
            self.norms.append(BatchNorm(width))
        self.layers.append(GATConv(width, self.out_channels, heads, concat=False))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Node states ``[N, out_channels]`` from features ``[N, F]`` and edges ``[2, E]``."""
        h = self.encode(x)
        h = self.layers[0](h.to(self.layers[0].bias.dtype), edge_index)
        for norm, layer in zip(self.norms, list(self.layers)[1:], strict=True):
            h = layer(dropout(F.elu(norm(h)), self.dropout, self.training), edge_index)
        states: Tensor = h
        return states
