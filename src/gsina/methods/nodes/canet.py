"""CaNet: pseudo-environments of nodes, and an expert for each of them in every layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.nn.encoders import make_encoder
from gsina.nn.predictor import NetworkSpec, embed
from gsina.ops.dropout import dropout

ESTIMATORS = ("node", "graph")


@dataclass(frozen=True)
class CaNetConfig:
    """Settings of CaNet; the defaults are those of its release.

    Attributes:
        environments: Number K of pseudo-environments, and of experts in every layer.
        layers: Number of layers, in place of the network's own.
        penalty: Coefficient of the environments' distance from the uniform prior.
        temperature: Of the drawn environments.
        estimator: What an environment is estimated from: the state of the ``node``, or besides it
            what a layer makes of the ``graph`` around it.
        dropout: In front of every layer.
    """

    environments: int = 3
    layers: int = 2
    penalty: float = 1.0
    temperature: float = 1.0
    estimator: Literal["node", "graph"] = "node"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_range(self, "be 1 or more", "environments", "layers")
        check_range(self, "be 0 or more", "penalty")
        check_range(self, "be above 0", "temperature")
        check_range(self, "lie in [0, 1)", "dropout")
        check_name(self.estimator, ESTIMATORS, "estimator of environments")


class CaNetLayer(nn.Module):
    """A mixture of experts, weighted by the environment of every node.

    Args:
        experts: One network of a single layer per environment, ``[N, H]`` to ``[N, H]``.
        around: A network like these for the estimator, or ``None`` if it sees nodes only.
        channels: Width H.
        temperature: Of the drawn environments.
    """

    def __init__(
        self,
        experts: Sequence[nn.Module],
        around: nn.Module | None,
        channels: int,
        temperature: float,
    ) -> None:
        super().__init__()
        self.experts = nn.ModuleList(experts)
        self.around = around
        self.estimate = nn.Linear(channels, len(experts))
        self.temperature = temperature

    def forward(self, h: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """States ``[N, H]`` to states, and the divergence of every node's environment ``[N]``."""
        inside = replace(batch, x=h)
        seen = h if self.around is None else h + embed(self.around, inside)
        chances = F.log_softmax(self.estimate(seen), 1)
        environment = chances.exp()
        if self.training:
            environment = F.gumbel_softmax(chances, self.temperature)
        divergence = (environment * chances).sum(1) + math.log(len(self.experts))
        found = torch.stack([embed(expert, inside) for expert in self.experts], dim=1)
        return F.relu((environment.unsqueeze(2) * found).sum(1) + h), divergence


class CaNet(Method):
    """Every node in an inferred environment, and what it learns there averaged over a prior.

    After Wu, Nie, Yang, Bao, Yan, Graph out-of-distribution generalization via causal
    intervention, WWW 2024.

    A layer estimates the chances pi_i of K environments from the state of node i, draws
    ``e_i ~ Gumbel-softmax(pi_i)`` in training (and has ``e_i = pi_i`` in evaluation), and mixes K
    propagating experts g_k:

        h'_i = relu(sum_k e_ik g_k(h)_i + h_i).

    A linear layer stands in front of these layers and one behind. The loss is that of a variational
    bound of p(y | do(G)), with a uniform prior over environments:

        CE + lambda mean_layers mean_i sum_k e_ik log(K pi_ik).

    Unlike the release:

    * an expert is one layer of the chosen network, where the release has a GCN with a second map
      of the node itself, or a GAT; edges may have features;
    * the estimator that sees the graph adds what such a layer makes of it to the node's state;
    * log K is added to the divergence, which so is 0 for the prior.
    """

    config: CaNetConfig

    def __init__(
        self,
        encoder: nn.Module,
        layers: Sequence[CaNetLayer],
        head: nn.Module,
        task: Task,
        config: CaNetConfig,
    ) -> None:
        super().__init__(task)
        self.config = config
        self.encoder = encoder
        self.layers = nn.ModuleList(layers)
        self.head = head

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: CaNetConfig) -> CaNet:
        """A fresh model: every expert is a network of one layer."""
        one = spec.shallow(1)
        width = one.network().out_channels
        layers = [
            CaNetLayer(
                [one.network(width) for _ in range(config.environments)],
                one.network(width) if config.estimator == "graph" else None,
                width,
                config.temperature,
            )
            for _ in range(config.layers)
        ]
        encoder = make_encoder(spec.in_channels, width)
        return cls(encoder, layers, nn.Linear(width, task.outputs), task, config)

    @property
    def last_layer(self) -> nn.Module:
        """The linear layer behind the mixtures."""
        return self.head

    def forward(self, batch: Batch) -> Output:
        """Predict; environments are drawn only in training mode."""
        return Output(self._run(batch)[0])

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss, and divergence of the environments from the prior."""
        logits, divergence = self._run(batch)
        return {
            "prediction": task_loss(logits, batch, self.task),
            "environments": self.config.penalty * divergence,
        }

    def _run(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits ``[N, outputs]`` and the mean divergence."""
        h = F.relu(self.encoder(self._drop(batch.x)))
        found = []
        for layer in self.layers:
            h, divergence = layer(self._drop(h), batch)
            found.append(divergence.sum() / max(divergence.numel(), 1))
        return self.head(self._drop(h)), torch.stack(found).mean()

    def _drop(self, h: Tensor) -> Tensor:
        return dropout(h, self.config.dropout, self.training) if h.is_floating_point() else h
