"""What the node-level networks share: their first map, their convolutions, their end."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.nn.backbones.protocol import BackboneModule, Features
from gsina.nn.encoders import CategoryEncoder, NumberEncoder
from gsina.nn.norm import BatchNorm
from gsina.ops.dropout import dropout


class Map(NumberEncoder):
    """A linear layer without bias, Glorot-uniform, on numbers of any type."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels, bias=False)
        nn.init.xavier_uniform_(self.weight)


def make_map(features: Features, channels: int) -> nn.Module:
    """A linear map of numbers; for category sizes, the same map of their one-hot vectors."""
    if isinstance(features, int):
        return Map(features, channels)
    return CategoryEncoder(features, channels)


class NormReLUDropout(nn.Module):
    """Batch norm, ReLU and dropout, between two convolutions."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.norm = BatchNorm(channels)
        self.dropout = dropout

    def forward(self, h: Tensor) -> Tensor:
        """``[N, H]`` to ``[N, H]``."""
        return dropout(F.relu(self.norm(h)), self.dropout, self.training)


def normal_weights(
    h: Tensor, edge_index: Tensor, weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Kipf and Welling's normalised adjacency, with one self-loop for every node.

    Self-loops of the graph stay, and send nothing: how many those are is not known beforehand.

    Args:
        h: States ``[N, H]``, whose type the result has.
        edge_index: Edges ``[2, E]``.
        weight: Weights of the messages ``[E]``, which do not change the degrees.

    Returns:
        What every edge counts ``[E]``, and every node itself ``[N, 1]``.
    """
    source, target = edge_index
    wide = torch.promote_types(h.dtype, torch.float32)  # bf16 cannot count beyond 256
    proper = (source != target).to(wide)
    degree = h.new_ones(h.size(0), dtype=wide).scatter_add(0, target, proper)
    root = degree.rsqrt()
    norm = proper * root.index_select(0, source) * root.index_select(0, target)
    norm = norm if weight is None else norm * weight.to(wide)
    return norm.to(h.dtype), degree.reciprocal().unsqueeze(1).to(h.dtype)


class NodeNetwork(BackboneModule):
    """How the node-level networks end.

    At node level they are made with the task's outputs and need no head.
    """

    readout = "mean"
    heads_itself = True

    def __init__(self, hidden_channels: int, out_channels: int | None) -> None:
        super().__init__()
        self.out_channels = hidden_channels if out_channels is None else out_channels

    @property
    def last_layer(self) -> nn.Module:
        """The convolution that gives the output."""
        layers: nn.ModuleList = self.layers  # type: ignore[assignment]
        return layers[-1]


class Convolutions(NodeNetwork):
    """Convolutions with batch norm, ReLU and dropout between them, none after the last.

    Args:
        make: A convolution from its two widths.
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of convolutions.
        dropout: Dropout between convolutions.
        out_channels: Width of the output; by default H.
    """

    def __init__(
        self,
        make: Callable[[Features, int], nn.Module],
        in_channels: Features,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        out_channels: int | None,
    ) -> None:
        super().__init__(hidden_channels, out_channels)
        if num_layers < 1:
            raise InputError(f"a network needs at least one layer, got num_layers = {num_layers}.")
        inner = [hidden_channels] * (num_layers - 1)
        ends = zip([in_channels, *inner], [*inner, self.out_channels], strict=True)
        self.layers = nn.ModuleList(make(before, after) for before, after in ends)
        self.between = nn.ModuleList(NormReLUDropout(width, dropout) for width in inner)

    def forward(self, x: Tensor, edge_index: Tensor, *more: Tensor) -> Tensor:
        """Node states ``[N, out_channels]`` from features ``[N, F]`` and edges ``[2, E]``.

        What else there is goes to every convolution.
        """
        first, *others = self.layers
        h: Tensor = first(x, edge_index, *more)
        for between, layer in zip(self.between, others, strict=True):
            h = layer(between(h), edge_index, *more)
        return h
