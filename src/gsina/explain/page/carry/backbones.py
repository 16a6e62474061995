"""Backbones as the page computes them: an encoder, and layers of one form.

A layer sends along every edge j -> i, times the weight of the edge, and makes of the states h::

    m_ij = gate(M h_j + E e_ij)
    z_i  = sum_j m_ij / norm + S h_i + b
    h'_i = maybe_relu(the maps of the layer, with relu between them, of z_i)

where ``gate`` is relu or nothing, ``norm`` is 1, the number of edges that come in, or that of a
normalised convolution with self-loops, and any of the maps may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch_geometric.nn import GINEConv

from gsina.errors import InputError
from gsina.explain.page.carry.affine import Affine, norm_of
from gsina.explain.page.carry.store import Store
from gsina.nn.backbones import GCN, GIN, OGBGIN, SAGE
from gsina.nn.backbones.gcn import NormalConv

Described = dict[str, Any]


def describe_backbone(network: nn.Module, store: Store) -> Described:
    """A backbone in evaluation, its numbers put into the store.

    Raises:
        InputError: The page does not know this network.
    """
    for kind, describe in DESCRIBE.items():
        if type(network) is kind:
            return describe(network, store)
    known = "gin, gcn, sage and ogb-gin"
    raise InputError(f"its network {type(network).__name__} is not one of {known}")


def _gin(network: Any, store: Store) -> Described:
    layers = []
    for layer in network.layers:
        edge = None
        if isinstance(layer, GINEConv):
            edge = Affine.of(network.encode_edges).then(Affine.of(layer.lin))
        first, norm, _, second = layer.nn
        maps = [Affine.of(first).normed(norm), Affine.of(second)]
        layers.append(_layer(store, float(layer.eps), edge, gate=edge is not None, maps=maps))
    return {"encode": Affine.of(network.encode_nodes).put(store), "layers": layers}


def _ogb_gin(network: Any, store: Store) -> Described:
    layers = []
    last = len(network.layers) - 1
    for depth, (layer, outer) in enumerate(zip(network.layers, network.norms, strict=True)):
        edge = None if layer.encode_edges is None else Affine.of(layer.encode_edges)
        first, norm, _, second = layer.mlp
        maps = [Affine.of(first).normed(norm), Affine.of(second).normed(outer)]
        made = _layer(
            store, float(layer.eps.detach()), edge, gate=True, maps=maps, relu=depth < last
        )
        layers.append(made)
    virtual = []
    for node in network.virtual:
        first, norm, _, second, outer, _ = node.mlp
        maps = [Affine.of(first).normed(norm), Affine.of(second).normed(outer)]
        virtual.append([one.put(store) for one in maps])
    encode = Affine.of(network.encode_nodes).put(store)
    start = store.add(network.start)
    return {"encode": encode, "layers": layers, "virtual": virtual, "start": start}


def _gcn(network: Any, store: Store) -> Described:
    layers: list[Described] = []
    for layer, norm in _with_norms(network):
        if isinstance(layer, NormalConv):
            inner = Affine.of(layer.conv.lin)
            encoded = not isinstance(layer.encode, nn.Identity)
            message = Affine.of(layer.encode).then(inner) if encoded else inner
            bias, kind = layer.conv.bias, "symmetric"
        else:
            message, bias, kind = Affine.of(layer.map), layer.bias, "sum"
        layers.append(_convolution(store, message, None, bias, norm, kind))
    return {"encode": None, "layers": layers}


def _sage(network: Any, store: Store) -> Described:
    layers = [
        _convolution(
            store,
            Affine.of(layer.of_neighbours),
            Affine.of(layer.of_itself),
            layer.bias,
            norm,
            "mean",
        )
        for layer, norm in _with_norms(network)
    ]
    return {"encode": None, "layers": layers}


DESCRIBE: dict[type[nn.Module], Callable[[Any, Store], Described]] = {
    GIN: _gin,
    GCN: _gcn,
    SAGE: _sage,
    OGBGIN: _ogb_gin,
}


def _layer(
    store: Store,
    eps: float,
    edge: Affine | None,
    *,
    gate: bool,
    maps: list[Affine],
    relu: bool = True,
) -> Described:
    """A layer of GIN: ``1 + eps`` times the node itself, and maps behind the sum."""
    return {
        "edge": None if edge is None else edge.put(store),
        "gate": gate,
        "norm": "sum",
        "own": 1 + eps,
        "maps": [one.put(store) for one in maps],
        "relu": relu,
    }


def _convolution(
    store: Store,
    message: Affine,
    own: Affine | None,
    bias: Any,
    norm: nn.Module | None,
    kind: str,
) -> Described:
    """A map before the sum; the batch norm behind it is made part of map and bias."""
    bias = bias.detach().double()
    if norm is not None:
        scale, shift = norm_of(norm)
        bias = bias * scale + shift
        message = Affine(message.matrix * scale, None, message.sizes)
        own = None if own is None else Affine(own.matrix * scale, None, own.sizes)
    return {
        "message": message.put(store),
        "gate": False,
        "norm": kind,
        "ownMap": None if own is None else own.put(store),
        "bias": store.add(bias),
        "maps": [],
        "relu": norm is not None,
    }


def _with_norms(network: Any) -> list[tuple[Any, nn.Module | None]]:
    """Every convolution, with the batch norm behind it if there is one."""
    norms = [between.norm for between in network.between]
    return list(zip(network.layers, [*norms, None], strict=True))
