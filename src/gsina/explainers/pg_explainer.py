"""PGExplainer: one small network, trained once, that masks the edges of any graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import torch
from torch import Tensor
from torch_geometric import explain

from gsina.explainers.frozen import Explainer, FrozenModel, Training
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.ops.host import widest


@dataclass(frozen=True)
class PGExplainer(Explainer):
    """Settings of PGExplainer (Luo et al., 2020), as implemented in PyG.

    An MLP ``2H -> 64 -> 1`` on the last layer's states of the two ends of an edge gives its logit.
    In training the mask is a binary concrete sample, and the loss of a graph is

        loss(masked graph, own prediction) + size * sum(mask) + entropy * mean H(mask).

    The score of an edge is the sigmoid of its logit. How good the scores are depends much on the
    two coefficients, and there is no way to choose them that does not look at true explanations.

    Attributes:
        epochs: Passes over the training graphs.
        learning_rate: Of Adam.
        size: Coefficient of the sum of the mask.
        entropy: Coefficient of the mean entropy of the mask.
        temperature: Of the samples, in the first and after the last epoch.
        batch_size: Graphs per step.
    """

    epochs: int = 30
    learning_rate: float = 3e-3
    size: float = 0.05
    entropy: float = 1.0
    temperature: tuple[float, float] = (5.0, 2.0)
    batch_size: int = 128

    def training(self, model: FrozenModel, train: PackedGraphs | None) -> Training:
        """Train one network on all training graphs."""
        train = self.training_graphs(train)
        algorithm = BatchedPGExplainer(
            model,
            epochs=self.epochs,
            lr=self.learning_rate,
            coefficients={
                "edge_size": self.size,
                "edge_ent": self.entropy,
                "temp": self.temperature,
            },
        ).to(model.device)

        def learn() -> Iterator[None]:
            shuffle = torch.Generator().manual_seed(torch.initial_seed())
            for epoch in range(self.epochs):
                for batch in train.batches(self.batch_size, shuffle):
                    yield algorithm.learn(epoch, model, batch.to(model.device))

        steps = self.epochs * ceil(len(train) / self.batch_size)
        return Training(partial(algorithm.score, model), learn(), steps)


class BatchedPGExplainer(explain.PGExplainer):  # type: ignore[misc]
    """PyG's PGExplainer whose loss on a batch is the mean of the losses of its graphs alone.

    PyG's own regularisers are those of one graph: the sum of the mask would grow with the batch.
    """

    def __init__(self, model: FrozenModel, coefficients: dict[str, Any], **settings: Any) -> None:
        super().__init__(**settings)
        # Not through PyG's keyword arguments, which would change the class for everybody.
        self.coeffs = {**explain.PGExplainer.coeffs, **coefficients}
        model.connect(self)
        self.losses = model.losses

    def learn(self, epoch: int, model: FrozenModel, batch: Batch) -> None:
        """One step of training."""
        if batch.num_edges:
            target = model.with_own_labels(batch)
            with warnings.catch_warnings():  # PyG turns a loss with a gradient into a float
                warnings.simplefilter("ignore", UserWarning)
                self.train(epoch, model, batch.x, batch.edge_index, target=target, graphs=batch)

    @torch.no_grad()
    def score(self, model: FrozenModel, batch: Batch) -> Tensor:
        """Scores ``[E]``."""
        found = self(model, batch.x, batch.edge_index, target=batch.y, graphs=batch)
        scores: Tensor = found.edge_mask
        return scores

    @staticmethod
    def _post_process_mask(mask: Tensor, *_: Any, **__: Any) -> Tensor:
        """The sigmoid as precise as can be, as logits below -100 occur, and have ranks too."""
        return mask.detach().to(widest(mask.device)).sigmoid()

    def _loss(self, y_hat: Tensor, y: Batch, edge_mask: Tensor) -> Tensor:
        edges = y.edge_groups
        mask = edge_mask.sigmoid()
        inside = 0.99 * mask + 0.005
        entropy = -inside * inside.log() - (1 - inside) * (1 - inside).log()
        mean_entropy = edges.sum(entropy) / edges.counts(entropy).clamp(min=1)
        size = self.coeffs["edge_size"] * edges.sum(mask)
        each = self.losses(y_hat, y) + size + self.coeffs["edge_ent"] * mean_entropy
        mean: Tensor = each.mean()
        return mean
