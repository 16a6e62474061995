"""Whether an explanation stays when nodes are renumbered, or features are a little off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from gsina.explainers.marked import edge_groups, mark
from gsina.graphs.fields import take
from gsina.graphs.packed import PackedGraphs
from gsina.ops.budget import Budget

#: Finds the weights of the edges ``[E]`` of graphs.
Weigh = Callable[[PackedGraphs], Tensor]
#: Standard deviations of the noise; of categories, the share of nodes that get another's.
NOISE = 0.1


class Variants(NamedTuple):
    """Graphs that should be explained as they were.

    Attributes:
        relabelled: Other numbers of the nodes, another order of the edges.
        edges: Which edge each of their edges was ``[E]``.
        noisy: Features of nodes that are a little off.
    """

    relabelled: PackedGraphs
    edges: Tensor
    noisy: PackedGraphs


def make_variants(graphs: PackedGraphs, noise: float = NOISE, seed: int = 0) -> Variants:
    """Variants of graphs.

    Args:
        graphs: The graphs.
        noise: Standard deviations of the noise on features; of categories, the share of nodes that
            get those of another node.
        seed: Seeds the new order and the noise.
    """
    generator = torch.Generator().manual_seed(seed)
    return Variants(*relabelled(graphs, generator), with_noise(graphs, noise, generator))


def stability(
    graphs: PackedGraphs,
    weights: Tensor,
    variants: Variants,
    again: Tensor,
    noisy: Tensor,
    budget: Budget,
) -> dict[str, float]:
    """How much of the marked part is marked again: shared edges over all, mean over graphs.

    Args:
        graphs: The graphs; those without edges do not count.
        weights: Their weights ``[E]``.
        variants: Variants of them.
        again: Weights of the relabelled ones ``[E]``.
        noisy: Weights of those with noise ``[E]``.
        budget: How much is marked.

    Returns:
        ``relabelling`` and ``noise``; 1 is the very same part.
    """
    back = torch.empty_like(weights)
    back[variants.edges] = again.to(weights)
    own = mark(weights, graphs, budget)
    return {
        "relabelling": overlap(own, mark(back, graphs, budget), graphs),
        "noise": overlap(own, mark(noisy.to(weights), graphs, budget), graphs),
    }


def overlap(one: Tensor, other: Tensor, graphs: PackedGraphs) -> float:
    """Edges in both of two parts over those in any, mean over the graphs that have edges."""
    groups, _ = edge_groups(graphs)
    both, any_ = (groups.sum(part.double()) for part in (one & other, one | other))
    return float((both / any_)[any_ > 0].mean())


def relabelled(graphs: PackedGraphs, generator: torch.Generator) -> tuple[PackedGraphs, Tensor]:
    """The graphs with nodes and edges in another order, and which edge each edge was ``[E]``."""
    orders = []
    for ptr in (graphs.node_ptr, graphs.edge_ptr):
        owner = torch.repeat_interleave(ptr.diff())
        order = torch.randperm(len(owner), generator=generator)
        orders.append(order[owner[order].argsort(stable=True)])
    nodes, edges = orders
    owner = torch.repeat_interleave(graphs.node_ptr.diff())
    place = torch.empty_like(nodes)
    place[nodes] = torch.arange(len(nodes)) - graphs.node_ptr[owner]
    start = graphs.node_ptr[torch.repeat_interleave(graphs.edge_ptr.diff())]
    parts = take(graphs, {"node": nodes, "edge": edges})
    parts["edge_index"] = place[graphs.edge_index + start][:, edges]
    return replace(graphs, **parts), edges


def with_noise(graphs: PackedGraphs, noise: float, generator: torch.Generator) -> PackedGraphs:
    """The graphs with features of nodes that are a little off."""
    x = graphs.x
    if x.is_floating_point():
        spread = x.std(0, correction=0)
        return replace(graphs, x=x + noise * spread * torch.randn(x.shape, generator=generator))
    hit = torch.rand(len(x), 1, generator=generator) < noise
    others = x[torch.randint(len(x), (len(x),), generator=generator)]
    return replace(graphs, x=torch.where(hit, others, x))
