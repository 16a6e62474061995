"""`Architecture`: what rebuilds the network that the weights of a model belong to."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from gsina.graphs.task import Task
from gsina.methods import Method, build_method, make_config
from gsina.methods.ensemble import Ensemble
from gsina.methods.trees import BoostedTrees, Forest, WithTrees
from gsina.nn.backbones import BACKBONES
from gsina.nn.backbones.protocol import DATA_SIDE
from gsina.nn.predictor import NetworkSpec


@dataclass(frozen=True)
class Architecture:
    """What rebuilds the network that the weights belong to.

    Attributes:
        method: Name of the method.
        method_options: All its settings: a default may change, a trained model may not.
        backbone: Name of the network; of a user's own network the name of its class.
        backbone_options: All its settings.
        node_channels: Number of node features, or the sizes of categorical ones.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
        graph_channels: Number of features of whole graphs; 0 for none.
        members: Networks of this kind, whose answers are averaged.
        trees: Sizes of the boosted trees beside them (:mod:`gsina.methods.trees`), or ``None``.
        forest: Sizes of the forest beside both, or ``None``.
        network_share: Of the networks in the answer, if there are trees.
    """

    method: str
    method_options: dict[str, Any]
    backbone: str
    backbone_options: dict[str, Any]
    node_channels: int | tuple[int, ...]
    edge_channels: int | tuple[int, ...]
    graph_channels: int = 0
    members: int = 1
    trees: tuple[int, int, int] | None = None
    forest: tuple[int, int, int] | None = None
    network_share: float = 0.5

    @classmethod
    def of(
        cls,
        method: str,
        options: dict[str, Any],
        spec: NetworkSpec,
        members: int = 1,
        trees: tuple[int, int, int] | None = None,
        forest: tuple[int, int, int] | None = None,
        network_share: float = 0.5,
    ) -> Architecture:
        """The description of ``build_method(method, spec, task, options)``."""
        config = make_config(method, options)
        make = BACKBONES.get(spec.backbone)
        return cls(
            method,
            {one.name: getattr(config, one.name) for one in fields(config)},
            spec.backbone,
            (_defaults(make) if make else {}) | spec.options,
            _channels(spec.in_channels),
            _channels(spec.edge_channels),
            spec.graph_channels,
            members,
            trees,
            forest,
            network_share,
        )

    @property
    def seen_channels(self) -> int:
        """Features of whole graphs that the network sees; beside trees they are theirs alone."""
        return self.graph_channels if self.trees is None else 0

    @property
    def words(self) -> str:
        """What answers, in a few words."""
        beside = "" if self.trees is None else " and boosted trees"
        beside += "" if self.forest is None else " and a forest"
        return f"{self.method} on {self.backbone}{beside}"

    def spec(self) -> NetworkSpec:
        """How to make the networks, if the backbone is one of the package."""
        return NetworkSpec(
            self.backbone,
            self.node_channels,
            self.edge_channels,
            self.backbone_options,
            graph_channels=self.seen_channels,
        )

    def build(self, task: Task, spec: NetworkSpec | None = None) -> Method:
        """A fresh model."""
        spec = spec or self.spec()
        made = [
            build_method(self.method, spec, task, self.method_options) for _ in range(self.members)
        ]
        network = made[0] if self.members == 1 else Ensemble(made)
        if self.trees is None:
            return network
        forest = None if self.forest is None else Forest(*self.forest, task)
        trees = BoostedTrees(*self.trees, task.outputs)
        return WithTrees(network, trees, forest, self.network_share)


def _defaults(make: Any) -> dict[str, Any]:
    """The settings of a backbone that were not given."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(make).parameters.items()
        if name not in DATA_SIDE and parameter.default is not inspect.Parameter.empty
    }


def _channels(channels: int | Sequence[int]) -> int | tuple[int, ...]:
    return channels if isinstance(channels, int) else tuple(channels)
