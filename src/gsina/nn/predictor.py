"""`Predictor`: a network, a readout and a head, with or without attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

from torch import Tensor, nn

from gsina.errors import InputError, check_name
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.nn.attention import Attention
from gsina.nn.backbones import BACKBONES, Backbone, BackboneModule
from gsina.nn.backbones.protocol import Features
from gsina.nn.backbones.ranges import check_ranges
from gsina.nn.encoders import GraphEncoder
from gsina.nn.network import run_network
from gsina.nn.norm import counted_nodes
from gsina.nn.readout import READOUTS, readout
from gsina.nn.recompute import run_recomputed
from gsina.nn.weighting import takes_weights, weighted_messages


class Predictor(nn.Module):
    """Logits of a batch from any PyG network that returns node states.

    Args:
        network: Called as ``network(x, edge_index)``, with ``edge_attr`` and ``batch`` if its
            ``forward`` names them; returns node states ``[N, H]``.
        head: From pooled states ``[G, H]`` (node states at node level) to logits; ``None`` if the
            network's output is the logits.
        readout: ``sum``, ``mean`` or ``max`` over the nodes of each graph; ``None`` at node level,
            or for a network that pools by itself (which then sees no node attention).
        per_node: Logits are those of nodes; then node attention multiplies the node states.
        graph_encoder: From features of whole graphs ``[G, F]`` to ``[G, H]``, which is added to
            the pooled states; ``None`` does not look at them.
    """

    def __init__(
        self,
        network: nn.Module,
        head: nn.Module | None = None,
        readout: str | None = None,
        *,
        per_node: bool = False,
        graph_encoder: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        self.head = head
        self.readout = None if readout is None else check_name(readout, READOUTS, "readout")
        self.per_node = per_node
        self.graph_encoder = graph_encoder

    @property
    def backbone(self) -> Backbone:
        """The network, where it is a backbone and not any PyG network."""
        if not isinstance(self.network, Backbone):
            raise InputError(
                f"got a predictor with a {type(self.network).__name__}, expected a backbone: a "
                "network with out_channels, readout and make_head."
            )
        return self.network

    @property
    def last_layer(self) -> nn.Module | None:
        """The head, or the layer of the network that is one; ``None`` if neither is known."""
        return getattr(self.network, "last_layer", None) if self.head is None else self.head

    def embed(self, batch: Batch, edge_weight: Tensor | None = None) -> Tensor:
        """Node states, with messages multiplied by ``edge_weight`` ``[E]``."""
        return embed(self.network, batch, edge_weight)

    def forward(self, batch: Batch, attention: Attention | None = None) -> Tensor:
        """Logits ``[G, outputs]``, or ``[N, outputs]`` at node level."""
        edge, node = (None, None) if attention is None else (attention.edge, attention.node)
        return self.classify(self.embed(batch, edge), batch, node)

    def represent(self, batch: Batch, edge_weight: Tensor | None = None) -> Tensor:
        """Graph states ``[G, H]``, which the head takes."""
        if self.readout is None:
            raise InputError(
                "graph states need a predictor with a readout, and this one has none; make it as "
                "Predictor(network, head, 'sum')."
            )
        return self._pool(self.embed(batch, edge_weight), batch, self.readout)

    def classify(self, h: Tensor, batch: Batch, node_weight: Tensor | None = None) -> Tensor:
        """Logits from node states that :meth:`embed` returned."""
        if self.readout is not None:
            h = self._pool(h, batch, self.readout, node_weight)
        elif self.per_node and node_weight is not None:
            h = h * node_weight.to(h.dtype).unsqueeze(-1)
        return self.logits(h)

    def logits(self, states: Tensor) -> Tensor:
        """What the head makes of states of graphs ``[G, H]`` or nodes; without one, the states."""
        return states if self.head is None else self.head(states)

    def _pool(self, h: Tensor, batch: Batch, how: str, node_weight: Tensor | None = None) -> Tensor:
        """Graph states ``[G, H]``: those of the nodes, and what the features of the graph add."""
        states = readout(h, batch.node_groups, how, node_weight, batch.inside)
        if self.graph_encoder is None:
            return states
        extra: Tensor = self.graph_encoder(graph_features(batch))
        return states + extra.to(states.dtype)


def graph_features(batch: Batch) -> Tensor:
    """Features of whole graphs ``[G, F]``, which a model was made for."""
    if batch.graph_attr is None:
        raise InputError(
            "this network was made for features of whole graphs, but these graphs have no "
            "graph_attr; make the graphs as those it was trained on."
        )
    return batch.graph_attr


def embed(
    network: nn.Module,
    batch: Batch,
    edge_weight: Tensor | None = None,
    *,
    first_only: bool = False,
) -> Tensor:
    """Node states ``[N, H]`` of a batch by any PyG network.

    Args:
        network: The network.
        batch: The graphs.
        edge_weight: Weight of every edge's messages ``[E]``; ``None`` for none.
        first_only: Weigh only those of the first layer.
    """

    def run(x: Tensor, weight: Tensor | None) -> Tensor:
        taken = weight is not None and not first_only and takes_weights(network)
        given, hooked = (weight, None) if taken else (None, weight)
        with (
            counted_nodes(batch.inside),
            weighted_messages(network, hooked, batch.edge_index, first_only=first_only),
        ):
            return run_network(
                network,
                x,
                batch.edge_index,
                edge_attr=batch.edge_attr,
                batch=batch.node_graph,
                num_graphs=batch.num_graphs,
                edge_weight=given,
            )

    return run_recomputed(run, network, batch.x, edge_weight)


@dataclass(frozen=True)
class NetworkSpec:
    """How to make the networks of a method: the backbone by name and the data's widths.

    Attributes:
        backbone: Name of the backbone.
        in_channels: Number of node features, or the sizes of categorical ones.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
        options: Further arguments of the backbone, such as ``hidden_channels``.
        graph_channels: Number of features of whole graphs; 0 for none.
    """

    backbone: str
    in_channels: Features
    edge_channels: Features = 0
    options: dict[str, Any] = field(default_factory=dict)
    graph_channels: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_ranges(self.options)

    def network(
        self, in_channels: int | None = None, out_channels: int | None = None
    ) -> BackboneModule:
        """A fresh backbone.

        Args:
            in_channels: Replaces the data's node features.
            out_channels: Width of the output, for a backbone that ``heads_itself``.
        """
        make = self._make()
        data_side = {"edge_channels": self.edge_channels, "out_channels": out_channels}
        named = {name: data_side[name] for name in data_side if name in signature(make).parameters}
        first = self.in_channels if in_channels is None else in_channels
        return make(first, **named, **self.options)

    def shallow(self, layers: int) -> NetworkSpec:
        """The same network with this number of layers, if it has that setting, and its readout."""
        options = {name: value for name, value in self.options.items() if name != "readout"}
        if "num_layers" in signature(self._make()).parameters:
            options["num_layers"] = layers
        return replace(self, options=options)

    def predictor(self, task: Task, in_channels: int | None = None) -> Predictor:
        """A fresh backbone with its own head and, at graph level, its readout.

        At node level the last layer of a backbone that ``heads_itself`` is the head.
        """
        per_node = task.level == "node"
        if per_node and self.graph_channels:
            raise InputError(
                f"got {self.graph_channels} features of whole graphs for a task of nodes, which "
                "has no graph states to join them to; leave graph_attr out, or make them features "
                "of the nodes."
            )
        if per_node and getattr(self._make(), "heads_itself", False):
            return Predictor(self.network(in_channels, task.outputs), per_node=True)
        network = self.network(in_channels)
        pool = None if per_node else network.readout
        head = network.make_head(task.outputs)
        width = self.graph_channels
        encoder = GraphEncoder(width, network.out_channels) if width else None
        return Predictor(network, head, pool, per_node=per_node, graph_encoder=encoder)

    def _make(self) -> Callable[..., BackboneModule]:
        return BACKBONES[check_name(self.backbone, BACKBONES, "backbone")]
