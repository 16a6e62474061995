"""Scores of edges by a hidden layer that is not kept, but made again in the backward pass."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.ops.adjacency import Adjacency, SortedEdges, adjacency
from gsina.ops.compiled import backward_kernels, is_plain, kernels_for_memory, pointers, product
from gsina.ops.once import once

#: Edges and hidden units in memory at a time: rows that are near in memory, blocks that a
#: processor's cache holds.
BLOCK = 8192
UNITS = 64


def pair_scores(table: Tensor, weight: Tensor, edge_index: Tensor) -> Tensor:
    """``sum_k weight_k relu(source_k + target_k)`` for every edge.

    Args:
        table: What a node adds as a source, in the first N rows, and as a target, in the others
            ``[2 N, C]``.
        weight: ``[C]``.
        edge_index: Source and target of every edge ``[2, E]``.

    Returns:
        One score per edge ``[E]``. The gradient can be taken once.
    """
    graph = adjacency(edge_index, table.size(0) // 2)
    scores: Tensor = _PairScores.apply(table, weight, graph)  # type: ignore[no-untyped-call]
    return scores


class _PairScores(torch.autograd.Function):
    """Let m be the sum over a node's edges of their gradients where the hidden unit is active.

    Then ``d table = m weight`` and, as an active unit is the sum of its two rows, ``d weight`` is
    the sum of ``m table`` over all rows.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, weight: Tensor, graph: Adjacency) -> Tensor:
        ctx.graph = graph
        ctx.save_for_backward(table, weight)
        edges = graph.by_target
        found = table.new_zeros(edges.sorted_end.numel())
        for rows, factors in zip(_units(table), torch.split(weight, UNITS), strict=True):
            for start in range(0, found.numel(), BLOCK):
                hidden = _hidden(rows, edges, start)
                found[start : start + BLOCK].addmv_(hidden.relu_(), factors)
        return found.index_select(0, edges.place)

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        table, weight = ctx.saved_tensors
        graph: Adjacency = ctx.graph
        nodes = graph.num_nodes
        sides = ((graph.by_source, slice(0, nodes)), (graph.by_target, slice(nodes, None)))
        ordered = [grad.index_select(0, edges.order) for edges, _ in sides]
        of_table, of_weight = torch.empty_like(table), []
        for number, (rows, factors) in enumerate(
            zip(_units(table), torch.split(weight, UNITS), strict=True)
        ):
            active = torch.zeros_like(rows)
            for (edges, half), pull in zip(sides, ordered, strict=True):
                _add_active(active[half], rows, pull, edges)
            of_weight.append((active * rows).sum(0))
            units = slice(number * UNITS, (number + 1) * UNITS)
            torch.mul(active, factors, out=of_table[:, units])
        return of_table, torch.cat(of_weight), None


def compiled_scores(
    h: Tensor, edge_index: Tensor, first: tuple[Tensor, Tensor], last: tuple[Tensor, Tensor]
) -> Tensor | None:
    """A whole scorer ``last(relu(first([h_source, h_target])))``; ``None`` to leave it to torch.

    Args:
        h: Node states ``[N, H]``.
        edge_index: Source and target of every edge ``[2, E]``.
        first: Weight ``[C, 2 H]`` and bias ``[C]``.
        last: Weight ``[1, C]`` and bias ``[1]``.

    Returns:
        One score per edge ``[E]``. The gradient can be taken once.
    """
    library, number, (nodes, width) = kernels_for_memory(), edge_index.size(1), h.shape
    if library is None or torch.is_autocast_enabled("cpu"):
        return None
    units = first[1].numel()
    shapes = (h, (nodes, width)), (first[0], (units, 2 * width)), (last[0], (1, units))
    if not all(is_plain(one, torch.float32, *shape) for one, shape in shapes):
        return None
    if not is_plain(edge_index, torch.long, 2, number):
        return None
    with torch.no_grad():
        # Rows for the source above those for the target, so that one product makes both.
        stacked = first[0].view(units, 2, width).transpose(0, 1).reshape(2 * units, width)
        table = product(h, stacked.t(), F.pad(first[1], (units, 0)))
        edge_index, weight = edge_index.contiguous(), last[0].contiguous()
        scores = table.new_empty(number)
        given = pointers(edge_index, table, weight, scores)
        if library.gsina_pair_scores(number, nodes, units, *given):
            return None
        scores += last[1]
    known = edge_index, table, stacked
    return _CompiledScores.apply(h, *first, *last, known, scores)  # type: ignore[no-any-return,no-untyped-call]


class _CompiledScores(torch.autograd.Function):
    """The gradient of scores that are known, as in :class:`_PairScores`."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        first_weight: Tensor,
        first_bias: Tensor,
        last_weight: Tensor,
        last_bias: Tensor,
        known: tuple[Tensor, Tensor, Tensor],
        scores: Tensor,
    ) -> Tensor:
        # All inputs, so that a second derivative by any of them is noticed.
        ctx.save_for_backward(h, last_weight, *known, first_weight, first_bias)
        return scores

    @staticmethod
    @once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        h, last, edge_index, table, stacked, *_ = ctx.saved_tensors
        last = last.contiguous()
        (nodes, width), units = h.shape, last.numel()
        of_table, grad = torch.empty_like(table), grad.contiguous()
        of_last, of_bias = torch.empty_like(last), table.new_empty(units)
        given = pointers(edge_index, table, last, grad, of_table, of_last, of_bias)
        backward_kernels().gsina_pair_scores_backward(grad.numel(), nodes, units, *given)
        of_stacked = product(of_table.t(), h)
        of_first = of_stacked.view(2, units, width).transpose(0, 1).reshape(units, 2 * width)
        of_h, of_last_bias = product(of_table, stacked), grad.sum().view(1)
        return of_h, of_first, of_bias, of_last, of_last_bias, None, None


def _units(table: Tensor) -> list[Tensor]:
    """The table in pieces of a few hidden units, each without gaps; no graph is recorded."""
    return [part.contiguous() for part in torch.split(table.detach(), UNITS, dim=1)]


def _hidden(rows: Tensor, edges: SortedEdges, start: int) -> Tensor:
    """``source + target`` of a block of edges in one pass ``[block, units]``."""
    pairs = edges.pairs[2 * start : 2 * (start + BLOCK)]
    bounds = torch.arange(0, pairs.numel() + 1, 2, device=pairs.device, dtype=pairs.dtype)
    return F.embedding_bag(pairs, rows, bounds, mode="sum", include_last_offset=True)


def _add_active(total: Tensor, rows: Tensor, pull: Tensor, edges: SortedEdges) -> None:
    """Add to every node the gradients of its edges, unit by unit where the unit is active."""
    every = torch.arange(BLOCK, device=rows.device, dtype=edges.starts.dtype)
    for start in range(0, pull.numel(), BLOCK):
        weights = pull[start : start + BLOCK]
        nodes = edges.sorted_end[start : start + BLOCK]
        first, last = int(nodes[0]), int(nodes[-1]) + 1  # edges are sorted: few nodes per block
        bounds = (edges.starts[first : last + 1] - start).clamp_(0, nodes.numel())
        total[first:last] += F.embedding_bag(
            every[: nodes.numel()],
            _hidden(rows, edges, start).gt_(0),
            bounds,
            mode="sum",
            per_sample_weights=weights,
            include_last_offset=True,
        )
