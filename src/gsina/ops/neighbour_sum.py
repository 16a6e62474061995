"""Weighted sums over the neighbours of every node that keep nothing of the size edges x features.

The message of an edge is never stored: the forward pass reads the rows of the sources and adds them
up at the target, and the backward pass does the same the other way round. The gradient of a weight
is the product of two rows. Memory beyond the input and the output is a few numbers per edge.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.errors import InputError
from gsina.ops.adjacency import Adjacency, SortedEdges, adjacency
from gsina.ops.compiled import MANY_EDGES, backward_kernels, is_plain, kernels_for_memory, pointers
from gsina.ops.once import once

#: Edges of which rows are in memory at a time, where that is needed.
BLOCK = 8192

with warnings.catch_warnings():  # torch says once that compressed matrices are new
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=False)


def neighbour_sum(h: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
    """At every node, the sum of its sources' states times the weights of the edges.

    Args:
        h: Node states ``[N, H]``, floating point.
        edge_index: Source and target of every edge ``[2, E]``.
        weight: Weight of every edge ``[E]``; ``None`` weighs every edge 1.

    Returns:
        ``[N, H]``, 0 at a node without incoming edges. The gradient can be taken once.
    """
    if weight is not None:
        if weight.shape != edge_index.shape[1:]:
            raise InputError(
                f"got weights of shape {list(weight.shape)} for {edge_index.size(1)} edges, "
                "expected one weight per edge."
            )
        weight = weight.to(h.dtype)  # attention is float32 also in a half-precision model
    graph = adjacency(edge_index, h.size(0))
    result: Tensor = _NeighbourSum.apply(h, weight, graph)  # type: ignore[no-untyped-call]
    return result


def message_sum(
    h: Tensor,
    edge_index: Tensor,
    weight: Tensor,
    edges: Tensor | None = None,
    scale: Tensor | None = None,
) -> Tensor:
    """At every node, the sum of the messages of its edges, each times its weight.

    Of few edges in one compiled pass that stores no message, where that can be had; its gradient
    can be taken once.

    Args:
        h: Node states ``[N, H]``.
        edge_index: Source and target of every edge ``[2, E]``.
        weight: Weight of every edge ``[E]``.
        edges: States of the edges ``[E, H]``; the message is then ``relu(source + edge)`` in place
            of the source's state.
        scale: Factor of the messages of every source ``[N, 1]``, without gradient; with ``edges``.
    """
    if weight.dtype == torch.float32:
        found = _compiled_sum(h, edge_index, weight, edges, scale)
        if found is not None:
            return found
    messages = h.index_select(0, edge_index[0])
    if edges is not None:
        messages = F.relu(messages + edges)
        if scale is not None:
            messages = messages * scale.index_select(0, edge_index[0])
    messages = messages * weight.to(messages.dtype).unsqueeze(-1)
    return messages.new_zeros(h.shape).index_add(0, edge_index[1], messages)


def _compiled_sum(
    h: Tensor, edge_index: Tensor, weight: Tensor, edges: Tensor | None, scale: Tensor | None
) -> Tensor | None:
    library, number, (nodes, width) = kernels_for_memory(), weight.numel(), h.shape
    if library is None or number > MANY_EDGES:
        return None
    shapes = (h, (nodes, width)), (weight, (number,)), (edges, (number, width)), (scale, (nodes, 1))
    if not all(is_plain(one, torch.float32, *shape) for one, shape in shapes):
        return None
    if not is_plain(edge_index, torch.long, 2, number):
        return None
    edge_index = edge_index.contiguous()
    given = [None if one is None else one.detach().contiguous() for one, _ in shapes]
    found = torch.empty_like(given[0])  # type: ignore[arg-type]
    if library.gsina_message_sum(number, nodes, width, *pointers(edge_index, *given, found)):
        return None
    return _MessageSum.apply(h, weight, edges, (edge_index, scale), found)  # type: ignore[no-any-return,no-untyped-call]


class _MessageSum(torch.autograd.Function):
    """The gradient of a sum of messages that is known."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, weight: Tensor, edges: Tensor | None, given: Any, found: Tensor
    ) -> Tensor:
        # The inputs themselves, so that a second derivative by any of them is noticed.
        ctx.save_for_backward(h, weight, edges, *given)
        return found

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *saved, edge_index, scale = ctx.saved_tensors
        h, weight, edges = (None if one is None else one.detach().contiguous() for one in saved)
        scale = None if scale is None else scale.detach().contiguous()
        assert h is not None
        assert weight is not None
        of_h, of_weight = torch.empty_like(h), torch.empty_like(weight)
        of_edges = None if edges is None else torch.empty_like(edges)
        given = pointers(edge_index, h, weight, edges, scale, grad.contiguous())
        backward_kernels().gsina_message_sum_backward(
            weight.numel(), *h.shape, *given, *pointers(of_h, of_weight, of_edges)
        )
        return of_h, of_weight, of_edges, None, None


class _NeighbourSum(torch.autograd.Function):
    """With A the weighted adjacency: ``A h``; ``dh = A' dy``, ``dw_e = <dy_target, h_source>``."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor | None, graph: Adjacency) -> Tensor:
        ctx.graph = graph
        ctx.save_for_backward(h if ctx.needs_input_grad[1] else None, weight)
        return _sum(h, graph.by_target, weight)

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        h, weight = ctx.saved_tensors
        graph: Adjacency = ctx.graph
        grad = grad.contiguous()
        of_h = _sum(grad, graph.by_source, weight) if ctx.needs_input_grad[0] else None
        of_weight = (
            _products(grad, h.detach(), graph.by_target) if ctx.needs_input_grad[1] else None
        )
        return of_h, of_weight, None


def _sum(rows: Tensor, edges: SortedEdges, weight: Tensor | None) -> Tensor:
    """At every node, the weighted sum of the rows at the other ends of its edges."""
    if edges.other_end.numel() == 0:
        return torch.zeros_like(rows)
    ordered = None if weight is None else edges.arrange(weight)
    return F.embedding_bag(
        edges.other_end,
        rows.detach().contiguous(),
        edges.starts,
        mode="sum",
        per_sample_weights=ordered,
        include_last_offset=True,
    )


def _products(left: Tensor, right: Tensor, edges: SortedEdges) -> Tensor:
    """Of every edge, ``left`` at the sorted end times ``right`` at the other, summed ``[E]``."""
    if left.is_cpu and left.dtype in (torch.float32, torch.float64) and edges.sorted_end.numel():
        nodes = left.size(0)
        entries = torch.sparse_csr_tensor(
            edges.starts,
            edges.other_end,
            left.new_zeros(edges.sorted_end.numel()),
            (nodes, nodes),
            check_invariants=False,
        )
        found: Tensor = torch.sparse.sampled_addmm(entries, left, right.t(), beta=0.0).values()
    else:
        found = _products_by_block(left, right, edges)
    return found.index_select(0, edges.place)


def _products_by_block(left: Tensor, right: Tensor, edges: SortedEdges) -> Tensor:
    found = left.new_empty(edges.sorted_end.numel())
    for start in range(0, found.numel(), BLOCK):
        block = slice(start, start + BLOCK)
        rows = left.index_select(0, edges.sorted_end[block])
        rows *= right.index_select(0, edges.other_end[block])
        torch.sum(rows, 1, out=found[block])
    return found
