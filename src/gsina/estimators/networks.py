"""Networks of the user's own in place of a named backbone."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.graphs.dataset import Dataset
from gsina.models.train import named_spec
from gsina.nn.backbones.protocol import BackboneModule, Features
from gsina.nn.encoders import make_encoder
from gsina.nn.network import run_network
from gsina.nn.predictor import NetworkSpec

#: A network, its class, or a function that makes one.
OwnBackbone = nn.Module | Callable[..., nn.Module]


@dataclass(frozen=True)
class OwnSpec(NetworkSpec):
    """A :class:`~gsina.nn.predictor.NetworkSpec` whose networks come from the user.

    Attributes:
        make: A class or function, called with those of ``in_channels``, ``hidden_channels``,
            ``num_layers``, ``out_channels`` and ``edge_channels`` (or ``edge_dim``) that it names;
            or a network, of which fresh copies are used.
    """

    make: OwnBackbone | None = None

    def _make(self) -> Callable[..., Adapted]:
        assert self.make is not None
        return partial(_adapted, self.make)


def _adapted(
    make: OwnBackbone,
    features: Features,
    edge_channels: Features = 0,
    **options: Any,
) -> Adapted:
    """A fresh network behind encoders of categorical features."""
    width = int(options.get("hidden_channels", 64))
    if isinstance(make, nn.Module):
        network = _fresh(make)
        inside = int(getattr(network, "in_channels", width))
    else:
        inside = features if isinstance(features, int) else width
        edges = edge_channels if isinstance(edge_channels, int) else width
        network = _call(make, {"in_channels": inside, "edge_channels": edges, **options})
    return Adapted(network, features, edge_channels, inside, width)


def own_spec(
    backbone: OwnBackbone,
    in_channels: Features,
    edge_channels: Features,
    options: dict[str, Any],
    graph_channels: int = 0,
) -> OwnSpec:
    """How to make the networks of a user's own backbone."""
    named = backbone if inspect.isclass(backbone) or inspect.isroutine(backbone) else type(backbone)
    name = getattr(named, "__name__", type(named).__name__)
    widths = in_channels, edge_channels
    return OwnSpec(f"own:{name}", *widths, options, backbone, graph_channels=graph_channels)


def spec_of(backbone: str | OwnBackbone, dataset: Dataset, sizes: dict[str, Any]) -> NetworkSpec:
    """How to make the networks of a named or own backbone for a dataset's features."""
    nodes = dataset.node_sizes or dataset.train.num_features
    edges = dataset.edge_sizes or dataset.train.num_edge_features
    graphs = dataset.train.num_graph_features
    if isinstance(backbone, str):
        return named_spec(backbone, nodes, edges, sizes, graphs)
    if not (isinstance(backbone, nn.Module) or callable(backbone)):
        raise InputError(
            f"backbone must be a name, a network or a class of networks, got {backbone!r}."
        )
    return own_spec(backbone, nodes, edges, sizes, graphs)


class Adapted(BackboneModule):
    """A user's network that takes all that a backbone takes.

    Args:
        network: Returns node states ``[N, H]``.
        features: Number of node features, or the sizes of categorical ones.
        edge_features: The same of edges; 0 for none.
        inside: Number of node features that ``network`` takes.
        width: Width of encoded edge features.
    """

    def __init__(
        self,
        network: nn.Module,
        features: Features,
        edge_features: Features,
        inside: int,
        width: int,
    ) -> None:
        super().__init__()
        self.network = network
        fits = isinstance(features, int) and features == inside
        self.encode_nodes = None if fits else make_encoder(features, inside)
        named = edge_features and not isinstance(edge_features, int)
        self.encode_edges = make_encoder(edge_features, width) if named else None
        self.readout = getattr(network, "readout", "mean")
        if not isinstance(self.readout, str):
            self.readout = "mean"
        self.out_channels = _out_channels(network)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Node states ``[N, H]``."""
        x = x.to(torch.get_default_dtype()) if self.encode_nodes is None else self.encode_nodes(x)
        if edge_attr is not None:
            plain = self.encode_edges is None
            edge_attr = edge_attr.to(x.dtype) if plain else self.encode_edges(edge_attr)  # type: ignore[misc]
        return run_network(
            self.network, x, edge_index, edge_attr=edge_attr, batch=batch, num_graphs=num_graphs
        )

    def make_head(self, out_channels: int) -> nn.Module:
        """The network's own head, or one linear layer."""
        own: Callable[[int], nn.Module] = getattr(self.network, "make_head", super().make_head)
        return own(out_channels)


def _fresh(network: nn.Module) -> nn.Module:
    """A copy with new initial weights where the network knows how to draw them."""
    fresh = copy.deepcopy(network)
    reset = getattr(fresh, "reset_parameters", None)
    if callable(reset):
        reset()
    return fresh


def _call(make: Callable[..., nn.Module], known: dict[str, Any]) -> nn.Module:
    """Call with those of the known arguments that the signature names."""
    parameters = inspect.signature(make).parameters
    known = {**known, "edge_dim": known["edge_channels"] or None}
    arguments = {name: value for name, value in known.items() if name in parameters}
    if "out_channels" in parameters and parameters["out_channels"].default is inspect._empty:
        arguments["out_channels"] = known.get("hidden_channels", 64)
    network = make(**arguments)
    if not isinstance(network, nn.Module):
        raise InputError(
            f"the backbone made a {type(network).__name__}, expected a torch.nn.Module that maps "
            "(x, edge_index) to node states."
        )
    return network


def _out_channels(network: nn.Module) -> int:
    width = getattr(network, "out_channels", None)
    if not isinstance(width, int):
        raise InputError(
            f"{type(network).__name__} has no integer `out_channels`, the width of the node states "
            "it returns; set that attribute."
        )
    return width
