"""The trained network in a form that the page can compute."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.page.carry.features import node_features
from gsina.explain.page.carry.methods import describe_method, members_of
from gsina.explain.page.carry.store import BITS, Store, packed_lengths
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import apply_scaling
from gsina.methods.trees import WithTrees
from gsina.models.model import Model

#: Characters of a page that the network and the features of the graphs may take.
ROOM = 2_400_000


@dataclass(frozen=True)
class Carried:
    """A network for the page.

    Attributes:
        network: What it computes, and its numbers, as JSON.
        graphs: How many graphs, the first ones, the page has room for the features of.
        extra: What the features of whole graphs add to the state of each graph
            ``[G, members, H]``; ``None`` without any.
        trees: What the trees beside the network say of each graph ``[G, outputs]``; ``None``
            without any.
    """

    network: dict[str, Any]
    graphs: int
    extra: Tensor | None = None
    trees: Tensor | None = None


def carry(model: Model, graphs: PackedGraphs, room: int = ROOM) -> Carried:
    """The network of a model, to answer in the page what it says of changed graphs.

    Args:
        model: The model; it predicts graphs.
        graphs: The graphs of the page.
        room: Characters that numbers may take; if single precision does not fit, 16 bits are used,
            and if there is no room for the features of all graphs, there are those of the first.

    Raises:
        InputError: The page cannot compute this network; the message goes on after "as".
    """
    model = replace(model, method=copy.deepcopy(model.method).cpu())
    if model.task.level == "node":
        raise InputError("a node's answer depends on more of the graph than is drawn")
    store, members = Store(), members_of(model.method)
    described = [describe_method(member, store) for member in members]
    bits, fitting = _choose(store, _lengths(graphs), room)
    scaling = model.featuriser.get("scaling", {})
    network = {
        "task": model.task.kind,
        "members": described,
        "store": store.encode(bits),
        "scaling": {what: scaling[what] for what in ("node", "edge") if what in scaling},
        "calibration": asdict(model.calibration),
        "scale": None if model.scale is None else asdict(model.scale),
        "features": node_features(model),
        "edgeWidth": 0 if not model.architecture.edge_channels else graphs.num_edge_features,
        "fixed": model.architecture.seen_channels > 0,
        "trees": model.architecture.trees is not None,
        "share": model.architecture.network_share,
    }
    return Carried(network, fitting, _extra(model, graphs), _trees(model, graphs))


def _choose(store: Store, lengths: Tensor, room: int) -> tuple[int, int]:
    """Bits of the network's numbers, and how many graphs fit beside it.

    Args:
        store: The numbers.
        lengths: Characters of the features of each graph ``[G]``.
        room: Characters for all.

    Raises:
        InputError: Not even one graph fits.
    """
    total = lengths.cumsum(0)
    for bits in BITS:
        needed = store.text_length(bits)
        fitting = int((total + needed <= room).sum())
        if fitting == len(lengths):
            return bits, fitting
    if not fitting:
        first = (needed + float(total[0])) / 1e6
        raise InputError(
            f"its network and the features of a graph take {first:.1f} MB, more than the "
            f"{room / 1e6:.1f} MB that a page has for them"
        )
    return bits, fitting


def _lengths(graphs: PackedGraphs) -> Tensor:
    """Characters of the features of each graph ``[G]``."""
    lengths = packed_lengths(graphs.x, graphs.node_ptr)
    if graphs.edge_attr is not None:
        lengths = lengths + packed_lengths(graphs.edge_attr, graphs.edge_ptr)
    return lengths


@torch.no_grad()
def _extra(model: Model, graphs: PackedGraphs) -> Tensor | None:
    if not model.architecture.seen_channels:
        return None
    (scaled,) = apply_scaling(model.featuriser.get("scaling", {}), graphs)
    found = []
    for member in members_of(model.method):
        encoder: Any = getattr(member, "predictor").graph_encoder  # noqa: B009
        found.append(encoder.second(encoder.first(scaled.graph_attr).relu()))
    return torch.stack(found, dim=1)


@torch.no_grad()
def _trees(model: Model, graphs: PackedGraphs) -> Tensor | None:
    """What trees say without the units of the targets, which the page adds to the mean."""
    if not isinstance(model.method, WithTrees):
        return None
    found = model.trees(graphs)
    return found if model.scale is None else model.scale.remove(found)
