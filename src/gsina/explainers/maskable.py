"""A method as PyG's explainers can mask it: layers that send messages, and follow their graph."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from gsina.methods.base import Method
from gsina.nn.neighbours import NeighbourSum


def maskable_copy(method: Method) -> Method:
    """A copy in evaluation mode, without gradients of its own, whose every layer can be masked.

    A copy, because explainers leave their masks and flags on the layers of what they explain.
    Sums over neighbours that make no messages are replaced by layers that do. A layer that works
    on a part of the graph (the predictor of a method that cuts edges off) is left unmasked: what
    a mask changes there is which part is cut out.
    """
    made = copy.deepcopy(method).eval().requires_grad_(False)
    for module in list(made.modules()):
        for name, child in module.named_children():
            if isinstance(child, NeighbourSum):
                setattr(module, name, MessageSum())
    for layer in made.modules():
        if isinstance(layer, MessagePassing):
            layer.explain_message = explain_message.__get__(layer)
    for part in made.modules():
        predictor = getattr(part, "predictor", None)
        if isinstance(part, Method) and part.keeps_top_share and isinstance(predictor, nn.Module):
            for layer in predictor.modules():
                if isinstance(layer, MessagePassing):
                    layer.explain = False  # PyG leaves such layers alone
    return made


class MessageSum(MessagePassing):  # type: ignore[misc]
    """:class:`~gsina.nn.neighbours.NeighbourSum` by messages, which PyG can mask."""

    def __init__(self) -> None:
        super().__init__(aggr="add")

    def forward(self, h: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[N, H]`` and ``[2, E]`` to ``[N, H]``."""
        found: Tensor = self.propagate(edge_index, h=h, weight=weight)
        return found

    def message(self, h_j: Tensor, weight: Tensor | None) -> Tensor:
        """State of the neighbour, weighted."""
        return h_j if weight is None else h_j * weight.unsqueeze(-1)


def explain_message(self: Any, inputs: Tensor, dim_size: int | None) -> Tensor:
    """PyG's masking of messages, but for layers on other edges than the masked ones.

    PyG goes by this name and those of the parameters.
    """
    mask: Tensor = self._edge_mask
    if self._apply_sigmoid:
        mask = mask.sigmoid()
    count = inputs.size(self.node_dim)
    if count != mask.size(0):  # a layer may add one self-loop per node, which keep their weight
        mask = mask[self._loop_mask]
        if dim_size is None or count != mask.size(0) + dim_size:
            return inputs
        mask = torch.cat([mask, mask.new_ones(dim_size)])
    size = [1] * inputs.dim()
    size[self.node_dim] = -1
    return inputs * mask.view(size)
