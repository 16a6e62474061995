"""All of the attention that follows the scores, on GPUs: one kernel for edges, one for nodes.

What ``kernels.c`` does on the CPU: one program per group makes scores equal for both directions,
standardises them, subtracts the noise and solves; node weights are maxima by atomic operations.

Not run on a GPU yet: tested in Triton's interpreter, and compiled for several of them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from gsina.ops.compiled import Graphs, known_attention
from gsina.ops.solvers.dual32 import parts_of_one
from gsina.ops.triton import weights as soft_top_r


class _Solution(NamedTuple):
    """What the forward pass found, for the backward pass.

    Attributes:
        order: Edge at every place of the groups ``[E]``.
        bounds: Where the groups begin and end ``[G + 1]``.
        edge_index: Edges ``[2, E]``.
        reverse: Opposite of every edge ``[E]``, or ``None``.
        standard: Standardised scores ``[E]``.
        edge: Weights of the edges ``[E]``.
        complement: One minus each, with all its digits ``[E]``.
        scale: One over the standard deviation of every group ``[G]``.
        node: Weights of the nodes ``[N]``, or ``None``.
    """

    order: Tensor
    bounds: Tensor
    edge_index: Tensor
    reverse: Tensor | None
    standard: Tensor
    edge: Tensor
    complement: Tensor
    scale: Tensor
    node: Tensor | None


def attend(
    scores: Tensor,
    graphs: Graphs,
    *,
    ratio: float | Tensor,
    temperature: float,
    noise: Tensor | None,
    sigma: float,
    eps: float,
    isolated: float | Tensor | None,
) -> tuple[Tensor, Tensor | None, Tensor] | None:
    """Weights of edges and nodes from scores; ``None`` to leave it to torch.

    Arguments and results are those of :func:`gsina.ops.compiled.attend`.
    """
    groups = graphs.groups
    if not (soft_top_r.available(scores) and soft_top_r.is_suited(groups)):
        return None
    runs, order = soft_top_r.in_runs(groups)
    every = torch.arange(groups.size, device=scores.device)
    plain, edge_index = scores.detach().contiguous(), graphs.edge_index.contiguous()
    shares = torch.as_tensor(ratio, dtype=torch.float32, device=scores.device)
    shares = shares.expand(groups.num).contiguous()
    standard, edge, complement, room = (torch.empty_like(plain) for _ in range(4))
    scale = plain.new_empty(groups.num)
    soft_top_r.launch(
        "attend_kernel",
        groups.num,
        *(plain, order, every if graphs.reverse is None else graphs.reverse.contiguous()),
        *(plain if noise is None else noise.to(plain.dtype).contiguous(), shares, runs.bounds),
        *(standard, edge, complement, scale, room, parts_of_one(groups.size)),
        *(0.0 if noise is None else sigma, 2 / temperature, eps),
        **soft_top_r.sizes(),
    )
    node = None
    if isolated is not None:
        node = _node_max(edge, edge_index, graphs.num_nodes, isolated)
    known = order, runs.bounds, edge_index, graphs.reverse
    found = _Solution(*known, standard, edge, complement, scale, node)
    gradient = partial(_gradient, factor=2 / temperature)
    return *known_attention(scores, found, gradient), standard


def _node_max(edge: Tensor, edge_index: Tensor, nodes: int, isolated: float | Tensor) -> Tensor:
    """Largest weight of the edges at every node ``[N]``, ``isolated`` where there are none."""
    largest = torch.full((nodes,), -1, dtype=torch.int32, device=edge.device)
    block = soft_top_r.BLOCK
    if edge.numel():
        programs = -(-edge_index.numel() // block)
        given = edge_index, edge, largest, edge.numel()
        soft_top_r.launch("node_max_kernel", programs, *given, BLOCK=block)
    alone = torch.as_tensor(isolated, dtype=edge.dtype, device=edge.device)
    return torch.where(largest < 0, alone, largest.view(torch.float32))


def _gradient(
    found: _Solution, of_edge: Tensor | None, of_node: Tensor | None, *, factor: float
) -> Tensor:
    grad = torch.zeros_like(found.edge) if of_edge is None else of_edge
    if of_node is not None and found.node is not None:
        grad = grad + _of_largest(found.edge, found.node, found.edge_index, of_node)
    result = torch.empty_like(found.edge)
    soft_top_r.launch(
        "attend_backward_kernel",
        found.scale.numel(),
        *(found.order, found.bounds, found.standard, found.edge, found.complement),
        *(found.scale, grad.contiguous(), result, factor),
        BLOCK=soft_top_r.BLOCK,
    )
    if found.reverse is not None:
        result = (result + result.index_select(0, found.reverse)) / 2
    return result


def _of_largest(edge: Tensor, node: Tensor, edge_index: Tensor, of_node: Tensor) -> Tensor:
    """What nodes pass on to the edges that have their weight ``[E]``; ties share it."""
    ends = edge_index.reshape(-1)
    hit = (edge.repeat(2) == node.index_select(0, ends)).to(edge.dtype)
    ties = torch.zeros_like(node).index_add_(0, ends, hit).clamp_(min=1)
    return (hit * (of_node / ties).index_select(0, ends)).view(2, -1).sum(0)
