"""GNNExplainer: for every graph, the edge mask that keeps the model's answer and little else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_geometric import explain

from gsina.explainers.frozen import Explainer, FrozenModel, Training
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class GNNExplainer(Explainer):
    """Settings of GNNExplainer (Ying et al., 2019), as implemented in PyG.

    One free logit per edge, and gradient descent on

        loss(masked graph, own prediction) + size * sum(mask) + entropy * mean H(mask).

    Edges that the prediction does not depend on get the score 0.

    Attributes:
        steps: Steps of Adam for every graph.
        learning_rate: Of Adam.
        size: Coefficient of the sum of the mask.
        entropy: Coefficient of the mean entropy of the mask.
        batch_size: Graphs at a time; it has no influence on the scores but for rounding.
    """

    steps: int = 100
    learning_rate: float = 0.01
    size: float = 0.005
    entropy: float = 1.0
    batch_size: int = 128

    def training(self, model: FrozenModel, train: PackedGraphs | None) -> Training:
        """Nothing is learned from other graphs."""
        return Training(partial(self._explain_batch, model))

    def _explain_batch(self, model: FrozenModel, batch: Batch) -> Tensor:
        algorithm = BatchedGNNExplainer(
            model,
            batch,
            epochs=self.steps,
            lr=self.learning_rate,
            edge_size=self.size,
            edge_ent=self.entropy,
        )
        target = model.with_own_labels(batch)
        found = algorithm(model, batch.x, batch.edge_index, target=target, graphs=batch)
        scores: Tensor = found.edge_mask
        return scores


class BatchedGNNExplainer(explain.GNNExplainer):  # type: ignore[misc]
    """PyG's GNNExplainer on a batch, with the result that each graph would get alone.

    Graphs do not see each other, so the gradient of the *sum* of their losses is, at every edge,
    that of the edge's own graph; and Adam treats every number by itself.
    """

    def __init__(self, model: FrozenModel, batch: Batch, **settings: Any) -> None:
        super().__init__(**settings)
        model.connect(self)
        self.losses = model.losses
        self.edges = batch.edge_groups
        self.nodes = batch.node_groups

    def _initialize_masks(self, x: Tensor, edge_index: Tensor) -> None:
        super()._initialize_masks(x, edge_index)
        # PyG's spread falls with the number of nodes, which here is that of all graphs together.
        mask = self.edge_mask.data
        alone = self.edges.spread(self.nodes.counts(mask))
        mask *= (x.size(0) / alone).sqrt()

    def _loss(self, y_hat: Tensor, y: Batch) -> Tensor:
        loss: Tensor = self.losses(y_hat, y).sum()
        # In the first step PyG finds the edges that matter, and only these are kept small later.
        if self.hard_edge_mask is None:
            return loss
        counted = self.hard_edge_mask.to(y_hat.dtype)
        mask, eps = self.edge_mask.sigmoid(), self.coeffs["EPS"]
        entropy = -mask * torch.log(mask + eps) - (1 - mask) * torch.log(1 - mask + eps)
        mean_entropy = self.edges.sum(entropy * counted) / self.edges.sum(counted).clamp(min=1)
        loss += self.coeffs["edge_size"] * (mask * counted).sum()
        loss += self.coeffs["edge_ent"] * mean_entropy.sum()
        return loss
