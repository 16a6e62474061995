"""`Batch`: the packed graphs of one training step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.fields import EDGE, LABEL, NODE, GraphFields, columns, read_pyg
from gsina.graphs.pyg import holds_graphs, one_by_one
from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups
from gsina.ops.host import count_members, move


@dataclass(frozen=True)
class Batch(GraphFields):
    """Several graphs side by side, as one graph with no edges between its parts.

    Edges of one graph are contiguous, and so are nodes; graphs are in order. A single large graph
    is a batch of one.

    Attributes:
        edge_index: Source and target of every edge ``[2, E]``, int64.
        node_graph: Graph of every node ``[N]``, int64, ascending.
        edge_graph: Graph of every edge ``[E]``, int64, ascending.
        num_graphs: Number of graphs G, known on the host.
        y: Labels, as the :class:`~gsina.graphs.task.Task` says.
        label_weight: What every label counts in the loss, in the shape of ``y``; ``None``: all 1.
        reverse: Index of the opposite edge of every edge, itself where there is none ``[E]``;
            ``None`` if no edge has an opposite.
        inside: Nodes that are in the graphs ``[N]``, bool; ``None`` for all. Others stand for the
            nodes and edges that a subgraph leaves out where its size is not known beforehand, see
            :func:`~gsina.nn.subgraph.edge_subgraph`; edges between them are in no graph.
        most_nodes: Nodes of the largest graph, if it was counted before the batch was moved.
    """

    # No level for those that hold numbers of nodes or edges: a selection has to renumber them.
    edge_index: Tensor
    node_graph: Tensor = field(metadata=NODE)
    edge_graph: Tensor = field(metadata=EDGE)
    num_graphs: int
    y: Tensor | None = field(default=None, metadata=LABEL)
    label_weight: Tensor | None = field(default=None, metadata=LABEL)
    reverse: Tensor | None = None
    inside: Tensor | None = field(default=None, metadata=NODE)
    most_nodes: int | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.x.size(0)

    @property
    def num_edges(self) -> int:
        """Number of edges E."""
        return self.edge_index.size(1)

    @property
    def largest(self) -> int:
        """Nodes of the largest graph, known on the host."""
        if self.most_nodes is None:
            counts = count_members(self.node_graph, self.num_graphs)
            return int(counts.max()) if self.num_graphs else 0
        return self.most_nodes

    @cached_property
    def node_groups(self) -> Groups:
        """The nodes of each graph, for sums over graphs."""
        return Groups(self.node_graph, self.num_graphs, self.num_nodes)

    @cached_property
    def edge_groups(self) -> Groups:
        """The edges of each graph, for sums over graphs; of those in no graph one more group."""
        if self.inside is not None:
            inside = self.inside.index_select(0, self.edge_index[0])
            graph = torch.where(inside, self.edge_graph, self.num_graphs)
            return Groups(graph, self.num_graphs + 1, self.num_edges)
        if self.num_graphs == 1:  # a large graph: sums need no index, and are exact
            return Groups.single(self.num_edges)
        return Groups(self.edge_graph, self.num_graphs, self.num_edges)

    @property
    def labels(self) -> Tensor:
        """``y``, or an error if the batch has none."""
        if self.y is None:
            raise InputError("this batch has no labels; a loss needs `y`.")
        return self.y

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """A copy with every tensor on ``device``; what is known of it on the host stays known."""
        moved: dict[str, Any] = {
            field.name: move(value, device, non_blocking=non_blocking)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        leaves = torch.device(device).type != "cpu" and self.node_graph.is_cpu
        if self.most_nodes is None and leaves:
            moved["most_nodes"] = self.largest
        return replace(self, **moved)

    def pin_memory(self) -> Batch:
        """A copy in memory that a GPU can read by itself, so that nobody waits for ``to``."""
        pinned: dict[str, Any] = {
            field.name: value.pin_memory()
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return replace(self, **pinned)

    @classmethod
    def from_pyg(cls, data: Any) -> Batch:
        """Convert a PyG ``Data`` (one graph) or ``Batch`` (several); ``train_mask`` is the mask.

        A dataset, a loader or a list becomes a batch of all its graphs.
        """
        if holds_graphs(data) or isinstance(data, GraphFields):
            data = _collate(one_by_one(data))
        sources = {column.name: column.name for column in columns(GraphFields)}
        parts = read_pyg(
            data, sources | {"y": "y", "label_weight": "label_weight", "mask": "train_mask"}
        )
        edge_index, num_nodes = data.edge_index, data.num_nodes
        node_graph = getattr(data, "batch", None)
        num_graphs = 1
        if node_graph is not None:  # only a Batch knows about empty graphs at its end
            num_graphs = getattr(data, "num_graphs", None) or int(node_graph.max()) + 1
        if node_graph is None:
            node_graph = torch.zeros(num_nodes, dtype=torch.long, device=edge_index.device)
        edge_graph = node_graph[edge_index[0]]
        for name, graph in (("nodes", node_graph), ("edges", edge_graph)):
            if bool((graph.diff() < 0).any()):
                raise InputError(
                    f"the {name} of this PyG batch are not in the order of its graphs, which every "
                    "batch here needs; build it with torch_geometric's Batch.from_data_list."
                )
        return cls(
            edge_index=edge_index,
            node_graph=node_graph,
            edge_graph=edge_graph,
            num_graphs=num_graphs,
            reverse=reverse_edges(edge_index, num_nodes),
            **cast(dict[str, Any], parts),
        )

    def to_pyg(self) -> Any:
        """Convert into a PyG ``Batch``; ``batch.to_data_list()`` splits it again.

        The mask is called ``train_mask``. One graph with labels (or a mask) of its nodes becomes a
        PyG ``Data``.
        """
        if self.num_graphs == 0:
            raise InputError("this batch has no graphs; PyG cannot hold a batch of none.")
        from torch_geometric.data import Batch as PygBatch

        from gsina.graphs.packed import PackedGraphs

        graphs = PackedGraphs.from_batch(self)
        found = graphs.to_pyg(mask="train_mask")
        alone = len(found) == 1 and (graphs.node_y is not None or self.mask is not None)
        return found[0] if alone else PygBatch.from_data_list(found)


def _collate(graphs: Iterable[Any]) -> Any:
    """A PyG ``Batch`` of PyG graphs."""
    from torch_geometric.data import Batch as PygBatch
    from torch_geometric.data.data import BaseData

    found = list(graphs)
    for graph in found:
        if not isinstance(graph, BaseData):
            raise InputError(f"got a {type(graph).__name__}, expected a list of PyG Data objects.")
    if not found:
        raise InputError("got no graphs, expected at least one PyG Data object.")
    return PygBatch.from_data_list(found)
