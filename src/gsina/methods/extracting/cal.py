"""CAL: causal and shortcut attention, and shortcuts of other graphs added at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.errors import check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.nn.attention import Attention
from gsina.nn.norm import BatchNorm
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.nn.scorer import PairLinear
from gsina.ops.edges import symmetrise


@dataclass(frozen=True)
class CALConfig:
    """Settings of CAL; the defaults are those of its release.

    Attributes:
        uniform: Coefficient lambda_1 of the shortcut's distance from knowing nothing.
        intervention: Coefficient lambda_2 of the loss with shortcuts of other graphs.
    """

    uniform: float = 0.5
    intervention: float = 0.5

    def __post_init__(self) -> None:
        check_range(self, "be 0 or more", "uniform", "intervention")


class CAL(Method):
    """Divide every graph softly into causal and shortcut features; the label must not mind which.

    After Sui, Wang, Wu, Lin, He, Chua, Causal attention for interpretable and generalizable graph
    classification, KDD 2022.

    A network gives node states h. A linear layer on ``[h_i, h_j]`` and a sigmoid gives every edge
    its causal attention alpha_e, another one on h_i every node beta_i. The causal graph has nodes
    ``beta_i h_i`` and edges weighted by alpha_e, the shortcut graph has ``(1 - beta_i) h_i`` and
    ``1 - alpha_e``; one layer each and a readout make c and t of them. With three heads the loss is

        CE(u(c), y) + lambda_1 KL(uniform, v(t)) + lambda_2 CE(w(c_i + t_k), y_i),

    k a random permutation of the graphs of the batch, which stands for the backdoor adjustment:
    the mean over shortcuts, whichever the graph came with. Predictions are u(c).

    Unlike the release:

    * the two layers behind the attention, and the heads, are those of the chosen network, not a
      GCN layer and an MLP with batch norms;
    * attention over two logits is the sigmoid of their difference, which is the same with half
      the parameters; both directions of an undirected edge share one;
    * of several binary labels, knowing nothing is 1/2 for each.
    """

    def __init__(
        self,
        encoder: nn.Module,
        channels: int,
        causal: Predictor,
        shortcut: Predictor,
        mixed: nn.Module,
        task: Task,
        config: CALConfig,
    ) -> None:
        super().__init__(task)
        self.config = config
        self.encoder = encoder
        self.edge_scorer = PairLinear(channels, 1)
        self.node_scorer = nn.Linear(channels, 1)
        self.causal_norm = BatchNorm(channels)
        self.shortcut_norm = BatchNorm(channels)
        self.predictor = causal
        self.shortcut = shortcut
        self.mixed = mixed

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: CALConfig) -> CAL:
        """A fresh model: a network of the given depth, and two of one layer behind it."""
        encoder = spec.network()
        width = encoder.out_channels
        one_layer = replace(spec, options=spec.options | spec.shallow(1).options)
        causal, shortcut = (one_layer.predictor(task, width) for _ in range(2))
        mixed = causal.backbone.make_head(task.outputs)
        return cls(encoder, width, causal, shortcut, mixed, task, config)

    def forward(self, batch: Batch) -> Output:
        """Predict from the causal features."""
        states, attention = self._attend(batch)
        causal = self._represent(self.predictor, self.causal_norm, batch, states, attention)
        return Output(self.predictor.logits(causal), attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Losses of causal features, alone and with others' shortcuts, and of shortcuts."""
        states, attention = self._attend(batch)
        assert attention.node is not None
        rest = Attention(1 - attention.edge, 1 - attention.node)
        causal = self._represent(self.predictor, self.causal_norm, batch, states, attention)
        shortcut = self._represent(self.shortcut, self.shortcut_norm, batch, states, rest)
        order = torch.rand(batch.num_graphs, device=causal.device).argsort()
        intervened = self.mixed(causal + shortcut.index_select(0, order))
        nothing = ignorance_loss(self.shortcut.logits(shortcut), self.task)
        return {
            "prediction": task_loss(self.predictor.logits(causal), batch, self.task),
            "uniform": self.config.uniform * nothing,
            "intervention": self.config.intervention * task_loss(intervened, batch, self.task),
        }

    def _attend(self, batch: Batch) -> tuple[Tensor, Attention]:
        """Node states ``[N, H]`` and the causal attention."""
        states = embed(self.encoder, batch)
        scores = symmetrise(self.edge_scorer(states, batch.edge_index).squeeze(1), batch.reverse)
        node = self.node_scorer(states).squeeze(1).sigmoid()
        return states, Attention(scores.sigmoid(), node, scores.detach())

    def _represent(
        self, part: Predictor, norm: nn.Module, batch: Batch, states: Tensor, attention: Attention
    ) -> Tensor:
        """Graph states ``[G, H]`` of one of the two parts."""
        assert attention.node is not None
        nodes = norm(states * attention.node.unsqueeze(1))
        return part.represent(replace(batch, x=nodes), attention.edge)


def ignorance_loss(logits: Tensor, task: Task) -> Tensor:
    """Mean divergence of a uniform prediction from logits ``[G, outputs]``; 0 where they are equal.

    Args:
        logits: Of classes, or of binary labels.
        task: Says which.
    """
    if task.kind == "multiclass":
        each = -F.log_softmax(logits, 1).mean(1) - math.log(logits.size(1))
    else:
        each = (-F.logsigmoid(logits) - F.logsigmoid(-logits)).mean(1) / 2 - math.log(2)
    return each.sum() / max(each.numel(), 1)
