"""NetworkX graphs as PyG objects: numeric attributes become features, in the order of their names.

Nodes keep the order of ``graph.nodes``. An undirected edge becomes two, one for each direction, as
everywhere here. An attribute is a number, a truth value or a list of numbers, and every node (or
edge) of every graph has it; text is refused rather than dropped. ``y`` of the graph
(``graph.graph["y"]``) or of the nodes is the label, and ``train_mask``, ``val_mask`` and
``test_mask`` of the nodes say where they count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.errors import InputError

#: Attributes of nodes that are no features.
LABEL = "y"
MASKS = ("train_mask", "val_mask", "test_mask")

#: Names of the features of nodes and edges, in order, and how many numbers each is.
Attributes = dict[str, dict[str, int]]


def attributes_of(graphs: Sequence[Any]) -> Attributes:
    """The features that graphs have: those of the first node and of the first edge, sorted."""
    nodes = (cells for graph in graphs for _, cells in graph.nodes(data=True))
    edges = (cells for graph in graphs for *_, cells in graph.edges(data=True))
    node: dict[str, Any] = next(nodes, {})
    edge: dict[str, Any] = next(edges, {})
    return {
        "node": _widths({name: node[name] for name in node if name not in (LABEL, *MASKS)}),
        "edge": _widths(edge),
    }


def _widths(cells: dict[str, Any]) -> dict[str, int]:
    return {name: len(_numbers(cells[name], f"attribute {name!r}")) for name in sorted(cells)}


def to_data(graph: Any, place: int, names: Attributes) -> Any:
    """A PyG ``Data`` of a NetworkX graph.

    Args:
        graph: The graph; directed, undirected or with several edges between two nodes.
        place: Its position among all, for messages.
        names: The features of nodes and edges.

    Raises:
        InputError: A node or an edge lacks a feature, or has one that is no number.
    """
    from torch_geometric.data import Data

    number = {node: row for row, node in enumerate(graph.nodes)}
    edges = [(number[a], number[b], cells) for a, b, cells in graph.edges(data=True)]
    if not graph.is_directed():
        edges += [(b, a, cells) for a, b, cells in edges if a != b]
    where = f"graph {place}"
    cells = list(graph.nodes(data=True))
    x = _features([(f"node {node!r}", values) for node, values in cells], names["node"], where)
    links = [(f"edge {a}-{b}", values) for a, b, values in edges]
    pairs = [(a, b) for a, b, _ in edges]
    data = Data(
        x=torch.ones(len(cells), 1) if x is None else torch.from_numpy(x),
        edge_index=torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
    )
    edge_attr = _features(links, names["edge"], where)
    if edge_attr is not None:
        data.edge_attr = torch.from_numpy(edge_attr)
    if LABEL in graph.graph:
        data.y = torch.as_tensor(graph.graph[LABEL])
        data.y = data.y.view(1, -1) if data.y.numel() > 1 else data.y.view(1)
    for name in (LABEL, *MASKS):
        values = [own[name] for _, own in cells if name in own]
        if values and len(values) < len(cells):
            raise InputError(
                f"{len(values)} of {len(cells)} nodes of {where} have a {name}; expected all or "
                "none, with NaN where a label is missing."
            )
        if values:
            data[name] = torch.as_tensor(np.array(values))
    return data


def _features(
    rows: Iterable[tuple[str, dict[Any, Any]]], widths: dict[str, int], where: str
) -> NDArray[np.float32] | None:
    """The features of nodes or edges ``[N, F]``, ``None`` if they have none."""
    if not widths:
        return None
    found: list[list[float]] = []
    for what, cells in rows:
        found.append([])
        for name, width in widths.items():
            if name not in cells:
                raise InputError(
                    f"{what} of {where} has no attribute {name!r}, which others have; give it to "
                    "all nodes or edges of all graphs."
                )
            values = _numbers(cells[name], f"attribute {name!r} of {what} of {where}")
            if len(values) != width:
                raise InputError(
                    f"attribute {name!r} of {what} of {where} is {len(values)} numbers, expected "
                    f"{width} as elsewhere."
                )
            found[-1] += values
    return np.array(found, dtype=np.float32).reshape(-1, sum(widths.values()))


def _numbers(value: Any, what: str) -> list[float]:
    values = np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)
    if values.dtype.kind not in "biuf" or values.ndim > 1:
        raise InputError(
            f"{what} is {value!r:.40}, expected a number or a list of numbers; encode it, or "
            "delete it from all graphs."
        )
    return [float(one) for one in values.reshape(-1)]
