"""GMT: attention that stands for an expectation over subgraphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from gsina.errors import check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import Output, check_draws, task_loss
from gsina.methods.extracting.gsat import GSAT, GSATConfig, information_loss
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.ops.draws.noise import own_noise
from gsina.ops.edges import share_first
from gsina.ops.hard_top_r import hard_top_r


@dataclass(frozen=True)
class GMTLinConfig(GSATConfig):
    """Settings of GMT-lin; the defaults are those of its release with GIN on Spurious-Motif.

    Attributes:
        information: Coefficient of the information loss; the release has 1 with PNA.
    """

    information: float = 0.5


@dataclass(frozen=True)
class GMTSamConfig(GMTLinConfig):
    """Settings of GMT-sam; the defaults are those of its release with GIN at a bias of 0.5.

    Attributes:
        draws: Number of subgraphs that are drawn of every graph, and over which logits are
            averaged; the release has 80 to 200 on Spurious-Motif, 1 to 100 elsewhere. A step costs
            as many passes.
        refit_epoch: The epoch, counted from 0, from which on what scores the edges is frozen and a
            second network learns from the highest of them, which predicts then; ``None`` for never.
            In the release each stage has all epochs (100 with GIN on Spurious-Motif). Only epochs
            from then on are selected.
        keep: Share of the edges that the second network sees.
        warm: Whether the second network begins with the weights of the first, as in the release
            with PNA, or with fresh ones.
    """

    draws: int = 80
    refit_epoch: int | None = None
    keep: float = 0.8
    warm: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "be 1 or more", "draws")
        check_draws("draws", self.draws)
        check_range(self, "lie in (0, 1]", "keep")
        if self.refit_epoch is not None:
            check_range(self, "be 1 or more", "refit_epoch")

    @property
    def first_eligible_epoch(self) -> int:
        """The first epoch that may be selected: the prior is final, or the second stage begun."""
        return self.refit_epoch or super().first_eligible_epoch


class GMTLin(GSAT):
    """GSAT with attention in the first layer only, so that the output hardly bends in it.

    After Chen, Bian, Han, Cheng, How interpretable are interpretable graph neural networks?,
    ICML 2024.

    What an attention should give is the multilinear extension of the network f: its mean over
    subgraphs, each edge e drawn with the chance alpha_e,

        F(alpha) = E f(S) = sum_S f(S) prod_{e in S} alpha_e prod_{e not in S} (1 - alpha_e).

    Attention in all k layers has products alpha_e^k in place of alpha_e. GMT-lin multiplies the
    messages of the first layer by the sampled attention, and no others. Scores, sampling and
    schedule are GSAT's (:class:`~gsina.methods.extracting.gsat.GSAT`); the information loss is of
    ``sigmoid(score)``, not of the sampled attention, as in the release.
    """

    config: GMTLinConfig

    def forward(self, batch: Batch) -> Output:
        """Predict from the graph whose first messages are weighted by (sampled) attention."""
        return self._output(batch, self._score(batch))

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss and information loss."""
        scores = self._score(batch)
        information = information_loss(scores.sigmoid(), self.config.prior(epoch))
        return {
            "prediction": task_loss(self._output(batch, scores).logits, batch, self.task),
            "information": self.config.information * information,
        }

    def _output(self, batch: Batch, scores: Tensor) -> Output:
        attention = self._attend(self._sample(scores), scores, batch)
        states = embed(self.predictor.network, batch, attention.edge, first_only=True)
        return Output(self.predictor.classify(states, batch), attention)


class GMTSam(GMTLin):
    """GSAT whose logits are averaged over subgraphs drawn by its attention.

    After Chen, Bian, Han, Cheng, How interpretable are interpretable graph neural networks?,
    ICML 2024.

    The expectation F(alpha) of :class:`GMTLin` by sampling. With alpha_k the k-th sample of GSAT's
    attention and ``b_k ~ Bernoulli(alpha_k)`` for every edge,

        logits = mean_k f(b_k),     k = 1 .. draws,

    with messages of all layers multiplied by b_k, whose gradient is passed on to alpha_k. From the
    ``refit_epoch`` on, the scores are frozen, and a second network of the same make learns from
    ``sigmoid(score)`` on the highest share ``keep`` of the edges of each graph, and 0 on the
    others. Nodes stay, as in the release.

    Unlike the release:

    * both directions of an undirected edge are drawn together, and kept together;
    * in evaluation the draws are a function of the graph, so that predictions can be repeated and
      do not depend on the batch; the release draws anew every time;
    * both stages are epochs of one training; the frozen network is in evaluation mode;
    * without a ``refit_epoch`` there is one stage, and the mean over draws predicts.
    """

    config: GMTSamConfig
    refitted: Tensor

    def __init__(
        self,
        predictor: Predictor,
        channels: int,
        task: Task,
        config: GMTSamConfig,
        second: Predictor | None = None,
    ) -> None:
        super().__init__(predictor, channels, task, config)
        self.second = second
        if second is not None:
            self.register_buffer("refitted", torch.tensor(False))

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GSATConfig) -> Self:
        """A fresh model; if there are two networks, they are of the same make."""
        assert isinstance(config, GMTSamConfig)
        predictor = spec.predictor(task)
        second = None if config.refit_epoch is None else spec.predictor(task)
        return cls(predictor, predictor.backbone.out_channels, task, config, second)

    @property
    def last_layer(self) -> nn.Module | None:
        """The head of the network that predicts."""
        return super().last_layer if self._refit is None else self._refit.last_layer

    @property
    def _refit(self) -> Predictor | None:
        """The second network, from its first epoch on."""
        return self.second if self.second is not None and self.refitted else None

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        """From the epoch of the refit on, the second network learns and the first is frozen."""
        begin = self.config.refit_epoch
        if self.second is not None and begin is not None and epoch >= begin and not self.refitted:
            if self.config.warm:
                self.second.load_state_dict(self.predictor.state_dict())
            self.refitted.fill_(True)
            self.train(self.training)
        return train

    def train(self, mode: bool = True) -> Self:
        """Training or evaluation mode; what is frozen is always in the latter."""
        super().train(mode)
        if self._refit is not None:
            self.predictor.eval()
            self.scorer.eval()
        return self

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss and, before the refit, information loss."""
        if self._refit is None:
            return super().loss(batch, epoch)
        return {"prediction": task_loss(self(batch).logits, batch, self.task)}

    def _output(self, batch: Batch, scores: Tensor) -> Output:
        whole = self._attend(scores.sigmoid(), scores, batch)
        if self._refit is not None:
            edge = whole.edge.detach()
            kept = hard_top_r(edge, self.config.keep, batch.edge_groups, batch.reverse)
            return Output(self._refit(batch, Attention(edge * kept)), whole)
        drawn = [self._draw(number, scores, whole, batch) for number in range(self.config.draws)]
        logits = [self.predictor(batch, Attention(edge)) for edge in drawn]
        return Output(torch.stack(logits).mean(0), whole)

    def _draw(self, number: int, scores: Tensor, whole: Attention, batch: Batch) -> Tensor:
        """Weights 0 and 1 of the edges of a drawn subgraph ``[E]``, with the attention's gradient.

        Args:
            number: Number of the draw; in evaluation it decides, together with the graph.
            scores: Scores of edges or nodes.
            whole: The attention without noise.
            batch: The graphs.
        """
        if self.training:
            chance = self._attend(self._sample(scores), scores, batch).edge
            uniform = torch.rand_like(chance)
        else:
            chance = whole.edge
            uniform = own_noise(batch.edge_index, batch.edge_groups, number).each
        taken = share_first(uniform, batch.reverse) < chance
        return taken.to(chance.dtype) + (chance - chance.detach())
