"""PrunE: take out the edges that say nothing, rather than look for those that do."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.methods.parts.splitting import logistic_noise
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.nn.scorer import SCORERS, make_scorer
from gsina.ops.alignment import alignment_loss
from gsina.ops.edges import symmetrise
from gsina.ops.groups import Groups


@dataclass(frozen=True)
class PrunEConfig:
    """Settings of PrunE; the defaults are those of its release on GOOD-Motif with a shift of bases.

    Attributes:
        size: Share eta of the edges that may stay; the paper tries 0.5, 0.75 and 0.85.
        size_penalty: Coefficient lambda_1 of the graph size constraint; the paper tries 10 and 40.
        lowest: Share K of the edges whose probabilities are aligned; the paper tries 0.5, 0.7, 0.9.
        alignment: Coefficient lambda_2 of the alignment; the paper tries 0.001, 0.01 and 0.1.
        temperature: Of the sampled choice.
        pretraining: First epochs, in which the predictor learns from whole graphs; these are not
            selected.
        selector_layers: Layers of the network that scores the edges; the paper tries 2 and 3.
        scorer: ``plain`` or ``normed``.
    """

    size: float = 0.85
    size_penalty: float = 10.0
    lowest: float = 0.9
    alignment: float = 1e-3
    temperature: float = 0.2
    pretraining: int = 10
    selector_layers: int = 2
    scorer: str = "plain"

    def __post_init__(self) -> None:
        check_range(self, "lie in (0, 1]", "size")
        check_range(self, "lie between 0 and 1", "lowest")
        check_range(self, "be 0 or more", "size_penalty", "alignment", "pretraining")
        check_range(self, "be above 0", "temperature")
        check_range(self, "be 1 or more", "selector_layers")
        check_name(self.scorer, SCORERS, "scorer")

    @property
    def first_eligible_epoch(self) -> int:
        """The first epoch that may be selected: edges are pruned."""
        return self.pretraining


class PrunE(Method):
    """Sample the edges that stay, press their number down a little and the lowest chances to zero.

    After Yao et al., Pruning spurious subgraphs for graph out-of-distribution generalization,
    NeurIPS 2025.

    A small network t scores the edges; edge e stays with the chance ``p_e = sigmoid(score_e)``. In
    training the choice m_e is 0 or 1, with the gradient of
    ``sigmoid((score_e + logistic noise) / temperature)``, and multiplies the messages of the
    predictor; in evaluation p_e does. The loss is

        CE + lambda_1 mean_G (mean_e m_e - eta)^2 + lambda_2 mean_G mean_{e in low} |p_e - 1 / E|,

    with E the number of edges of graph G, and low the share K of them with the lowest chances. The
    first term prunes what the prediction does not need, the second what is left of spurious edges.

    Unlike the release:

    * both terms are those of the paper, graph by graph; the release takes the share of edges and
      the lowest of them over the whole batch, and the size constraint is ``|.|`` there, four times
      as heavy above eta as below;
    * both directions of an undirected edge share one score and one choice;
    * evaluation has no noise; the release draws there too, once or as a mean of several draws;
    * the scorer is one of this package's, on ``[h_i, h_j]``.
    """

    def __init__(
        self,
        selector: nn.Module,
        channels: int,
        predictor: Predictor,
        task: Task,
        config: PrunEConfig,
    ) -> None:
        super().__init__(task)
        self.config = config
        self.selector = selector
        self.scorer = make_scorer(config.scorer, channels)
        self.predictor = predictor

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: PrunEConfig) -> PrunE:
        """A fresh model: the selector is a shallow network of the predictor's make."""
        selector = spec.shallow(config.selector_layers).network()
        return cls(selector, selector.out_channels, spec.predictor(task), task, config)

    def forward(self, batch: Batch) -> Output:
        """Predict from the edges that stay."""
        scores = self._score(batch)
        attention = Attention(self._choose(scores, batch), None, scores.detach())
        return Output(self.predictor(batch, attention), attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss, size constraint and alignment; in pretraining that of whole graphs."""
        if epoch < self.config.pretraining:
            return {"prediction": task_loss(self.predictor(batch), batch, self.task)}
        scores, edges = self._score(batch), batch.edge_groups
        chosen, chance = self._choose(scores, batch), scores.sigmoid()
        low = alignment_loss(chance, edges, batch.reverse, lowest=self.config.lowest)
        logits = self.predictor(batch, Attention(chosen))
        return {
            "prediction": task_loss(logits, batch, self.task),
            "size": self.config.size_penalty * size_loss(chosen, edges, self.config.size),
            "alignment": self.config.alignment * low.mean(),
        }

    def _score(self, batch: Batch) -> Tensor:
        """One score per edge ``[E]``, the same for both directions."""
        states = embed(self.selector, batch)
        scores: Tensor = self.scorer(states, batch.edge_index, batch.edge_groups)
        return symmetrise(scores, batch.reverse)

    def _choose(self, scores: Tensor, batch: Batch) -> Tensor:
        """Weights of the edges ``[E]``: in training 0 and 1, in evaluation the chances."""
        if not self.training:
            return scores.sigmoid()
        drawn = scores + logistic_noise(batch, scores)
        soft = torch.sigmoid(drawn / self.config.temperature)
        return (drawn > 0).to(soft.dtype) + (soft - soft.detach())


def size_loss(weights: Tensor, edges: Groups, share: float) -> Tensor:
    """Mean square of how far the mean weight of a graph is from a share; graphs without edges: 0.

    Args:
        weights: Weights of the edges ``[E]``.
        edges: The edges of each graph.
        share: Where the mean shall be.
    """
    count = edges.counts(weights)
    each = (edges.sum(weights) / count.clamp(min=1) - share).square()
    return torch.where(count > 0, each, 0).mean()
