"""What the node-level networks share: their first map, and the blocks between convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from gsina.nn.encoders import CategoryEncoder
from gsina.nn.norm import BatchNorm
from gsina.ops.dropout import dropout


class Map(nn.Linear):
    """A linear layer without bias, Glorot-uniform, on numbers of any type."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels, bias=False)
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """``[N, in]`` to ``[N, out]``."""
        if x.size(1) != self.in_features:
            raise ValueError(f"expected {self.in_features} features in a row, got {x.size(1)}.")
        return super().forward(x.to(self.weight.dtype))


def make_map(features: int | Sequence[int], channels: int) -> nn.Module:
    """A linear map of numbers; for category sizes, the same map of their one-hot vectors."""
    if isinstance(features, int):
        return Map(features, channels)
    return CategoryEncoder(features, channels)


def widths(hidden: int, num_layers: int, out: int) -> list[int]:
    """The output width of every layer."""
    if num_layers < 1:
        raise ValueError(f"a network needs at least one layer, got num_layers = {num_layers}.")
    return [hidden] * (num_layers - 1) + [out]


class Between(nn.Module):
    """Batch norm, ReLU and dropout, between two convolutions."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.norm = BatchNorm(channels)
        self.dropout = dropout

    def forward(self, h: Tensor) -> Tensor:
        """``[N, H]`` to ``[N, H]``."""
        return dropout(F.relu(self.norm(h)), self.dropout, self.training)
