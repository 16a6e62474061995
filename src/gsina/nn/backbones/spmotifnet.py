"""SPMotifNet, DIR's small network for Spurious-Motif."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import LEConv

from gsina.nn.backbones.protocol import BackboneModule, Features
from gsina.nn.encoders import make_encoder


class SPMotifNet(BackboneModule):
    """Two local-extremum convolutions with ReLU; mean readout; head ``H -> 2 H -> out``.

    Used for precision@5 (Wu et al., 2022). Edge features, all equal on Spurious-Motif, are not
    used.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of convolutions.
    """

    readout = "mean"
    weighs_edges = True

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 32,
        num_layers: int = 2,
    ) -> None:
        super().__init__()
        self.out_channels = hidden_channels
        self.encode_nodes = make_encoder(in_channels, hidden_channels)
        self.layers = nn.ModuleList(
            LEConv(hidden_channels, hidden_channels) for _ in range(num_layers)
        )

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Node states ``[N, H]``; ``edge_weight`` ``[E]`` multiplies the messages."""
        h: Tensor = self.encode_nodes(x)
        for layer in self.layers:
            h = F.relu(layer(h, edge_index, edge_weight))
        return h

    def make_head(self, out_channels: int) -> nn.Module:
        """The head that goes with this network."""
        width = self.out_channels
        return nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, out_channels)
        )
