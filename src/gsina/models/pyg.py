"""`PygModel`: a trained model as a plain PyG module, for PyG's own explainers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gsina.errors import InputError, check_name
from gsina.explainers.maskable import maskable_copy
from gsina.graphs.batch import Batch
from gsina.graphs.scaling import apply_scaling

if TYPE_CHECKING:
    from gsina.models.model import Model


class PygModel(nn.Module):
    """A frozen copy of a model that is called as PyG's networks are.

    Its outputs are the model's own: logits, or values in the units of the target. Features are
    brought to one scale inside, so that graphs are given as to :meth:`Model.predict`. Masks of
    PyG's explainers act on every message; see
    :func:`~gsina.explainers.maskable.maskable_copy`. Algorithms that look into layers, such as
    PGExplainer and AttentionExplainer, need a method whose layers all work on the whole graph.

    Args:
        model: The model.
        returns: ``raw``, or ``probs`` for the model's probabilities, as PyG's ``CaptumExplainer``
            wants them of one yes-or-no output.
    """

    def __init__(self, model: Model, returns: Literal["raw", "probs"] = "raw") -> None:
        super().__init__()
        check_name(returns, ("raw", "probs"), "kind of output")
        if returns == "probs" and model.task.kind == "regression":
            raise InputError("this model predicts numbers, which have no probabilities; take raw.")
        self.probabilities = model.probabilities if returns == "probs" else None
        self.method = maskable_copy(model.method)
        self.scaling = model.featuriser.get("scaling", {})
        self.scale = model.scale
        channels = model.architecture.node_channels
        self.categories = not isinstance(channels, int)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
    ) -> Tensor:
        """Logits or probabilities ``[G, outputs]``, at node level ``[N, outputs]``.

        Args:
            x: Node features ``[N, F]``.
            edge_index: Edges ``[2, E]``.
            batch: Graph of every node ``[N]``; ``None`` for one graph.
            edge_attr: Edge features ``[E, D]``, for models with some.
            graph_attr: Features of whole graphs ``[G, F]``, for models with some.
        """
        if self.categories and x.is_floating_point():
            raise InputError(
                "this model's node features are categories, which a mask cannot multiply; explain "
                "it by edges alone (node_mask_type=None)."
            )
        extra = {"batch": batch, "edge_attr": edge_attr, "graph_attr": graph_attr}
        given = {name: value for name, value in extra.items() if value is not None}
        graphs = Batch.from_pyg(Data(x=x, edge_index=edge_index, **given))
        return self.run(graphs)

    def run(self, batch: Batch) -> Tensor:
        """The same for a batch as it is."""
        (scaled,) = apply_scaling(self.scaling, batch)
        logits: Tensor = self.method(scaled).logits
        if self.probabilities is not None:
            return self.probabilities(logits)
        if self.scale is None:
            return logits
        mean, std = (torch.tensor(part) for part in (self.scale.mean, self.scale.std))
        return logits * std.to(logits) + mean.to(logits)
