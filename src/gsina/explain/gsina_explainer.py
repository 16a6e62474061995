"""`GSINAExplainer`: a trained model's own weights as an algorithm of PyG's ``Explainer``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import MaskType, ModelTaskLevel

from gsina.explainers.frozen import Explainer
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.models.explanations import explain
from gsina.models.folder import as_model


class GSINAExplainer(ExplainerAlgorithm):  # type: ignore[misc]
    """The weights of a model, of any method, where PyG expects an explainer.

    ::

        explainer = Explainer(
            model.as_pyg(), GSINAExplainer(model), explanation_type="model",
            edge_mask_type="object", node_mask_type="object",
            model_config=ModelConfig("multiclass_classification", "graph", "raw"),
        )
        explainer(x, edge_index, batch=batch)

    Nothing is optimised: the weights are those with which the model predicts. For a method without
    attention they are those of the post-hoc explainer that :meth:`Model.explain` takes.

    Args:
        model: A :class:`~gsina.models.model.Model`, a fitted estimator, a run, or the folder of a
            model or run.
        explainer: A post-hoc explainer in place of the model's own weights.
    """

    def __init__(self, model: Any, explainer: str | Explainer | None = None) -> None:
        super().__init__()
        self.model, self.explainer = as_model(model), explainer

    def supports(self) -> bool:
        """Whether it can do what it is connected to: masks of whole edges and nodes."""
        asked = self.explainer_config
        levels = {"graph": ModelTaskLevel.graph, "node": ModelTaskLevel.node}
        wide = asked.node_mask_type not in (None, MaskType.object)
        return not wide and self.model_config.task_level == levels[self.model.task.level]

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **kwargs: Any,
    ) -> Explanation:
        """The explanation of one graph, or of several side by side.

        Args:
            model: What PyG explains; the weights are those of the model given at the start.
            x: Node features ``[N, F]``.
            edge_index: Edges ``[2, E]``.
            target: Not used: the weights are those of the answer that the model gives.
            index: At node level the nodes to explain; edges that they cannot see get weight 0.
            **kwargs: ``batch``, ``edge_attr`` and ``graph_attr``, as the model takes them.
        """
        given = {name: value for name, value in kwargs.items() if value is not None}
        batch = Batch.from_pyg(Data(x=x, edge_index=edge_index, **given))
        graphs = PackedGraphs.from_batch(batch)
        nodes = index if self.model.task.level == "node" else None
        found = explain(self.model, graphs, self.explainer, index=nodes)
        made = Explanation(edge_mask=torch.cat([one.edge_mask for one in found]))
        asked = self.explainer_config
        if asked.edge_mask_type is None:
            del made.edge_mask
        if asked.node_mask_type is not None:
            # A method that weighs no nodes leaves them all as they are.
            made.node_mask = torch.cat(
                [one.get("node_mask", one.x.new_ones(one.num_nodes, 1)) for one in found]
            )
        return made
