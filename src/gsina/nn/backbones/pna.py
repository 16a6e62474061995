"""PNA, as in the GSAT benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from gsina.errors import InputError, check_name
from gsina.nn.backbones.protocol import BackboneModule, Features
from gsina.nn.encoders import encode_edges, make_encoder
from gsina.nn.norm import BatchNorm
from gsina.nn.readout import READOUTS
from gsina.ops.aggregate import AGGREGATORS, STD_EPS, aggregate_multiples, multi_aggregate
from gsina.ops.dropout import dropout
from gsina.ops.host import at_hand
from gsina.ops.receivers import Receivers, sort_receivers


class Aggregates(NamedTuple):
    """Messages, aggregated by A aggregators.

    Attributes:
        one: The message of every node that receives only one ``[N1, C]``, as it is.
        several: Aggregates at the nodes that receive several ``[N2, A, C]``.
    """

    one: Tensor
    several: Tensor


class Around(NamedTuple):
    """What the messages of all layers have in common.

    Attributes:
        receivers: Nodes by the number of their messages.
        factors: The weights of the messages, by all ``AGGREGATORS``; ``None`` if all are 1.
        edges: States of the edges; ``None`` if there are none.
    """

    receivers: Receivers
    factors: Aggregates | None
    edges: Aggregates | None


class MultiAggregation(MessagePassing):  # type: ignore[misc]
    """A layer whose messages are aggregated in several ways, side by side."""

    def __init__(self, aggregators: tuple[str, ...]) -> None:
        super().__init__(aggr=None)
        self.aggregators = aggregators

    def aggregate(self, inputs: Tensor, receivers: Receivers) -> Aggregates:
        """All aggregators side by side."""
        size, edges = receivers.several.numel(), receivers.several_edge
        taken = inputs if edges.numel() == inputs.size(0) else inputs.index_select(0, edges)
        several = multi_aggregate(taken, receivers.several_row, size, self.aggregators)
        one = inputs.index_select(0, receivers.one_edge)
        return Aggregates(one, several.view(size, len(self.aggregators), inputs.size(1)))


class PNALayer(MultiAggregation):
    """Messages ``[h_i, h_j, e_ij]``, aggregated in several ways, then one linear layer.

    Aggregates of a concatenation are those of its parts. Only ``h_j`` is a message of this layer:
    the aggregate of ``h_i`` follows from that of the messages' weights, and ``e_ij`` is the same in
    every layer, see :class:`EdgeStatistics`. Where aggregates are equal, one product with the sum
    of their weights does for all of them.
    """

    def __init__(self, channels: int, has_edges: bool, aggregators: tuple[str, ...]) -> None:
        super().__init__(aggregators)
        self.num_parts = 3 if has_edges else 2
        self.linear = nn.Linear(self.num_parts * channels * len(aggregators), channels)

    def forward(self, h: Tensor, edge_index: Tensor, around: Around) -> Tensor:
        """``[N, H]`` to ``[N, H]``."""
        receivers = around.receivers
        neighbours = self.propagate(
            edge_index, x=h, receivers=receivers, size=(h.size(0), h.size(0))
        )
        width, size = h.size(1), len(self.aggregators)
        weights = self.linear.weight.view(width, size, self.num_parts, width).unbind(2)
        parts = (neighbours,) if around.edges is None else (neighbours, around.edges)

        none = self.linear.bias + sum(map(self._constant, weights))
        own = h.index_select(0, receivers.one)
        own = own if around.factors is None else own * around.factors.one
        one = none
        for message, weight in zip((own, *(part.one for part in parts)), weights, strict=True):
            one = torch.addmm(one, message, self._copies(weight).t())

        several = self._own(h.index_select(0, receivers.several), weights[0], around)
        for part, weight in zip(parts, weights[1:], strict=True):
            several = torch.addmm(several, part.several.flatten(1), weight.flatten(1).t())
        return torch.cat([none.unsqueeze(0), one, several]).index_select(0, receivers.place)

    def _own(self, h: Tensor, weight: Tensor, around: Around) -> Tensor:
        """The part of the own state, with the bias, of nodes with several messages ``[N2, H]``."""
        bias = self.linear.bias
        if around.factors is not None:
            own = aggregate_multiples(h, around.factors.several.squeeze(-1), self.aggregators)
            return torch.addmm(bias, own.flatten(1), weight.flatten(1).t())
        same = self._copies(weight, but=("std", "sum"))
        own = torch.addmm(bias + self._constant(weight), h, same.t())
        if "sum" in self.aggregators:
            count = around.receivers.several_count.to(h).unsqueeze(-1)
            own = torch.addmm(own, h * count, weight[:, self.aggregators.index("sum")].t())
        return own

    def _copies(self, weight: Tensor, but: tuple[str, ...] = ("std",)) -> Tensor:
        """Sum ``[H, H]`` of the matrices ``[H, A, H]`` that are all applied to the same state."""
        # A list as index would be copied to the device, which is then waited for.
        named = zip(self.aggregators, weight.unbind(1), strict=True)
        kept = [matrix for name, matrix in named if name not in but]
        return torch.stack(kept, 1).sum(1) if kept else torch.zeros_like(weight[:, 0])

    def _constant(self, weight: Tensor) -> Tensor | float:
        """What ``std`` adds ``[H]`` where it is that of no message, or of equal ones."""
        if "std" not in self.aggregators:
            return 0.0
        return weight[:, self.aggregators.index("std")].sum(1) * sqrt(STD_EPS)

    def message(self, x_j: Tensor) -> Tensor:
        """The state of the other end."""
        return x_j


class EdgeStatistics(MultiAggregation):
    """Aggregates of what edges carry: the same for all layers, so made once.

    Attention multiplies messages, so the aggregate of a 1 from every edge is that of the weights.
    To an explainer that replaces messages (GraphMask) this is one more layer.
    """

    def forward(
        self, h: Tensor, edge_index: Tensor, values: Tensor, receivers: Receivers
    ) -> Aggregates:
        """Aggregates of ``values`` ``[E, C]``; an explainer may look at the states ``[N, H]``."""
        size = (h.size(0), h.size(0))
        found: Aggregates = self.propagate(
            edge_index, values=values, receivers=receivers, size=size
        )
        return found

    def message(self, values: Tensor) -> Tensor:
        """What the edge carries."""
        return values


def _all_ones(factors: Aggregates) -> bool:
    """Whether weights are 1 and stay so; on a device that is not asked."""
    if not at_hand(factors.one):
        return False
    extremes = factors.several[:, [AGGREGATORS.index("min"), AGGREGATORS.index("max")]]
    return not factors.one.requires_grad and bool((factors.one == 1).all() & (extremes == 1).all())


class PNA(BackboneModule):
    """Principal neighbourhood aggregation (Corso et al., 2020) without degree scalers.

    A block is the layer, BatchNorm, ReLU, the residual connection and dropout. The head is an MLP
    ``H -> H / 2 -> H / 4 -> out``.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of layers.
        dropout: Dropout after every block.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
        aggregators: Names out of ``mean, min, max, std, sum``; by default all, without ``sum`` for
            categorical node features (molecules), as in the benchmark.
        readout: ``mean`` (the benchmark's), ``sum`` or ``max``, for predictors.
    """

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 80,
        num_layers: int = 4,
        dropout: float = 0.3,
        edge_channels: Features = 0,
        aggregators: Sequence[str] | None = None,
        readout: Literal["sum", "mean", "max"] = "mean",
    ) -> None:
        super().__init__()
        self.readout = check_name(readout, READOUTS, "readout")
        if aggregators is None:
            aggregators = AGGREGATORS if isinstance(in_channels, int) else AGGREGATORS[:-1]
        width = hidden_channels
        self.out_channels = width
        self.dropout = dropout
        self.encode_nodes = make_encoder(in_channels, width)
        self.encode_edges = make_encoder(edge_channels, width) if edge_channels else None
        aggregators = tuple(check_name(name, AGGREGATORS, "aggregator") for name in aggregators)
        if len({*aggregators}) < len(aggregators):
            raise InputError(f"aggregators must differ, got {', '.join(aggregators)}.")
        self.weigh_edges = EdgeStatistics(AGGREGATORS)
        self.gather_edges = EdgeStatistics(aggregators) if edge_channels else None
        self.layers = nn.ModuleList(
            PNALayer(width, bool(edge_channels), aggregators) for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(num_layers))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """Node states ``[N, H]`` from features ``[N, F]``, edges ``[2, E]`` and ``[E, D]``."""
        h: Tensor = self.encode_nodes(x)
        edges = encode_edges(self.encode_edges, edge_attr)
        around = self._around(h, edge_index, edges)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            new = F.relu(norm(layer(h, edge_index, around)))
            h = dropout(h + new, self.dropout, self.training)
        return h

    def _around(self, h: Tensor, edge_index: Tensor, edges: Tensor | None) -> Around:
        receivers = sort_receivers(edge_index[1], h.size(0))
        ones = h.new_ones(edge_index.size(1), 1)
        factors = self.weigh_edges(h, edge_index, ones, receivers)
        return Around(
            receivers,
            None if _all_ones(factors) else factors,
            self.gather_edges(h, edge_index, edges, receivers) if self.gather_edges else None,
        )

    def make_head(self, out_channels: int) -> nn.Module:
        """The head that goes with this network."""
        width = self.out_channels
        return nn.Sequential(
            nn.Linear(width, width // 2),
            nn.ReLU(),
            nn.Linear(width // 2, width // 4),
            nn.ReLU(),
            nn.Linear(width // 4, out_channels),
        )
