"""GSAT: stochastic attention under an information bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gsina.data.batch import Batch
from gsina.data.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.methods.registry import register
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.scorer import make_scorer
from gsina.ops.groups import Groups


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
    """

    final_ratio: float = 0.7
    start_ratio: float = 0.9
    decay: float = 0.1
    interval: int = 10
    information: float = 1.0
    temperature: float = 1.0
    scorer: str = "normed"

    def prior(self, epoch: int) -> float:
        """The prior r of an epoch."""
        return max(self.final_ratio, self.start_ratio - self.decay * (epoch // self.interval))


@register(
    name="gsat",
    config=GSATConfig,
    paper="Miao, Liu, Li, Interpretable and generalizable graph learning via stochastic attention "
    "mechanism, ICML 2022",
    levels=("graph",),
)
class GSAT(Method):
    """One network, run twice: to score the edges, and to predict with the sampled attention.

    Attention in training is ``sigmoid((a + logistic noise) / temperature)``, in evaluation
    ``sigmoid(a)``. The loss adds the divergence of the attention from a Bernoulli prior r:

        mean_e  alpha log(alpha / r) + (1 - alpha) log((1 - alpha) / (1 - r)).
    """

    def __init__(self, predictor: Predictor, channels: int, task: Task, config: GSATConfig) -> None:
        super().__init__(task)
        self.config = config
        self.predictor = predictor
        self.scorer = make_scorer(config.scorer, channels)

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GSATConfig) -> GSAT:
        """A fresh model."""
        predictor = spec.predictor(task.outputs)
        channels: int = predictor.network.out_channels  # type: ignore[assignment]
        return cls(predictor, channels, task, config)

    def forward(self, batch: Batch) -> Output:
        """Predict from the graph weighted by (sampled) attention."""
        return self._predict(batch)[0]

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss and information loss."""
        output, alpha = self._predict(batch)
        r = self.config.prior(epoch)
        divergence = alpha * torch.log(alpha / r + 1e-6) + (1 - alpha) * torch.log(
            (1 - alpha) / (1 - r + 1e-6) + 1e-6
        )
        information = divergence.sum() / max(alpha.numel(), 1)
        return {
            "prediction": task_loss(output.logits, batch, self.task),
            "information": self.config.information * information,
        }

    def _predict(self, batch: Batch) -> tuple[Output, Tensor]:
        """The output, and the attention before the two directions of an edge are averaged."""
        graphs = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
        scores: Tensor = self.scorer(self.predictor.embed(batch), batch.edge_index, graphs)
        alpha = self._sample(scores)
        edge = alpha
        if batch.reverse is not None:
            edge = (alpha + alpha.index_select(0, batch.reverse)) / 2
        attention = Attention(edge, None, scores.detach())
        return Output(self.predictor(batch, attention), attention), alpha

    def _sample(self, scores: Tensor) -> Tensor:
        if not self.training:
            return torch.sigmoid(scores)
        noise = torch.logit(torch.rand_like(scores), eps=1e-10)
        return torch.sigmoid((scores + noise) / self.config.temperature)
