"""Weight the messages of any PyG network, one weight per edge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.nn import ChebConv, MessagePassing

from gsina.errors import InputError
from gsina.nn.neighbours import NeighbourSum
from gsina.nn.network import forward_names


@contextmanager
def weighted_messages(
    network: nn.Module,
    weights: Tensor | None,
    edge_index: Tensor | None = None,
    *,
    first_only: bool = False,
) -> Iterator[None]:
    """Multiply the message of every edge by its weight, in every layer of ``network``.

    Inside the context, each ``torch_geometric.nn.MessagePassing`` layer in ``network`` (itself
    included) computes its messages as always, multiplies them by ``weights``, and aggregates::

        with weighted_messages(network, weights):
            logits = network(x, edge_index)

    What a layer computes from the graph before its messages - the degrees of a GCN, the softmax of
    a GAT - stays that of the unweighted graph. Self-loops that a layer adds get the weight 1, also
    where they replace self-loops of the graph (GCN, GAT). A layer that hands on other edges than it
    was called with has them matched by their end nodes, parallel edges in their order, so the
    edges may be reordered but none may be left out; the match is found once per edge list. A layer
    that uses ``edge_index`` as it is (GIN, SAGE, ...) costs one multiplication. A
    :class:`~gsina.nn.neighbours.NeighbourSum` is handed the weights and makes no messages at all.

    Contexts nest: the weights multiply. After the context, also after an error, the network is as
    it was before. As hooks do the work, threads must not share a network inside the context, and
    with activation checkpointing the backward pass has to be inside too. PyG leaves its hooks out
    of code under ``torch.compile``; that is an error here, not a result without weights.

    Args:
        network: Any module with PyG layers inside.
        weights: Weight of every edge ``[E]``, floating point, differentiable; ``None`` changes
            nothing.
        edge_index: The graph that the weights belong to ``[2, E]``. By default what ``network`` is
            called with: its argument ``edge_index``, or the attribute of that name of another
            argument, such as ``data``.
        first_only: Weigh the messages of the first layer only, in the order of the modules.

    Raises:
        InputError: There is not one weight per edge, a layer works on another graph (pooling,
            rewiring, a part of the edges) or on a sparse matrix, or nothing was weighted.
    """
    if weights is None:
        yield
        return
    weighting = _Weighting(weights)
    with ExitStack() as hooks:
        if edge_index is not None:
            weighting.use_graph(edge_index)
        else:
            hook = network.register_forward_pre_hook(weighting.before_network, with_kwargs=True)
            hooks.enter_context(hook)
        layers = _layers(network)
        for layer in layers[:1] if first_only else layers:
            if isinstance(layer, NeighbourSum):
                hook = layer.register_forward_pre_hook(weighting.before_sum, with_kwargs=True)
                hooks.enter_context(hook)
                continue
            before, after = weighting.before_propagate, weighting.after_message
            hooks.enter_context(layer.register_propagate_forward_pre_hook(before))
            hooks.enter_context(layer.register_message_forward_hook(after))
        yield
        # Also when the network did not run at all: a function compiled before the context looks
        # like that, and its result would lack the weights.
        if not weighting.current:
            raise InputError(
                f"no message of {type(network).__name__} was weighted; run this very network "
                "inside the context, and not under torch.compile."
            )


def takes_weights(network: nn.Module) -> bool:
    """Whether a network can be given the weights as an argument, ``edge_weight``.

    That is a backbone with ``weighs_edges`` of whose ``layers`` none has messages that somebody
    looks at: PyG's explainers, an outer context and other hooks work where messages are made.
    """
    if not getattr(network, "weighs_edges", False):
        return False
    if "edge_weight" not in forward_names(network).named:  # a subclass with a forward of its own
        return False
    layers: Any = network.layers
    # A layer around one of PyG's calls it `conv`.
    inner = (getattr(layer, "conv", layer) for layer in layers)
    return torch.compiler.is_compiling() or not any(map(is_watched, inner))


def is_watched(layer: nn.Module) -> bool:
    """Whether somebody looks at a layer or its messages: an explainer, or any hook."""
    own = vars(layer)
    return bool(own.get("_explain")) or any(map(own.get, _HOOKS))


#: Where PyG keeps what is called around the messages of a layer, and torch what around the layer.
_HOOKS = (
    *(
        f"_{part}_forward_{when}hooks"
        for part in ("propagate", "message", "aggregate", "message_and_aggregate")
        for when in ("pre_", "")
    ),
    *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
)


def _layers(network: nn.Module) -> list[Any]:
    """The message passing layers of ``network``."""
    modules = list(network.modules())
    if torch.compiler.is_compiling() or any(
        type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None
        for module in modules
    ):
        raise InputError(
            f"got a compiled {type(network).__name__}, whose messages PyG does not let one weight; "
            "use the network as it was before torch.compile."
        )
    layers = [module for module in modules if isinstance(module, (MessagePassing, NeighbourSum))]
    if not layers:
        raise InputError(
            f"got {type(network).__name__} without a torch_geometric.nn.MessagePassing layer, so "
            "there is no message to weight; pass None as weights."
        )
    return layers


class _Weighting:
    """The hooks of one context, and what they remember.

    Attributes:
        weights: Weight of every edge ``[E]``.
        graph: The edges that the weights belong to ``[2, E]``, once they are known.
        current: Weights of the messages of each layer that has run.
        matches: Edge lists seen besides ``graph``, whether their layer adds self-loops, and the
            edge of ``graph`` that each of their edges is.
    """

    def __init__(self, weights: Tensor) -> None:
        if weights.dim() != 1 or not weights.is_floating_point():
            raise InputError(
                f"got weights of shape {tuple(weights.shape)} and type {weights.dtype}, expected "
                "floating point and one per edge, shape (E,)."
            )
        self.weights = weights
        self.graph: Tensor | None = None
        self.current: dict[nn.Module, Tensor] = {}
        self.matches: list[tuple[Tensor, bool, Tensor]] = []

    def use_graph(self, edge_index: Any) -> None:
        """Take the edges that the weights belong to."""
        graph = _plain(edge_index)
        if graph is self.graph:
            return
        if graph.dim() != 2 or graph.size(1) != self.weights.size(0):
            raise InputError(
                f"got {self.weights.size(0)} weights for an edge_index of shape "
                f"{tuple(graph.shape)}, expected one weight per edge."
            )
        self.graph = graph
        self.matches.clear()

    def before_network(self, network: nn.Module, args: Any, kwargs: Any) -> None:
        """Find the graph in the arguments of the network."""
        arguments = dict(zip(forward_names(network).positional, args, strict=False)) | kwargs
        holders = (getattr(value, "edge_index", None) for value in arguments.values())
        for edge_index in (arguments.get("edge_index"), *holders):
            if edge_index is not None:
                return self.use_graph(edge_index)
        return None

    def before_propagate(self, layer: Any, inputs: Any) -> Any:
        """Find the weights for the edges that a layer really uses."""
        edge_index, size, kwargs = inputs
        plain = _plain(edge_index)
        self.current[layer] = self._weights_of(plain, layer)
        if plain is edge_index:
            return None
        # A layer may fuse message and aggregation over an `EdgeIndex`, but not over a plain tensor.
        return plain, edge_index.sparse_size() if size is None else size, kwargs

    def before_sum(self, layer: nn.Module, args: Any, kwargs: Any) -> Any:
        """Pass the weights to a layer that takes them, times those of an outer context."""
        states, edge_index, *given = args
        self.current[layer] = weights = self._weights_of(edge_index, layer)
        outer = given[0] if given else None
        return (states, edge_index, weights if outer is None else weights * outer), kwargs

    def after_message(self, layer: Any, inputs: Any, messages: Any) -> Any:
        """Weight the messages."""
        return _scale(messages, self.current[layer], layer)

    def _weights_of(self, edge_index: Tensor, layer: Any) -> Tensor:
        if edge_index is self.graph:
            return self.weights
        if self.graph is None:
            raise InputError(
                "the graph that the weights belong to is not known, as the network was not called "
                "with an `edge_index`; pass it to weighted_messages."
            )
        # Only the match is kept: weights kept from a pass without gradients would have none.
        one = self.weights.new_ones(1)
        return torch.cat([self.weights, one]).index_select(0, self._match(edge_index, layer))

    def _match(self, edge_index: Tensor, layer: Any) -> Tensor:
        assert self.graph is not None
        # Alone among PyG's layers, ChebConv always adds self-loops and has no attribute to say so.
        adds_loops = bool(getattr(layer, "add_self_loops", isinstance(layer, ChebConv)))
        known = [(seen, match) for seen, adds, match in self.matches if adds == adds_loops]
        for seen, match in known:
            if seen is edge_index:
                return match
        # GCN rebuilds its edges in every layer and every call: equal, but not the same tensor.
        for seen, match in known:
            if seen.shape == edge_index.shape and torch.equal(seen, edge_index):
                return match
        found = match_edges(edge_index, self.graph, adds_loops=adds_loops)
        if found is None:
            raise InputError(
                f"{type(layer).__name__} works on {edge_index.size(1)} edges that are not, "
                f"self-loops aside, the {self.graph.size(1)} edges that have weights; weights need "
                "layers on the whole input graph, without pooling or rewiring."
            )
        self.matches.append((edge_index, adds_loops, found))
        return found


def match_edges(edge_index: Tensor, graph: Tensor, *, adds_loops: bool) -> Tensor | None:
    """Find the edges of a layer among the edges of a graph.

    All edges of the graph have to be there, in any order, parallel ones in theirs; self-loops may
    have been removed and added.

    Args:
        edge_index: Edges of the layer ``[2, M]``.
        graph: Edges of the graph ``[2, E]``.
        adds_loops: Whether self-loops that are equal in both are still the layer's own.

    Returns:
        Index of the edge in ``graph`` of every edge of the layer, E for a self-loop of the layer's
        own ``[M]``, or ``None`` if there is no such match.
    """
    num_edges = graph.size(1)
    edge_index = edge_index.to(graph.dtype)
    is_loop = graph[0] == graph[1]
    every = torch.arange(num_edges, device=graph.device)
    proper = every[~is_loop]
    # What layers do: keep all edges or the proper ones, then append a self-loop for every node.
    for kept in (proper, every) if adds_loops else (every, proper):
        num_added = edge_index.size(1) - kept.numel()
        if num_added >= 0:
            added = torch.arange(num_added, device=graph.device, dtype=graph.dtype)
            expected = torch.cat([graph.index_select(1, kept), added.expand(2, -1)], dim=1)
            if torch.equal(edge_index, expected):
                return torch.cat([kept, kept.new_full((num_added,), num_edges)])
    # Anything else: compare the sorted edges, first the proper ones, then the self-loops.
    num_nodes = torch.cat([graph, edge_index], dim=1).max() + 1
    graph_key, layer_key = (e[0] * num_nodes + e[1] for e in (graph, edge_index))
    layer_is_loop = edge_index[0] == edge_index[1]
    match = every.new_full((edge_index.size(1),), num_edges)
    for loops in (False, True):
        ours = every[is_loop == loops]
        theirs = (layer_is_loop == loops).nonzero().view(-1)
        sorted_ours, our_order = graph_key[ours].sort(stable=True)
        sorted_theirs, their_order = layer_key[theirs].sort(stable=True)
        same = torch.equal(sorted_ours, sorted_theirs)
        if not loops and not same:
            return None
        if same and not (loops and adds_loops):
            match[theirs[their_order]] = ours[our_order]
    return match


def _plain(edge_index: Any) -> Tensor:
    """``edge_index`` as a plain tensor; edges in a matrix have no order to give weights to."""
    if isinstance(edge_index, EdgeIndex):
        plain: Tensor = edge_index.as_tensor()
        return plain
    if not isinstance(edge_index, Tensor) or edge_index.layout is not torch.strided:
        kind = edge_index.layout if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise InputError(
            f"got a sparse adjacency ({kind}), whose messages cannot be weighted; pass a plain "
            "edge_index of shape (2, E)."
        )
    return edge_index


def _scale(messages: Any, weights: Tensor, layer: Any) -> Any:
    """Multiply along the edges; in the type of the messages, which may be half precision."""
    if isinstance(messages, tuple):
        return tuple(_scale(part, weights, layer) for part in messages)
    shape, dim = [1] * messages.dim(), layer.node_dim
    if not -len(shape) <= dim < len(shape) or messages.size(dim) != weights.numel():
        raise InputError(
            f"got messages of shape {tuple(messages.shape)} from {type(layer).__name__}, expected "
            f"{weights.numel()} of them along dimension {dim}."
        )
    shape[dim] = -1
    if messages.is_floating_point():
        weights = weights.to(messages.dtype)
    return messages * weights.view(shape)
