"""GPR-GNN, as in the EERM benchmark."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gsina.nn.backbones.layers import NodeNetwork, normal_weights
from gsina.nn.backbones.protocol import Features
from gsina.nn.encoders import make_encoder
from gsina.nn.weighting import is_watched
from gsina.ops.dropout import dropout
from gsina.ops.host import at_hand
from gsina.ops.neighbour_sum import message_sum


class Propagation(MessagePassing):  # type: ignore[misc]
    """``sum_k gamma_k A^k h`` with the normalised adjacency and self-loops; gamma is learned."""

    add_self_loops = True  # their messages have the weight 1, see `weighted_messages`

    def __init__(self, hops: int, restart: float) -> None:
        super().__init__(aggr="add")
        share = restart * (1 - restart) ** torch.arange(hops + 1.0)
        share[-1] = (1 - restart) ** hops  # all that is left
        self.gamma = nn.Parameter(share)

    @property
    def hops(self) -> int:
        """How many steps along edges it makes."""
        return len(self.gamma) - 1

    def forward(self, h: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[N, C]`` to ``[N, C]``, with weights of the edges ``[E]``."""
        if weight is not None or not (at_hand(edge_index) or is_watched(self)):
            norm, own = normal_weights(h, edge_index, weight)
            total = self.gamma[0] * h
            for share in self.gamma[1:]:
                h = message_sum(h, edge_index, norm) + own * h
                total = total + share * h
            return total
        edges, norm = gcn_norm(edge_index, None, h.size(0), dtype=h.dtype)
        total = self.gamma[0] * h
        for share in self.gamma[1:]:
            h = self.propagate(edges, x=h, norm=norm)
            total = total + share * h
        return total

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        """A neighbour's state, normalised by the degrees of both ends."""
        return norm.view(-1, 1) * x_j


class GPRGNN(NodeNetwork):
    """Generalised PageRank network (Chien et al., 2021): an MLP, then learned propagation.

    ``Linear, ReLU, Linear``, dropout, and ten hops whose coefficients start as those of
    personalised PageRank. The same edge weights count in every hop.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Taken for a common signature; the depth is ``hops``.
        dropout: Dropout between the MLP's layers.
        out_channels: Width of the output; by default H.
        hops: Number of hops K.
        restart: Where the coefficients start: ``restart (1 - restart)^k``.
        propagation_dropout: Dropout between MLP and propagation.
    """

    weighs_edges = True

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 32,
        num_layers: int = 2,
        dropout: float = 0.0,
        out_channels: int | None = None,
        hops: int = 10,
        restart: float = 0.1,
        propagation_dropout: float = 0.5,
    ) -> None:
        super().__init__(hidden_channels, out_channels)
        self.dropout = dropout
        self.propagation_dropout = propagation_dropout
        self.encode_nodes = make_encoder(in_channels, hidden_channels)
        self.last = nn.Linear(hidden_channels, self.out_channels)
        self.propagation = Propagation(hops, restart)

    @property
    def layers(self) -> list[nn.Module]:
        """What sends messages."""
        return [self.propagation]

    @property
    def last_layer(self) -> nn.Module:
        """The layer whose output is propagated."""
        return self.last

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Node states ``[N, out_channels]`` from features ``[N, F]`` and edges ``[2, E]``.

        ``edge_weight`` ``[E]`` multiplies the messages of every hop.
        """
        h = dropout(F.relu(self.encode_nodes(x)), self.dropout, self.training)
        h = dropout(self.last(h), self.propagation_dropout, self.training)
        states: Tensor = self.propagation(h, edge_index, edge_weight)
        return states
