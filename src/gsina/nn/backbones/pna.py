"""PNA, as in the GSAT benchmark."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from gsina.names import check_name
from gsina.nn.encoders import encode_edges, make_encoder
from gsina.nn.norm import BatchNorm
from gsina.ops.aggregate import AGGREGATORS, aggregate_multiples, multi_aggregate
from gsina.ops.dropout import dropout


class PNALayer(MessagePassing):  # type: ignore[misc]
    """Messages ``[h_i, h_j, e_ij]``, aggregated in several ways, then one linear layer.

    Aggregates of a concatenation are those of its parts. Only ``h_j`` is a message of this layer:
    the aggregate of ``h_i`` follows from that of the messages' weights, and ``e_ij`` is the same in
    every layer, see :class:`EdgeStatistics`.
    """

    def __init__(self, channels: int, has_edges: bool, aggregators: tuple[str, ...]) -> None:
        super().__init__(aggr=None)
        self.aggregators = aggregators
        self.num_parts = 3 if has_edges else 2
        self.linear = nn.Linear(self.num_parts * channels * len(aggregators), channels)

    def forward(
        self, h: Tensor, edge_index: Tensor, factors: Tensor, edges: Tensor | None = None
    ) -> Tensor:
        """``[N, H]`` to ``[N, H]``, with the :class:`EdgeStatistics` ``[N, 5]``, ``[N, A, H]``."""
        own = aggregate_multiples(h, factors, self.aggregators)
        neighbours = self.propagate(edge_index, x=h)
        parts = (own, neighbours) if edges is None else (own, neighbours, edges)
        width, size = h.size(1), len(self.aggregators)
        weights = self.linear.weight.view(width, size, self.num_parts, width).unbind(2)
        states: Tensor = self.linear.bias
        for part, weight in zip(parts, weights, strict=True):
            states = torch.addmm(states, part.flatten(1), weight.flatten(1).t())
        return states

    def message(self, x_j: Tensor) -> Tensor:
        """The state of the other end."""
        return x_j

    def aggregate(self, inputs: Tensor, index: Tensor, dim_size: int) -> Tensor:
        """All aggregators side by side ``[N, A, H]``."""
        return _aggregate(inputs, index, dim_size, self.aggregators)


class EdgeStatistics(MessagePassing):  # type: ignore[misc]
    """Aggregates of the messages ``[1, e_ij]``: the same for all layers, so made once.

    Attention multiplies messages, so the aggregate of the 1 is that of the weights. To an explainer
    that replaces messages (GraphMask) this is one more layer.
    """

    def __init__(self, aggregators: tuple[str, ...]) -> None:
        super().__init__(aggr=None)
        self.aggregators = aggregators

    def forward(
        self, h: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Aggregates of weights by all ``AGGREGATORS`` ``[N, 5]`` and of edges ``[N, A, H]``."""
        size = (h.size(0), h.size(0))
        factors, edges = self.propagate(edge_index, h=h, edge_attr=edge_attr, size=size)
        return factors, edges

    def message(self, h: Tensor, index: Tensor, edge_attr: Tensor | None) -> Tensor:
        """The concatenation that attention multiplies as a whole."""
        one = h.new_ones(index.numel(), 1)
        return one if edge_attr is None else torch.cat([one, edge_attr], dim=-1)

    def aggregate(
        self, inputs: Tensor, index: Tensor, dim_size: int
    ) -> tuple[Tensor, Tensor | None]:
        """The two parts apart."""
        factors = _aggregate(inputs[:, :1], index, dim_size, AGGREGATORS).squeeze(-1)
        if inputs.size(1) == 1:
            return factors, None
        return factors, _aggregate(inputs[:, 1:].contiguous(), index, dim_size, self.aggregators)


def _aggregate(messages: Tensor, index: Tensor, size: int, aggregators: tuple[str, ...]) -> Tensor:
    """``[E, C]`` to ``[size, A, C]``."""
    gathered = multi_aggregate(messages, index, size, aggregators)
    return gathered.view(size, len(aggregators), messages.size(1))


class PNA(nn.Module):
    """Principal neighbourhood aggregation (Corso et al., 2020) without degree scalers.

    A block is the layer, BatchNorm, ReLU, the residual connection and dropout. The readout is a
    mean and the head an MLP ``H -> H / 2 -> H / 4 -> out``.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of layers.
        dropout: Dropout after every block.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
        aggregators: Names out of ``mean, min, max, std, sum``; by default all, without ``sum`` for
            categorical node features (molecules), as in the benchmark.
    """

    readout = "mean"

    def __init__(
        self,
        in_channels: int | Sequence[int],
        hidden_channels: int = 80,
        num_layers: int = 4,
        dropout: float = 0.3,
        edge_channels: int | Sequence[int] = 0,
        aggregators: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        if aggregators is None:
            aggregators = AGGREGATORS if isinstance(in_channels, int) else AGGREGATORS[:-1]
        width = hidden_channels
        self.out_channels = width
        self.dropout = dropout
        self.encode_nodes = make_encoder(in_channels, width)
        self.encode_edges = make_encoder(edge_channels, width) if edge_channels else None
        aggregators = tuple(check_name(name, AGGREGATORS, "aggregator") for name in aggregators)
        self.around = EdgeStatistics(aggregators)
        self.layers = nn.ModuleList(
            PNALayer(width, bool(edge_channels), aggregators) for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(num_layers))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """Node states ``[N, H]`` from features ``[N, F]``, edges ``[2, E]`` and ``[E, D]``."""
        h: Tensor = self.encode_nodes(x)
        edges = encode_edges(self.encode_edges, edge_attr)
        statistics = self.around(h, edge_index, edges)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            new = F.relu(norm(layer(h, edge_index, *statistics)))
            h = dropout(h + new, self.dropout, self.training)
        return h

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
