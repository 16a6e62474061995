"""GSAT: stochastic attention under an information bottleneck."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor

from gsina.errors import InputError, check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.scorer import SCORERS, NodeScorer, make_scorer
from gsina.ops.edges import symmetrise


@dataclass(frozen=True)
class GSATConfig:
    """Settings of GSAT; the defaults are those of its paper on Spurious-Motif.

    Attributes:
        final_ratio: The prior r at the end of the schedule.
        start_ratio: The prior in the first epochs.
        decay: How much the prior falls at each step of the schedule.
        interval: Epochs between two steps.
        information: Coefficient of the information loss.
        temperature: Temperature of the sampled attention.
        scorer: ``normed`` or ``plain``.
        attention: What is scored and sampled: every ``edge``, or every ``node`` (its paper on
            MNIST-75sp and molecules); then an edge's attention is the product of its ends'.
    """

    final_ratio: float = 0.7
    start_ratio: float = 0.9
    decay: float = 0.1
    interval: int = 10
    information: float = 1.0
    temperature: float = 1.0
    scorer: str = "normed"
    attention: Literal["edge", "node"] = "edge"

    def __post_init__(self) -> None:
        check_range(self, "lie between 0 and 1", "final_ratio", "start_ratio")
        check_range(self, "be above 0", "decay", "interval", "temperature")
        check_name(self.scorer, SCORERS, "scorer")
        check_name(self.attention, ("edge", "node"), "attention")
        if self.attention == "node" and self.scorer != "normed":
            raise InputError(
                f"got scorer {self.scorer!r} with attention 'node', which has the scorer 'normed' "
                "only; use that, or attention 'edge'."
            )

    def prior(self, epoch: int) -> float:
        """The prior r of an epoch."""
        return max(self.final_ratio, self.start_ratio - self.decay * (epoch // self.interval))

    @property
    def first_eligible_epoch(self) -> int:
        """The first epoch that GSAT's own rule may select: the prior is final, 11 at least."""
        steps = math.ceil(round((self.start_ratio - self.final_ratio) / self.decay, 6))
        return max(11, steps * self.interval)


class GSAT(Method):
    """One network, run twice: to score the edges, and to predict with the sampled attention.

    After Miao, Liu, Li, Interpretable and generalizable graph learning via stochastic attention
    mechanism, ICML 2022.

    Attention in training is ``sigmoid((a + logistic noise) / temperature)``, in evaluation
    ``sigmoid(a)``. The loss adds the divergence of the attention from a Bernoulli prior r:

        mean_e  alpha log(alpha / r) + (1 - alpha) log((1 - alpha) / (1 - r)).

    In node mode a score belongs to a node, the mean above runs over nodes, and the message of an
    edge i -> j is multiplied by ``alpha_i alpha_j``. In both modes the readout is not weighted.

    As in the released code the divergence is of the sampled attention, with 1e-6 inside its
    logarithms; edges whose attention is exactly 1 are told apart by their scores. The CIGA
    benchmark's port of GSAT was not released; its recipes here have the plain scorer of that
    benchmark's other methods.
    """

    def __init__(self, predictor: Predictor, channels: int, task: Task, config: GSATConfig) -> None:
        super().__init__(task)
        self.config = config
        self.predictor = predictor
        self.scorer = (
            NodeScorer(channels)
            if config.attention == "node"
            else make_scorer(config.scorer, channels)
        )

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GSATConfig) -> Self:
        """A fresh model."""
        predictor = spec.predictor(task)
        return cls(predictor, predictor.backbone.out_channels, task, config)

    def forward(self, batch: Batch) -> Output:
        """Predict from the graph weighted by (sampled) attention."""
        return self._predict(batch)[0]

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss and information loss."""
        output, alpha = self._predict(batch)
        information = information_loss(alpha, self.config.prior(epoch))
        return {
            "prediction": task_loss(output.logits, batch, self.task),
            "information": self.config.information * information,
        }

    def _predict(self, batch: Batch) -> tuple[Output, Tensor]:
        """The output, and the attention as sampled: one number per node, or a directed edge."""
        scores = self._score(batch)
        alpha = self._sample(scores)
        attention = self._attend(alpha, scores, batch)
        logits = self.predictor(batch, Attention(attention.edge))
        return Output(logits, attention), alpha

    def _score(self, batch: Batch) -> Tensor:
        """One score per node, or per directed edge."""
        h = self.predictor.embed(batch)
        if self.config.attention == "node":
            scores: Tensor = self.scorer(h, batch.node_groups)
        else:
            scores = self.scorer(h, batch.edge_index, batch.edge_groups)
        return scores

    def _attend(self, alpha: Tensor, scores: Tensor, batch: Batch) -> Attention:
        """The attention of edges, and of nodes if these are scored."""
        if self.config.attention == "node":
            source, target = alpha.index_select(0, batch.edge_index.reshape(-1)).view(2, -1)
            return Attention(source * target, alpha)
        shared = symmetrise(scores.detach(), batch.reverse)
        return Attention(symmetrise(alpha, batch.reverse), None, shared)

    def _sample(self, scores: Tensor) -> Tensor:
        if not self.training:
            return torch.sigmoid(scores)
        noise = torch.logit(torch.rand_like(scores), eps=1e-10)
        return torch.sigmoid((scores + noise) / self.config.temperature)


def information_loss(alpha: Tensor, prior: float) -> Tensor:
    """Mean divergence of attention ``[N]`` from a Bernoulli prior; 0 if there is nothing."""
    divergence = alpha * torch.log(alpha / prior + 1e-6) + (1 - alpha) * torch.log(
        (1 - alpha) / (1 - prior + 1e-6) + 1e-6
    )
    return divergence.sum() / max(alpha.numel(), 1)
