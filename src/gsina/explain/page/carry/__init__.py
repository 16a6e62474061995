"""The trained network in a form that the page can compute."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.page.carry.features import node_features
from gsina.explain.page.carry.methods import describe_method, members_of
from gsina.explain.page.carry.store import BITS, Store
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import apply_scaling
from gsina.models.model import Model

#: Characters of a page that the network and the features of the graphs may take.
ROOM = 2_400_000
#: Characters of a number among the features: of categories two digits and a comma at most.
CATEGORY, NUMBER = 3, 16 / 3


@dataclass(frozen=True)
class Carried:
    """A network for the page.

    Attributes:
        network: What it computes, and its numbers, as JSON.
        extra: What the features of whole graphs add to the state of each graph
            ``[G, members, H]``; ``None`` without any.
    """

    network: dict[str, Any]
    extra: Tensor | None = None


def carry(model: Model, graphs: PackedGraphs, room: int = ROOM) -> Carried:
    """The network of a model, to answer in the page what it says of changed graphs.

    Args:
        model: The model; it predicts graphs.
        graphs: The graphs of the page.
        room: Characters that numbers may take; if single precision does not fit, 16 bits are used.

    Raises:
        InputError: The page cannot compute this network; the message goes on after "as".
    """
    if model.task.level == "node":
        raise InputError("a node's answer depends on more of the graph than is drawn")
    store, members = Store(), members_of(model.method)
    described = [describe_method(member, store) for member in members]
    taken = _features_length(graphs)
    fitting = [bits for bits in BITS if store.text_length(bits) + taken <= room]
    if not fitting:
        needed = (store.text_length(BITS[-1]) + taken) / 1e6
        raise InputError(f"it would take {needed:.1f} MB, more than {room / 1e6:.1f} MB")
    scaling = model.featuriser.get("scaling", {})
    network = {
        "task": model.task.kind,
        "members": described,
        "store": store.encode(fitting[0]),
        "scaling": {what: scaling[what] for what in ("node", "edge") if what in scaling},
        "calibration": asdict(model.calibration),
        "scale": None if model.scale is None else asdict(model.scale),
        "features": node_features(model),
        "edgeWidth": 0 if not model.architecture.edge_channels else graphs.num_edge_features,
        "fixed": model.architecture.graph_channels > 0,
    }
    return Carried(network, _extra(model, graphs))


def _features_length(graphs: PackedGraphs) -> int:
    values = [value for value in (graphs.x, graphs.edge_attr) if value is not None]
    return int(
        sum(value.numel() * (NUMBER if value.is_floating_point() else CATEGORY) for value in values)
    )


@torch.no_grad()
def _extra(model: Model, graphs: PackedGraphs) -> Tensor | None:
    if not model.architecture.graph_channels:
        return None
    (scaled,) = apply_scaling(model.featuriser.get("scaling", {}), graphs)
    found = []
    for member in members_of(model.method):
        encoder: Any = getattr(member, "predictor").graph_encoder  # noqa: B009
        found.append(encoder.second(encoder.first(scaled.graph_attr).relu()))
    return torch.stack(found, dim=1)
