"""A trained graph-level model as a program of torch's own operators, to be served by itself."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.scaling import apply_scaling
from gsina.methods.trees import WithTrees
from gsina.nn.backbones.protocol import Features
from gsina.ops.edges import reverse_edges

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from gsina.models.model import Model


class Served(nn.Module):
    """What is exported: a function of tensors, from graphs to answers.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.method = deepcopy(model.method).cpu().eval().requires_grad_(False)
        self.model = model

    def forward(
        self, x: Tensor, edge_index: Tensor, ptr: Tensor, edge_attr: Tensor | None = None
    ) -> Tensor:
        """Probabilities ``[G, classes]``, of yes or no ``[G, outputs]``; in regression the values.

        Args:
            x: Node features ``[N, F]``, of all graphs one after the other.
            edge_index: Edges ``[2, E]``, in the order of the graphs.
            ptr: Where the nodes of every graph begin, and where the last ends ``[G + 1]``. An
                exported program wants two graphs or more: put an empty one behind a single one.
            edge_attr: Edge features ``[E, D]``, for a model with some.
        """
        model, nodes = self.model, torch.arange(x.size(0))
        node_graph = torch.searchsorted(ptr, nodes, right=True) - 1
        batch = Batch(
            x=x,
            edge_index=edge_index,
            node_graph=node_graph,
            edge_graph=node_graph.index_select(0, edge_index[0]),
            num_graphs=ptr.size(0) - 1,
            reverse=reverse_edges(edge_index, x.size(0)),
            edge_attr=edge_attr,
        )
        (scaled,) = apply_scaling(model.featuriser.get("scaling", {}), batch)
        logits: Tensor = self.method(scaled).logits
        if model.task.kind == "regression":
            return logits if model.scale is None else model.scale.restore(logits)
        return model.probabilities(logits)


def export_program(model: Model) -> ExportedProgram:
    """The program, for batches of any size; :class:`Served` says what goes in and comes out.

    It needs neither PyG nor this package, and can be saved (``torch.export.save``) or compiled
    into a library that needs no Python (``torch._inductor.aoti_compile_and_package``).

    Raises:
        InputError: The model is one of nodes, has trees, wants features of whole graphs, or weighs
            messages of layers by hooks; or torch is too old.
    """
    made, dim = model.architecture, getattr(torch.export.Dim, "AUTO", None)
    if dim is None:
        raise InputError(f"export needs torch 2.6 or newer, got {torch.__version__}; update torch.")
    if model.task.level == "node":
        raise InputError("got a model of nodes, expected one of graphs; nodes are not exported.")
    if isinstance(model.method, WithTrees) or made.graph_channels:
        raise InputError(
            "got a model that wants features of whole graphs, which a program does not compute; "
            "export model.network_alone(), or train without them (--no-trees, no --features)."
        )
    ends = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]])
    given: dict[str, Any] = {
        "x": _example(made.node_channels, 6),
        "edge_index": torch.cat([ends, ends.flip(0)[:, :2]], 1)[:, [0, 1, 2, 6, 7, 3, 4, 5]],
        "ptr": torch.tensor([0, 3, 6]),
    }
    shapes: dict[str, Any] = {"x": {0: dim}, "edge_index": {1: dim}, "ptr": {0: dim}}
    if made.edge_channels:
        given["edge_attr"], shapes["edge_attr"] = _example(made.edge_channels, 8), {0: dim}
    served = Served(model)
    return torch.export.export(served, (), given, dynamic_shapes=shapes, strict=False)


def _example(channels: Features, rows: int) -> Tensor:
    """Features of the right kind: numbers, or categories that there are."""
    if isinstance(channels, int):
        return torch.linspace(0, 1, rows * channels).view(rows, channels)
    return torch.zeros(rows, len(channels), dtype=torch.long)
