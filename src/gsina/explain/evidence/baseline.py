"""The baseline of every measure: a random explanation of the same size."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.explainers.marked import edge_groups
from gsina.graphs.packed import PackedGraphs


def deal_edges(weights: Tensor, graphs: PackedGraphs, generator: torch.Generator) -> Tensor:
    """The weights of every graph dealt out anew, one for both directions of an edge ``[E]``."""
    _, reverse = edge_groups(graphs)
    if reverse is None:
        return deal(weights, graphs.edge_ptr, generator)
    position = torch.arange(weights.numel())
    first = torch.minimum(position, reverse)
    once = (first == position).nonzero().view(-1)
    owner = torch.repeat_interleave(graphs.edge_ptr.diff())[once]
    ptr = torch.cat(
        [torch.zeros(1, dtype=torch.long), owner.bincount(minlength=len(graphs)).cumsum(0)]
    )
    dealt = torch.empty_like(weights)
    dealt[once] = deal(weights[once], ptr, generator)
    return dealt[first]


def deal(values: Tensor, ptr: Tensor, generator: torch.Generator) -> Tensor:
    """Values in a random order within every group."""
    owner = torch.repeat_interleave(ptr.diff())
    order = torch.randperm(values.numel(), generator=generator)
    return values[order[owner[order].argsort(stable=True)]]
