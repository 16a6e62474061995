"""The surroundings of single nodes of a large graph, to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from gsina.graphs.fields import take
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.training.evaluate import Predictions

#: Nodes of one neighbourhood.
LARGEST = 60
HOPS = 2


class Neighbourhoods(NamedTuple):
    """One small graph for every requested node.

    Attributes:
        graphs: The neighbourhoods; the label of each is that of its node.
        predictions: Those of the nodes, with the scores of the edges around them.
        node_labels: The names of all nodes of each.
        centres: Where in its neighbourhood each node stands.
    """

    graphs: PackedGraphs
    predictions: Predictions
    node_labels: list[list[str]]
    centres: list[int]


def neighbourhoods(
    graphs: PackedGraphs, predictions: Predictions, nodes: Tensor, names: Sequence[str]
) -> Neighbourhoods:
    """Cut out the neighbourhoods of some nodes of one graph.

    Args:
        graphs: The graph.
        predictions: Those of its nodes.
        nodes: The nodes ``[M]``.
        names: Names of all nodes.
    """
    weights = predictions.edge
    kept = [_around(graphs.edge_index, int(node), weights, graphs.x.size(0)) for node in nodes]
    members = [part for part, _ in kept]
    edges = [part for _, part in kept]
    local = [
        torch.searchsorted(part, graphs.edge_index[:, edge])
        for part, edge in zip(members, edges, strict=True)
    ]
    rows = {"node": torch.cat(members), "edge": torch.cat(edges), "label": nodes}
    y = graphs.node_y
    small = PackedGraphs(
        x=graphs.x[rows["node"]],
        edge_index=torch.cat(local, dim=1),
        node_ptr=offsets(torch.tensor([len(part) for part in members])),
        edge_ptr=offsets(torch.tensor([len(part) for part in edges])),
        y=None if y is None else y[nodes],
    )
    found = replace(predictions, **take(predictions, rows))
    labels = [[names[other] for other in part.tolist()] for part in members]
    centres = [
        int(torch.searchsorted(part, node)) for node, part in zip(nodes, members, strict=True)
    ]
    return Neighbourhoods(small, found, labels, centres)


def _around(
    edge_index: Tensor, node: int, weights: Tensor | None, count: int
) -> tuple[Tensor, Tensor]:
    """The nodes within two steps, ascending, and the edges between them.

    Of many neighbours those with the largest weights are kept.
    """
    inside = torch.zeros(count, dtype=torch.bool)
    inside[node] = True
    for _ in range(HOPS):
        room = LARGEST - int(inside.sum())
        source, target = inside[edge_index]
        border = (source ^ target).nonzero().flatten()
        if weights is not None:
            border = border[weights[border].argsort(descending=True, stable=True)]
        ends = edge_index[:, border]
        new = torch.where(inside[ends[0]], ends[1], ends[0])
        # The first of equal ones: unique would sort them.
        place = torch.full((count,), len(new)).scatter_reduce(
            0, new, torch.arange(len(new)), "amin"
        )
        first = place[new] == torch.arange(len(new))
        inside[new[first][:room]] = True
    edges = inside[edge_index].all(0).nonzero().flatten()
    return inside.nonzero().flatten(), edges
