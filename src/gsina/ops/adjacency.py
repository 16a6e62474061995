"""The edges of a graph sorted by either end, found once per edge list."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary


@dataclass(frozen=True)
class SortedEdges:
    """Edges in the order of one of their ends; 32 bits per entry where that is enough.

    Attributes:
        order: Number of the edge in the edge list ``[E]``.
        sorted_end: The end by which they are sorted ``[E]``, ascending.
        other_end: The other end ``[E]``.
        starts: First edge of every node, and the end ``[N + 1]``.
        sorted_by_source: Whether that end is the source.
    """

    order: Tensor
    sorted_end: Tensor
    other_end: Tensor
    starts: Tensor
    sorted_by_source: bool
    _arranged: WeakTensorKeyDictionary = field(default_factory=WeakTensorKeyDictionary)

    def arrange(self, values: Tensor) -> Tensor:
        """Values of the edges ``[E]`` in this order, without gradient.

        Every layer of a network has the same weights: what is in order is kept as long as they are.
        """
        known: tuple[int, Tensor] | None = self._arranged.get(values)  # type: ignore[no-untyped-call]
        if known is None or known[0] != values._version:
            known = (values._version, values.detach().index_select(0, self.order))
            self._arranged[values] = known
        return known[1]

    @cached_property
    def place(self) -> Tensor:
        """Where every edge of the edge list is ``[E]``: the inverse of ``order``."""
        every = torch.arange(self.order.numel(), device=self.order.device, dtype=self.order.dtype)
        return torch.empty_like(every).index_copy_(0, self.order.long(), every)

    @cached_property
    def pairs(self) -> Tensor:
        """Source and N + target of every edge, one edge after the other ``[2 E]``."""
        nodes = self.starts.numel() - 1
        ends = self.sorted_end, self.other_end
        source, target = ends if self.sorted_by_source else ends[::-1]
        return torch.stack([source, target + nodes], 1).view(-1)


@dataclass(frozen=True)
class Adjacency:
    """A graph as two sorted edge lists.

    Attributes:
        by_target: The edges that come into a node.
        version: Of the edge list when it was sorted: it counts changes in place.
    """

    by_target: SortedEdges
    version: int = 0

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.by_target.starts.numel() - 1

    @cached_property
    def by_source(self) -> SortedEdges:
        """The edges that go out of a node; only a backward pass needs them."""
        edges = self.by_target
        turned = _sort(edges.other_end, edges.sorted_end, self.num_nodes, sorted_by_source=True)
        return replace(turned, order=edges.order.index_select(0, turned.order))


# Every layer of every network sees the same tensor, and so does every epoch of a single graph.
_SEEN: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def adjacency(edge_index: Tensor, num_nodes: int) -> Adjacency:
    """Sort the edges of a graph; the same tensor is sorted once, as long as it lives.

    Args:
        edge_index: Source and target of every edge ``[2, E]``.
        num_nodes: Number of nodes N.
    """
    known: Adjacency | None = _SEEN.get(edge_index)  # type: ignore[no-untyped-call]
    version = edge_index._version
    if known is None or known.num_nodes != num_nodes or known.version != version:
        edges = _sort(edge_index[1], edge_index[0], num_nodes, sorted_by_source=False)
        known = Adjacency(edges, version)
        _SEEN[edge_index] = known
    return known


def _sort(end: Tensor, other: Tensor, num_nodes: int, *, sorted_by_source: bool) -> SortedEdges:
    small = max(end.numel(), num_nodes) < 2**30
    dtype = torch.int32 if small else torch.int64
    keys, order = torch.sort(end.to(dtype), stable=True)
    bounds = torch.arange(num_nodes + 1, device=end.device, dtype=dtype)
    starts = torch.searchsorted(keys, bounds, out_int32=small)
    opposite = other.to(dtype).index_select(0, order)
    return SortedEdges(order.to(dtype), keys, opposite, starts, sorted_by_source)
