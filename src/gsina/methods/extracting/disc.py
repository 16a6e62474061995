"""DisC: causal and biased substructures, told apart by how early they are learned."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gsina.errors import check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, label_loss
from gsina.methods.parts.environments import has_label
from gsina.nn.attention import Attention
from gsina.nn.encoders import make_encoder
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.scorer import PlainScorer
from gsina.ops.edges import symmetrise


@dataclass(frozen=True)
class DisCConfig:
    """Settings of DisC; the defaults are those of its release with GIN.

    Attributes:
        amplification: Exponent q of the generalised cross-entropy, which leaves the biased branch
            what it finds easy.
        bias: Coefficient of the biased branch's losses.
        swap: Coefficient lambda_G of the losses of swapped graphs; the release has 10 and 15.
        swap_epoch: The first epoch with these; the release has 100 of 200.
    """

    amplification: float = 0.7
    bias: float = 1.0
    swap: float = 15.0
    swap_epoch: int = 100

    def __post_init__(self) -> None:
        check_range(self, "be above 0", "amplification")
        check_range(self, "be 0 or more", "bias", "swap", "swap_epoch")


class DisC(Method):
    """Two networks on complementary parts; one learns the shortcut, the other what it leaves.

    After Fan, Wang, Mo, Shi, Tang, Debiasing graph neural networks via learning disentangled causal
    substructure, NeurIPS 2022.

    An MLP on the features of both ends gives every edge its causal weight c_e. A causal network
    sees messages weighted by c_e and gives z, a biased one ``1 - c_e`` and b. Each has a head on
    ``[z, b]``, where the other's part is detached. The biased branch learns by the generalised
    cross-entropy ``GCE = q p^q CE``, p the probability of the label (detached), so that it learns
    what is easy; graphs that it gets wrong count more for the causal one:

        W CE_z([z, b], y) + bias GCE_b([z, b], y),      W = CE_b / (CE_b + CE_z).

    From ``swap_epoch`` on, biased parts b' of other graphs of the batch, with labels y', are put in
    place of b, so that z and b have nothing to do with each other:

        lambda_G (W CE_z([z, b'], y) + bias GCE_b([z, b'], y')).

    Predictions are those of the causal head on ``[z, b]``. What the biased branch knows by heart
    the causal one is hardly taught, as W is near 0 there: a handful of graphs may be too few.

    Unlike the release:

    * edges only are masked, as in the paper, not nodes besides; both directions of an undirected
      edge share one weight;
    * one learning rate, where the release has 0.01 for the mask;
    * of several binary labels, CE is their mean, and p the probability that goes with it.
    """

    def __init__(
        self,
        encoder: nn.Module,
        channels: int,
        causal: Predictor,
        biased: Predictor,
        task: Task,
        config: DisCConfig,
    ) -> None:
        super().__init__(task)
        self.config = config
        self.encoder = encoder
        self.scorer = PlainScorer(channels)
        self.causal = causal
        self.biased = biased
        self.causal_head = nn.Linear(2 * channels, task.outputs)
        self.biased_head = nn.Linear(2 * channels, task.outputs)

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: DisCConfig) -> DisC:
        """A fresh model: both networks are of the same make."""
        networks = [spec.network() for _ in range(2)]
        causal, biased = (Predictor(network, None, network.readout) for network in networks)
        width = networks[0].out_channels
        return cls(make_encoder(spec.in_channels, width), width, causal, biased, task, config)

    @property
    def last_layer(self) -> nn.Module:
        """The head of the causal branch."""
        return self.causal_head

    def forward(self, batch: Batch) -> Output:
        """Predict by the causal branch."""
        causal, biased, attention = self._represent(batch)
        return Output(self.causal_head(torch.cat([causal, biased], 1)), attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Losses of both branches, and of graphs whose biased parts are swapped."""
        causal, biased, _ = self._represent(batch)
        y, weight = batch.labels, batch.label_weight
        easy, hard = self._each(causal, biased, y, y, weight)
        share = (easy / (easy + hard + 1e-8)).detach()
        terms = {
            "prediction": self._mean(share * hard, y),
            "bias": self.config.bias * self._mean(self._amplify(easy), y),
        }
        if epoch >= self.config.swap_epoch:
            order = torch.rand(batch.num_graphs, device=causal.device).argsort()
            others = y.index_select(0, order)
            swapped = biased.index_select(0, order)
            easy, hard = self._each(causal, swapped, y, others, weight, order)
            conflict = self._mean(share * hard, y)
            aligned = self.config.bias * self._mean(self._amplify(easy), others)
            terms["swapped"] = self.config.swap * (conflict + aligned)
        return terms

    def _represent(self, batch: Batch) -> tuple[Tensor, Tensor, Attention]:
        """Graph states of both parts ``[G, H]``, and the causal attention."""
        features = self.encoder(batch.x)
        scores = self.scorer(features, batch.edge_index, batch.edge_groups)
        scores = symmetrise(scores, batch.reverse)
        edge = scores.sigmoid()
        causal = self.causal.represent(batch, edge)
        biased = self.biased.represent(batch, 1 - edge)
        return causal, biased, Attention(edge, None, scores.detach())

    def _each(
        self,
        causal: Tensor,
        biased: Tensor,
        y: Tensor,
        biased_y: Tensor,
        weight: Tensor | None,
        order: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Losses of every graph ``[G]`` of the biased head and of the causal one."""
        of_causal = self.causal_head(torch.cat([causal, biased.detach()], 1))
        of_biased = self.biased_head(torch.cat([causal.detach(), biased], 1))
        theirs = weight if weight is None or order is None else weight.index_select(0, order)
        return (
            label_loss(of_biased, biased_y, self.task, "none", theirs),
            label_loss(of_causal, y, self.task, "none", weight),
        )

    def _amplify(self, losses: Tensor) -> Tensor:
        """Generalised cross-entropy of every graph ``[G]`` from its cross-entropy."""
        q: float = self.config.amplification
        return q * (-q * losses.detach()).exp() * losses

    def _mean(self, losses: Tensor, y: Tensor) -> Tensor:
        """Mean over the graphs that have a label."""
        return losses.sum() / has_label(y, self.task).sum().clamp(min=1)
