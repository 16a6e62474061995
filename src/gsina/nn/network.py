"""Call any PyG network with the arguments its ``forward`` names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, cast

from torch import Tensor, nn
from torch_geometric.nn import Sequential
from torch_geometric.nn.models.basic_gnn import BasicGNN

from gsina.errors import InputError


class ForwardNames(NamedTuple):
    """Parameter names of a ``forward``.

    Attributes:
        positional: Those that can be given by position, in order.
        named: Those that can be given by name.
        required: Those of ``named``, behind the first two positions, without a default.
        open_ended: Whether there is an ``*args``, so that ``positional`` is not the full list.
    """

    positional: tuple[str, ...]
    named: frozenset[str]
    required: frozenset[str]
    open_ended: bool


def forward_names(network: nn.Module) -> ForwardNames:
    """The parameter names of ``network.forward``, inspected once per class."""
    if isinstance(network, Sequential):  # its names are those that its maker wrote down
        names = tuple(network.signature.param_dict)
        return ForwardNames(names, frozenset(names), frozenset(names[2:]), open_ended=False)
    forward = network.forward
    if inspect.ismethod(forward):
        return _inspect(forward.__func__, bound=True)
    return _inspect(forward, bound=False)


@lru_cache(maxsize=256)
def _inspect(forward: Callable[..., Any], *, bound: bool) -> ForwardNames:
    parameters = list(inspect.signature(forward).parameters.values())
    if bound:  # the first one is `self`, whatever its name
        parameters = parameters[1:]
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return ForwardNames(
        positional=tuple(p.name for p in by_position),
        named=frozenset(p.name for p in by_name),
        required=frozenset(
            p.name for p in by_name if p.default is p.empty and p not in by_position[:2]
        ),
        open_ended=any(p.kind is p.VAR_POSITIONAL for p in parameters),
    )


def run_network(
    network: nn.Module,
    x: Tensor,
    edge_index: Tensor,
    *,
    edge_attr: Tensor | None = None,
    batch: Tensor | None = None,
    num_graphs: int | None = None,
    edge_weight: Tensor | None = None,
) -> Tensor:
    """Call ``network(x, edge_index, ...)`` with those of the other arguments that it takes.

    Args:
        network: A module whose ``forward`` starts with ``(x, edge_index)`` and may also name
            ``edge_attr``, ``batch``, and ``batch_size`` or ``num_graphs``.
        x: Node features ``[N, F]``.
        edge_index: Source and target of every edge ``[2, E]``.
        edge_attr: Edge features ``[E, D]``; not passed to a network that has no use for them.
        batch: Graph of every node ``[N]``.
        num_graphs: Number of graphs.
        edge_weight: Weights of the messages ``[E]``, for a network that takes them.

    Returns:
        What the network returns.

    Raises:
        InputError: ``forward`` does not start with two arguments, or needs one that is missing.
    """
    names = forward_names(network)
    place = names.positional.index("edge_index") if "edge_index" in names.positional else 1
    if place != 1 or (len(names.positional) < 2 and not names.open_ended):
        raise InputError(
            f"got {type(network).__name__}.forward({', '.join(names.positional)}), expected "
            "forward(x, edge_index, ...); wrap the network in a module with such a forward."
        )
    optional: dict[str, Any] = {}
    if edge_attr is not None and "edge_attr" in names.named and _uses_edge_attr(network):
        optional["edge_attr"] = edge_attr
    if "batch" in names.named and (batch is not None or "batch" in names.required):
        optional["batch"] = batch
    if num_graphs is not None:
        optional |= dict.fromkeys(names.named & {"batch_size", "num_graphs"}, num_graphs)
    if edge_weight is not None:
        optional["edge_weight"] = edge_weight
    if missing := names.required - optional.keys():
        raise InputError(
            f"{type(network).__name__}.forward needs {', '.join(sorted(missing))}, which these "
            "graphs do not have; use a network that does without, or give the argument a default."
        )
    return cast(Tensor, network(x, edge_index, **optional))


def _uses_edge_attr(network: nn.Module) -> bool:
    """Whether edge features may be passed; every PyG model names the argument, few take it."""
    if not isinstance(network, BasicGNN):
        return True
    return bool(network.supports_edge_attr) and all(
        getattr(conv, "edge_dim", 0) is not None for conv in network.convs
    )
