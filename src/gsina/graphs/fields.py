"""The fields of graphs, each with its level: what it has one row per.

The level of a field stands in its metadata. Whoever selects, joins, checks or converts graphs walks
over the fields by level, so a new field of :class:`GraphFields` is one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError

GRAPH, NODE, EDGE = {"level": "graph"}, {"level": "node"}, {"level": "edge"}
#: Ends of the edges ``[2, E]``: one column per edge.
ENDS = {"level": "edge", "dim": 1}
#: One row per label: per graph, or, at node level, per node.
LABEL = {"level": "label"}

#: Rows to take at each level: their numbers, or where they lie.
Rows = Mapping[str, Tensor] | Mapping[str, slice]


@dataclass(frozen=True, kw_only=True)
class GraphFields:
    """What packed graphs and batches both hold of their nodes, edges and graphs.

    Attributes:
        x: Node features ``[N, F]``, float, or int64 for categorical features.
        edge_attr: Edge features ``[E, D]``.
        edge_truth: Whether an edge belongs to the true explanation ``[E]``, bool.
        node_truth: Whether a node belongs to the true explanation ``[N]``, bool.
        environment: Environment (domain) of every graph ``[G]``, int64.
        graph_attr: Features of whole graphs ``[G, F]``, such as descriptors of molecules.
        mask: Nodes that count in loss and score ``[N]``, bool; ``None`` for all.
    """

    x: Tensor = field(kw_only=False, metadata=NODE)
    edge_attr: Tensor | None = field(default=None, metadata=EDGE)
    edge_truth: Tensor | None = field(default=None, metadata=EDGE)
    node_truth: Tensor | None = field(default=None, metadata=NODE)
    environment: Tensor | None = field(default=None, metadata=GRAPH)
    graph_attr: Tensor | None = field(default=None, metadata=GRAPH)
    mask: Tensor | None = field(default=None, metadata=NODE)


class Column(NamedTuple):
    """A field with a level, and the dimension that counts its rows."""

    name: str
    level: str
    dim: int


_columns: dict[type, tuple[Column, ...]] = {}


def columns(kind: type) -> tuple[Column, ...]:
    """The fields of a dataclass that have a level."""
    if kind not in _columns:  # looked up in every step
        _columns[kind] = tuple(
            Column(one.name, one.metadata["level"], one.metadata.get("dim", 0))
            for one in fields(kind)
            if "level" in one.metadata
        )
    return _columns[kind]


def take(data: Any, rows: Rows) -> dict[str, Any]:
    """Some rows of all fields of the levels that ``rows`` names, by field; slices give views."""
    return {
        name: value.narrow(dim, chosen.start, chosen.stop - chosen.start)
        if isinstance(chosen := rows[level], slice)
        else value.index_select(dim, chosen)
        for name, level, dim in columns(type(data))
        if level in rows and (value := getattr(data, name)) is not None
    }


def join(parts: Sequence[Any]) -> dict[str, Any]:
    """The rows of several objects end to end, by field; a field that one lacks is left out."""
    found = {
        name: ([getattr(part, name) for part in parts], dim)
        for name, _, dim in columns(type(parts[0]))
    }
    return {
        name: torch.cat(values, dim)
        for name, (values, dim) in found.items()
        if all(value is not None for value in values)
    }


def read_pyg(data: Any, sources: Mapping[str, str]) -> dict[str, Tensor]:
    """The fields of a PyG object; it gets one constant feature if it has no ``x``.

    Args:
        data: A ``Data`` or ``Batch``.
        sources: Which attribute each field is read from, where the object has it.
    """
    if getattr(data, "edge_index", None) is None:
        raise InputError(
            f"expected a PyG Data or Batch with an edge_index, got a {type(data).__name__} "
            "without; a graph that has no edges needs one of shape [2, 0]."
        )
    found = {
        name: torch.as_tensor(value)
        for name, source in sources.items()
        if (value := getattr(data, source, None)) is not None
    }
    if "x" not in found:
        found["x"] = torch.ones(data.num_nodes, 1, device=data.edge_index.device)
    for name, value in found.items():
        if value.dim() == 0 or (value.dim() == 1 and name in ("x", "edge_attr")):
            found[name] = value.view(-1, 1) if value.dim() else value.view(1)
        if value.dim() < 2 and name == "graph_attr":  # one row for each graph of a batch
            found[name] = value.view(getattr(data, "num_graphs", 1), -1)
    return found
