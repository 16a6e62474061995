"""IGM: mix the invariant parts of graphs with the environments of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, label_loss, task_loss
from gsina.methods.parts.mixing import join_parts, partners
from gsina.methods.parts.splitting import (
    Split,
    Splitter,
    logistic_noise,
    represent_part,
    with_features,
)
from gsina.nn.attention import Attention
from gsina.nn.norm import keep_statistics
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.scorer import SCORERS
from gsina.nn.subgraph import edge_subgraph
from gsina.ops.hard_top_r import hard_top_r
from gsina.ops.host import widest


@dataclass(frozen=True)
class IGMConfig:
    """Settings of IGM.

    Attributes:
        ratio: Largest share r of a graph's edges in the invariant part; the smallest is 1 - r.
        environment_mixup: Coefficient of the loss of the mixed graphs.
        vrex: Coefficient of the variance of the two risks.
        invariant_mixup: Coefficient of the loss of the mixed states.
        beta: Parameter of the Beta distribution of the mixing weight.
        scorer: ``plain`` (the release's) or ``normed``.
        predict_from: What the predictor sees: the extractor's ``embedding`` of the nodes, or the
            ``raw`` features.
    """

    ratio: float = 0.7
    environment_mixup: float = 0.5
    vrex: float = 0.5
    invariant_mixup: float = 0.5
    beta: float = 0.2
    scorer: str = "plain"
    predict_from: Literal["raw", "embedding"] = "embedding"

    def __post_init__(self) -> None:
        check_range(self, "lie in [0.5, 1]", "ratio")
        check_range(self, "be 0 or more", "environment_mixup", "vrex", "invariant_mixup")
        check_range(self, "be above 0", "beta")
        check_name(self.scorer, SCORERS, "scorer")
        check_name(self.predict_from, ("raw", "embedding"), "input of the predictor")


class IGM(Method):
    """Predict the same from an invariant part whatever environment is glued to it.

    After Jia et al., Graph invariant learning with subgraph co-mixup for out-of-distribution
    generalization, AAAI 2024.

    An extractor scores the edges; their weights are ``a = sigmoid(score + logistic noise)``, in
    evaluation without noise. The edges with ``a > 1/2`` are the invariant part c, but for at least
    a share 1 - r and at most a share r of a graph's edges, the best; the others, with weights
    ``1 - a``, are its environment s. With R the risk,

        R(c) + w1 R(mixed) + w2 Var{R(c), R(mixed)} + w3 R_soft,

    * mixed: c of every graph, joined by two edges to s of a random graph of another class;
    * R_soft: states of c mixed, ``lambda z_i + (1 - lambda) z_j``, lambda ~ Beta(b, b), against the
      labels mixed likewise.

    This follows the paper. In the release the mixed graphs are no separate graphs, their labels are
    not theirs, the variance has no gradient, evaluation is random, and it predicts from the whole
    graph; here from c. One mixed environment is made per step.
    """

    def __init__(
        self, splitter: Splitter, predictor: Predictor, task: Task, config: IGMConfig
    ) -> None:
        super().__init__(task)
        self.config = config
        self.splitter = splitter
        self.predictor = predictor

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: IGMConfig) -> IGM:
        """A fresh model: extractor and predictor are two networks of the same make."""
        extractor = spec.network()
        inside = extractor.out_channels if config.predict_from == "embedding" else None
        splitter = Splitter(extractor, extractor.out_channels, config.ratio, config.scorer)
        return cls(splitter, spec.predictor(task, inside), task, config)

    def forward(self, batch: Batch) -> Output:
        """Predict from the invariant part."""
        split, weight = self._split(batch)
        seen = with_features(batch, self.config.predict_from, split.states)
        states = represent_part(self.predictor, seen, split.kept, weight)
        return Output(self.predictor.logits(states), split.attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Risks of the invariant parts, of the mixtures, and their variance."""
        config = self.config
        split, weight = self._split(batch)
        seen = with_features(batch, config.predict_from, split.states)
        states = represent_part(self.predictor, seen, split.kept, weight)
        risk = task_loss(self.predictor.logits(states), batch, self.task)
        mixed = self._mixed_risk(seen, split.kept, weight)
        return {
            "prediction": risk,
            "environment_mixup": config.environment_mixup * mixed,
            "vrex": config.vrex * (risk - mixed).square() / 2,
            "invariant_mixup": config.invariant_mixup * self._soft_risk(states, batch),
        }

    def _split(self, batch: Batch) -> tuple[Split, Tensor]:
        """The split, and the edges' weights in the invariant part ``[E]``."""
        states, scores = self.splitter.score(batch)
        weight = scores
        if self.training:
            weight = weight + logistic_noise(batch, scores)
        weight = weight.sigmoid()
        graphs = batch.edge_groups
        likely = (weight.detach() > 0.5).to(widest(weight.device))
        share = graphs.sum(likely) / graphs.counts(likely).clamp(min=1)
        ratio = self.config.ratio
        share = share.clamp(max(1 - ratio, 1e-9), ratio)
        kept = hard_top_r(weight, share, graphs, batch.reverse)
        return Split(states, scores, kept), weight

    def _mixed_risk(self, seen: Batch, kept: Tensor, weight: Tensor) -> Tensor:
        """Risk of every invariant part joined to the environment of another graph."""
        mixed, weights = join_parts(
            edge_subgraph(seen, kept, compact=True),
            edge_subgraph(seen, ~kept, compact=True),
            partners(seen.labels),
            (weight[kept], 1 - weight[~kept]),
            both_ways=seen.reverse is not None,
        )
        with keep_statistics(self.predictor):  # evaluation sees no mixed graphs
            logits = self.predictor(mixed, Attention(weights))
        return task_loss(logits, mixed, self.task)

    def _soft_risk(self, states: Tensor, batch: Batch) -> Tensor:
        """Risk of mixed states against mixed labels, in which the loss is linear."""
        beta = torch.tensor(self.config.beta)
        share = torch.distributions.Beta(beta, beta).sample().to(states)
        other = torch.randperm(batch.num_graphs).to(states.device)
        mixed = share * states + (1 - share) * states.index_select(0, other)
        logits = self.predictor.logits(mixed)
        own_loss = task_loss(logits, batch, self.task)
        weight = batch.label_weight
        weight = None if weight is None else weight[other]
        theirs = label_loss(logits, batch.labels[other], self.task, weight=weight)
        return share * own_loss + (1 - share) * theirs
