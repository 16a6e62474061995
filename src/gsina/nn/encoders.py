"""From raw node and edge features to the hidden width."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from gsina.errors import InputError
from gsina.ops.dropout import dropout

#: Dropout between the layers of a :class:`GraphEncoder`.
DROPOUT = 0.5


class CategoryEncoder(nn.Module):
    """Sum of one embedding per column of integer features, as OGB's atom and bond encoders."""

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in sizes)
        for table in self.tables:
            bound = math.sqrt(6 / (table.num_embeddings + channels))  # type: ignore[operator]
            nn.init.uniform_(table.weight, -bound, bound)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        """``[N, columns]`` of integers to ``[N, channels]``."""
        if x.size(1) != len(self.tables):
            raise InputError(f"expected {len(self.tables)} integer columns, got {x.size(1)}.")
        total: Tensor = self.tables[0](x[:, 0])
        for column, table in enumerate(list(self.tables)[1:], start=1):
            total = total + table(x[:, column])
        return total


class NumberEncoder(nn.Linear):
    """A linear layer on plain numbers of any type."""

    def forward(self, x: Tensor) -> Tensor:
        """``[N, features]`` to ``[N, channels]``."""
        if x.size(1) != self.in_features:
            raise InputError(f"expected {self.in_features} features in a row, got {x.size(1)}.")
        return super().forward(x.to(self.weight.dtype))


class GraphEncoder(nn.Module):
    """Two layers with dropout between them, for features of whole graphs.

    They are many and know of each other (a fingerprint has 2,048 bits), hence the dropout.

    Args:
        features: Number of features F.
        channels: Width H of the graph states that the result is added to.
    """

    def __init__(self, features: int, channels: int) -> None:
        super().__init__()
        self.first = NumberEncoder(features, channels)
        self.second = nn.Linear(channels, channels)

    def forward(self, features: Tensor) -> Tensor:
        """``[G, F]`` to ``[G, H]``."""
        hidden = dropout(self.first(features).relu(), DROPOUT, self.training)
        out: Tensor = self.second(hidden)
        return out


def make_encoder(features: int | Sequence[int], channels: int) -> nn.Module:
    """A linear layer for ``features`` numbers, embeddings for a list of category sizes."""
    if isinstance(features, int):
        return NumberEncoder(features, channels)
    return CategoryEncoder(features, channels)


def encode_edges(encoder: nn.Module | None, edge_attr: Tensor | None) -> Tensor | None:
    """Edge features ``[E, D]`` to ``[E, channels]``; ``None`` for a network that uses none."""
    if encoder is None:
        return None
    if edge_attr is None:
        raise InputError(
            "this network was made for edge features, but these graphs have no edge_attr."
        )
    encoded: Tensor = encoder(edge_attr)
    return encoded
