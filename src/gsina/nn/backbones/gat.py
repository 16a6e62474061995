"""GAT, as in the EERM benchmark."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv, MessagePassing
from torch_geometric.utils import softmax

from gsina.errors import InputError
from gsina.nn.backbones.layers import NodeNetwork, make_map
from gsina.nn.backbones.protocol import Features
from gsina.nn.norm import BatchNorm
from gsina.nn.weighting import is_watched
from gsina.ops.dropout import dropout
from gsina.ops.host import at_hand


class AttentionConv(GATConv):  # type: ignore[misc]
    """PyG's layer, which can also be given the weights of the messages.

    PyG takes the self-loops of a graph out before it adds one for every node, and how many those
    are is not known beforehand. With weights, and on devices, they stay, and get no attention.
    """

    # PyG writes faster code for a class, and takes that of GATConv, if it is there already, for the
    # original, to which it goes back for explainers. That code knows no masks.
    propagate = MessagePassing.propagate

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[N, in]`` to ``[N, heads * out]``, with weights of the edges ``[E]``."""
        if weight is None and (at_hand(edge_index) or is_watched(self)):
            states: Tensor = super().forward(x, edge_index)
            return states
        h = self.lin(x).view(-1, self.heads, self.out_channels)
        nodes = torch.arange(h.size(0), device=h.device)
        source, target = torch.cat([edge_index, nodes.expand(2, -1)], dim=1)
        to_source, to_target = ((h * one).sum(-1) for one in (self.att_src, self.att_dst))
        score = to_source.index_select(0, source) + to_target.index_select(0, target)
        score = F.leaky_relu(score, self.negative_slope)
        replaced = F.pad(edge_index[0] == edge_index[1], (0, h.size(0)))
        score = score.masked_fill(replaced.unsqueeze(1), -torch.inf)
        share = softmax(score, target, num_nodes=h.size(0))
        if weight is not None:
            share = share * F.pad(weight, (0, h.size(0)), value=1.0).to(share.dtype).unsqueeze(1)
        messages = share.unsqueeze(2) * h.index_select(0, source)
        heads = torch.zeros_like(h).index_add(0, target, messages.to(h.dtype))
        states = heads.flatten(1) if self.concat else heads.mean(1)
        return states + self.bias  # type: ignore[no-any-return]


class GAT(NodeNetwork):
    """Graph attention network (Velickovic et al., 2018), by PyG, with its self-loops.

    Hidden layers put the heads side by side, the last one averages them; batch norm, ELU and
    dropout between. At node level the last layer gives the logits. Categorical features are
    embedded in front of the first layer. Weights of edges multiply what the attention sends.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H of every head.
        num_layers: Number of convolutions.
        dropout: Dropout between convolutions.
        out_channels: Width of the output; by default H.
        heads: Number of heads.
    """

    weighs_edges = True

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
            self.layers.append(AttentionConv(width, hidden_channels, heads))
            width = hidden_channels * heads
            self.norms.append(BatchNorm(width))
        self.layers.append(AttentionConv(width, self.out_channels, heads, concat=False))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Node states ``[N, out_channels]`` from features ``[N, F]`` and edges ``[2, E]``.

        ``edge_weight`` ``[E]`` multiplies the messages, after the softmax.
        """
        h = self.encode(x)
        h = self.layers[0](h.to(self.layers[0].bias.dtype), edge_index, edge_weight)
        for norm, layer in zip(self.norms, list(self.layers)[1:], strict=True):
            h = dropout(F.elu(norm(h)), self.dropout, self.training)
            h = layer(h, edge_index, edge_weight)
        states: Tensor = h
        return states
