"""`Batch`: the packed graphs of one training step."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups


@dataclass(frozen=True)
class Batch:
    """Several graphs side by side, as one graph with no edges between its parts.

    Edges of one graph are contiguous, and so are nodes; graphs are in order. A single large graph
    is a batch of one.

    Attributes:
        x: Node features ``[N, F]``, float, or int64 for categorical features.
        edge_index: Source and target of every edge ``[2, E]``, int64.
        node_graph: Graph of every node ``[N]``, int64, ascending.
        edge_graph: Graph of every edge ``[E]``, int64, ascending.
        num_graphs: Number of graphs G, known on the host.
        edge_attr: Edge features ``[E, D]``.
        y: Labels, as the :class:`~gsina.graphs.task.Task` says.
        edge_truth: Whether an edge belongs to the true explanation ``[E]``, bool.
        node_truth: Whether a node belongs to the true explanation ``[N]``, bool.
        environment: Environment (domain) of every graph ``[G]``, int64.
        reverse: Index of the opposite edge of every edge, itself where there is none ``[E]``;
            ``None`` if no edge has an opposite.
        mask: Nodes that count in the loss ``[N]``, bool; node level only.
    """

    x: Tensor
    edge_index: Tensor
    node_graph: Tensor
    edge_graph: Tensor
    num_graphs: int
    edge_attr: Tensor | None = None
    y: Tensor | None = None
    edge_truth: Tensor | None = None
    node_truth: Tensor | None = None
    environment: Tensor | None = None
    reverse: Tensor | None = None
    mask: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.x.size(0)

    @property
    def num_edges(self) -> int:
        """Number of edges E."""
        return self.edge_index.size(1)

    @cached_property
    def node_groups(self) -> Groups:
        """The nodes of each graph, for sums over graphs."""
        return Groups(self.node_graph, self.num_graphs, self.num_nodes)

    @cached_property
    def edge_groups(self) -> Groups:
        """The edges of each graph, for sums over graphs."""
        if self.num_graphs == 1:  # a large graph: sums need no index, and are exact
            return Groups.whole(self.num_edges)
        return Groups(self.edge_graph, self.num_graphs, self.num_edges)

    @property
    def labels(self) -> Tensor:
        """``y``, or an error if the batch has none."""
        if self.y is None:
            raise InputError("this batch has no labels; a loss needs `y`.")
        return self.y

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """A copy with every tensor on ``device``."""
        moved: dict[str, Any] = {
            field.name: value.to(device, non_blocking=non_blocking)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return replace(self, **moved)

    @classmethod
    def from_pyg(cls, data: Any) -> Batch:
        """Convert a PyG ``Data`` (one graph) or ``Batch`` (several)."""
        if getattr(data, "edge_index", None) is None:
            raise InputError(
                f"expected a PyG Data or Batch with an edge_index, got a {type(data).__name__} "
                "without; a graph that has no edges needs one of shape [2, 0]."
            )
        num_nodes = data.num_nodes
        device = data.edge_index.device
        node_graph = getattr(data, "batch", None)
        if node_graph is None:
            node_graph = torch.zeros(num_nodes, dtype=torch.long, device=device)
            num_graphs = 1
        else:
            num_graphs = int(data.num_graphs)
        edge_graph = node_graph[data.edge_index[0]]
        for name, graph in (("nodes", node_graph), ("edges", edge_graph)):
            if bool((graph.diff() < 0).any()):
                raise InputError(
                    f"the {name} of this PyG batch are not in the order of its graphs, which every "
                    "batch here needs; build it with torch_geometric's Batch.from_data_list."
                )
        x = data.x if data.x is not None else torch.ones(num_nodes, 1, device=device)
        edge_attr = getattr(data, "edge_attr", None)
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.view(-1, 1)
        return cls(
            x=x.view(-1, 1) if x.dim() == 1 else x,
            edge_index=data.edge_index,
            node_graph=node_graph,
            edge_graph=edge_graph,
            num_graphs=num_graphs,
            edge_attr=edge_attr,
            y=getattr(data, "y", None),
            edge_truth=getattr(data, "edge_truth", None),
            node_truth=getattr(data, "node_truth", None),
            environment=getattr(data, "environment", None),
            reverse=reverse_edges(data.edge_index, num_nodes),
            mask=getattr(data, "train_mask", None),
        )

    def to_pyg(self) -> Any:
        """Convert into a PyG ``Batch``; ``batch.to_data_list()`` splits it again.

        One graph with labels (or a mask) of its nodes becomes a PyG ``Data`` with ``train_mask``.
        """
        if self.num_graphs == 0:
            raise InputError("this batch has no graphs; PyG cannot hold a batch of none.")
        from torch_geometric.data import Batch as PygBatch
        from torch_geometric.data import Data

        per_node = self.y is not None and self.y.size(0) != self.num_graphs
        if self.num_graphs == 1 and (per_node or self.mask is not None):
            names = ("x", "edge_index", "edge_attr", "y", "edge_truth", "node_truth")
            parts = {name: getattr(self, name) for name in names}
            parts["train_mask"] = self.mask
            return Data(**{name: value for name, value in parts.items() if value is not None})

        from gsina.graphs.packed import PackedGraphs

        return PygBatch.from_data_list(PackedGraphs.from_batch(self).to_pyg())
