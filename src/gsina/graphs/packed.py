"""`PackedGraphs`: a dataset of graphs as flat tensors, batched by gathers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.task import Level
from gsina.ops.edges import reverse_edges

PER_NODE = ("x", "node_y", "mask", "node_truth")
PER_EDGE = ("edge_attr", "edge_truth")
PER_GRAPH = ("y", "environment")


def offsets(counts: Tensor) -> Tensor:
    """Offsets ``[G + 1]`` of groups with the given sizes ``[G]``."""
    zero = torch.zeros(1, dtype=torch.long, device=counts.device)
    return torch.cat([zero, counts.cumsum(0)])


@dataclass(frozen=True)
class PackedGraphs:
    """Graphs stored end to end; ``len()`` is their number.

    Attributes:
        x: Node features of all graphs ``[N, F]``.
        edge_index: Edges ``[2, E]`` with node ids *local* to their graph (0 .. nodes - 1).
        node_ptr: Offsets of the nodes of each graph ``[G + 1]``.
        edge_ptr: Offsets of the edges of each graph ``[G + 1]``.
        y: Labels, one row a graph.
        edge_attr: Edge features ``[E, D]``.
        edge_truth: Ground-truth explanation of edges ``[E]``, bool.
        node_truth: Ground-truth explanation of nodes ``[N]``, bool.
        environment: Environment of each graph ``[G]``.
        node_y: Labels, one row a node; at node level, in place of ``y``.
        mask: Nodes that count in loss and score ``[N]``, bool; ``None`` for all.
    """

    x: Tensor
    edge_index: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    y: Tensor | None = None
    edge_attr: Tensor | None = None
    edge_truth: Tensor | None = None
    node_truth: Tensor | None = None
    environment: Tensor | None = None
    node_y: Tensor | None = None
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        # Selecting rows of a strided tensor copies all of it first: a batch would cost the dataset.
        for name, value in self.tensors().items():
            object.__setattr__(self, name, value.contiguous())
        graphs = self.node_ptr.numel() - 1
        nodes, edges = self.x.size(0), self.edge_index.size(1)
        for name in ("node_ptr", "edge_ptr"):
            ptr = getattr(self, name)
            if ptr.numel() == 0 or int(ptr[0]) != 0 or bool((ptr.diff() < 0).any()):
                raise InputError(
                    f"{name} must hold offsets that start at 0 and never fall; make them from "
                    "counts with gsina.graphs.packed.offsets."
                )
        if self.edge_ptr.numel() != graphs + 1:
            raise InputError(
                f"node_ptr describes {graphs} graphs but edge_ptr {self.edge_ptr.numel() - 1}."
            )
        if int(self.node_ptr[-1]) != nodes or int(self.edge_ptr[-1]) != edges:
            raise InputError(
                f"offsets end at {int(self.node_ptr[-1])} nodes and {int(self.edge_ptr[-1])} "
                f"edges, but there are {nodes} and {edges}."
            )
        for names, size, what in (
            (PER_NODE, nodes, "node"),
            (PER_EDGE, edges, "edge"),
            (PER_GRAPH, graphs, "graph"),
        ):
            for name in names:
                value = getattr(self, name)
                if value is not None and value.size(0) != size:
                    raise InputError(
                        f"{name} has {value.size(0)} rows; expected one a {what}, that is {size}."
                    )
        sizes = self.node_ptr.diff().repeat_interleave(self.edge_ptr.diff())
        if bool(((self.edge_index < 0) | (self.edge_index >= sizes)).any()):
            raise InputError(
                "an edge points to a node that its graph does not have; node ids in edge_index "
                "must lie between 0 and the graph's number of nodes - 1."
            )

    def __len__(self) -> int:
        return self.node_ptr.numel() - 1

    @cached_property
    def reverse(self) -> Tensor | None:
        """Position (within its graph) of every edge's opposite ``[E]``; computed once."""
        edge_graph = torch.repeat_interleave(self.edge_ptr.diff())
        whole = self.edge_index + self.node_ptr[edge_graph]
        reverse = reverse_edges(whole, self.x.size(0))
        return None if reverse is None else reverse - self.edge_ptr[edge_graph]

    @property
    def num_features(self) -> int:
        """Width of the node features."""
        return self.x.size(1)

    @property
    def num_edge_features(self) -> int:
        """Width of the edge features, 0 if there are none."""
        return 0 if self.edge_attr is None else self.edge_attr.size(1)

    def labels(self, level: Level = "graph") -> Tensor | None:
        """Labels of the graphs, or of the nodes."""
        return self.node_y if level == "node" else self.y

    def batch(self, ids: Tensor | Sequence[int]) -> Batch:
        """Assemble the graphs ``ids`` (any order, repeats allowed; or a mask) into one batch."""
        ids = _as_ids(ids, len(self))
        if self.node_y is not None and ids.numel() == 1:
            return self._single(int(ids))
        nodes, node_graph, node_start = _gather_index(self.node_ptr, ids)
        edges, edge_graph, edge_start = _gather_index(self.edge_ptr, ids)
        edge_index = self.edge_index.index_select(1, edges) + node_start.index_select(0, edge_graph)
        reverse = self.reverse
        if reverse is not None:
            reverse = reverse.index_select(0, edges) + edge_start.index_select(0, edge_graph)
        return Batch(
            edge_index=edge_index,
            node_graph=node_graph,
            edge_graph=edge_graph,
            num_graphs=ids.numel(),
            reverse=reverse,
            **_of_batch(_select(self, PER_NODE, nodes) | _select(self, PER_GRAPH, ids)),
            **_select(self, PER_EDGE, edges),
        )

    @cached_property
    def _singles(self) -> dict[int, Batch]:
        return {}

    def _single(self, graph: int) -> Batch:
        """One graph as a batch, without a copy and the same object every time.

        At node level a graph may be large, and what is found out about its edges is kept with them.
        """
        if graph not in self._singles:
            nodes = slice(int(self.node_ptr[graph]), int(self.node_ptr[graph + 1]))
            edges = slice(int(self.edge_ptr[graph]), int(self.edge_ptr[graph + 1]))
            rows = {**dict.fromkeys(PER_NODE, nodes), **dict.fromkeys(PER_EDGE, edges)}
            rows |= dict.fromkeys(PER_GRAPH, slice(graph, graph + 1))
            parts = {
                name: value[rows[name]]
                for name in rows
                if (value := getattr(self, name)) is not None
            }
            self._singles[graph] = Batch(
                edge_index=self.edge_index[:, edges].contiguous(),
                node_graph=torch.zeros(nodes.stop - nodes.start, dtype=torch.long),
                edge_graph=torch.zeros(edges.stop - edges.start, dtype=torch.long),
                num_graphs=1,
                reverse=None if self.reverse is None else self.reverse[edges],
                **_of_batch(parts),
            )
        return self._singles[graph]

    def batches(self, size: int, generator: torch.Generator | None = None) -> Iterator[Batch]:
        """All graphs in batches of ``size``; shuffled if a generator is given."""
        if size < 1:
            raise InputError(f"a batch needs room for at least one graph, got size {size}.")
        count = len(self)
        ids = (
            torch.arange(count) if generator is None else torch.randperm(count, generator=generator)
        )
        for start in range(0, count, size):
            yield self.batch(ids[start : start + size])

    def __getitem__(self, ids: Tensor | Sequence[int] | slice) -> PackedGraphs:
        """The graphs ``ids`` (or of a slice, or of a mask) as a dataset of their own."""
        if isinstance(ids, slice):
            ids = range(len(self))[ids]
        ids = _as_ids(ids, len(self))
        nodes, _, _ = _gather_index(self.node_ptr, ids)
        edges, _, _ = _gather_index(self.edge_ptr, ids)
        return PackedGraphs(
            edge_index=self.edge_index.index_select(1, edges),
            node_ptr=offsets(self.node_ptr.diff()[ids]),
            edge_ptr=offsets(self.edge_ptr.diff()[ids]),
            **_select(self, PER_NODE, nodes),
            **_select(self, PER_EDGE, edges),
            **_select(self, PER_GRAPH, ids),
        )

    def to_undirected(self) -> PackedGraphs:
        """Add the opposite of every edge that has none, with the same features and truth.

        New edges stand behind the old ones of their graph.
        """
        reverse = self.reverse
        position = torch.arange(self.edge_index.size(1))
        edge_graph = torch.repeat_interleave(self.edge_ptr.diff())
        if reverse is None:
            alone = self.edge_index[0] != self.edge_index[1]
        else:
            same = reverse + self.edge_ptr[edge_graph] == position
            alone = same & (self.edge_index[0] != self.edge_index[1])
        order = torch.cat([edge_graph, edge_graph[alone]]).argsort(stable=True)
        edges = torch.cat([position, position[alone]])[order]
        edge_index = torch.cat([self.edge_index, self.edge_index[:, alone].flip(0)], dim=1)
        return replace(
            self,
            edge_index=edge_index[:, order],
            edge_ptr=offsets(torch.bincount(edge_graph[edges], minlength=len(self))),
            **_select(self, PER_EDGE, edges),
        )

    @classmethod
    def from_batch(cls, batch: Batch) -> PackedGraphs:
        """The graphs of a batch as a dataset; labels with one row a node become ``node_y``."""
        node_ptr = offsets(torch.bincount(batch.node_graph, minlength=batch.num_graphs))
        edge_ptr = offsets(torch.bincount(batch.edge_graph, minlength=batch.num_graphs))
        return cls(
            edge_index=batch.edge_index - node_ptr[batch.edge_graph],
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
            **_labels(batch),  # type: ignore[arg-type]
            **{
                name: getattr(batch, name)
                for name in PER_NODE + PER_EDGE + PER_GRAPH
                if name not in ("y", "node_y")
            },
        )

    @classmethod
    def from_pyg(cls, graphs: Iterable[Any], level: Level = "graph") -> PackedGraphs:
        """Pack any PyG dataset or iterable of ``Data`` objects.

        ``edge_truth``, ``node_truth`` and ``environment`` are taken over where the objects have
        them. Graphs without ``x`` get one constant feature. At ``level="node"``, ``y`` has one row
        a node, and ``mask`` is taken over.
        """
        graphs = list(graphs)
        if not graphs:
            raise InputError("got no graphs to pack; expected at least one PyG Data object.")
        columns: dict[str, list[Tensor]] = {}
        for number, graph in enumerate(graphs):
            found = _from_data(graph, level)
            if columns and set(found) != set(columns):
                raise InputError(
                    f"graph {number} has {sorted(found)} but the graphs before it have "
                    f"{sorted(columns)}; all graphs of a dataset need the same fields."
                )
            for name, value in found.items():
                first = columns.setdefault(name, [value])[0]
                if name != "edge_index" and value.shape[1:] != first.shape[1:]:
                    raise InputError(
                        f"{name} of graph {number} has rows of shape {list(value.shape[1:])}, of "
                        f"graph 0 {list(first.shape[1:])}; all graphs of a dataset need the same."
                    )
                if number:
                    columns[name].append(value)
        node_counts = torch.tensor([value.size(0) for value in columns["x"]])
        edge_counts = torch.tensor([value.size(1) for value in columns["edge_index"]])
        return cls(
            edge_index=torch.cat(columns.pop("edge_index"), dim=1),
            node_ptr=offsets(node_counts),
            edge_ptr=offsets(edge_counts),
            **{name: torch.cat(values) for name, values in columns.items()},
        )

    def to_pyg(self) -> list[Any]:
        """One PyG ``Data`` object a graph."""
        from torch_geometric.data import Data

        graphs = []
        for graph in range(len(self)):
            nodes = slice(int(self.node_ptr[graph]), int(self.node_ptr[graph + 1]))
            edges = slice(int(self.edge_ptr[graph]), int(self.edge_ptr[graph + 1]))
            parts = {"edge_index": self.edge_index[:, edges]}
            for names, rows in (
                (PER_NODE, nodes),
                (PER_EDGE, edges),
                (PER_GRAPH, slice(graph, graph + 1)),
            ):
                for name in names:
                    if (value := getattr(self, name)) is not None:
                        parts["y" if name == "node_y" else name] = value[rows]
            graphs.append(Data(**parts))
        return graphs

    def tensors(self) -> dict[str, Tensor]:
        """All tensors that are there, by field name; the inverse of ``PackedGraphs(**tensors)``."""
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }


def _as_ids(ids: Tensor | Sequence[int], count: int) -> Tensor:
    """Graph numbers ``[M]`` from numbers or from a mask over all graphs."""
    ids = torch.as_tensor(ids)
    if ids.dtype == torch.bool and ids.shape == (count,):
        return ids.nonzero().flatten()
    if ids.numel() == 0:
        ids = ids.long()
    if ids.dim() != 1 or ids.is_floating_point() or ids.dtype == torch.bool:
        raise InputError(
            f"expected a list of graph numbers or a mask over {count} graphs, got "
            f"{str(ids.dtype).removeprefix('torch.')} of shape {list(ids.shape)}."
        )
    if ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= count):
        raise InputError(
            f"graph numbers must lie between 0 and {count - 1}, got {int(ids.min())} to "
            f"{int(ids.max())}."
        )
    return ids.long()


def _gather_index(ptr: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of the groups ``ids`` in flat storage.

    Returns:
        The row numbers ``[M]``, the new group of each row ``[M]``, the new start of each group.
    """
    start = ptr.index_select(0, ids)
    counts = ptr.index_select(0, ids + 1) - start
    new_start = counts.cumsum(0) - counts
    group = torch.repeat_interleave(counts)
    shift = (start - new_start).index_select(0, group)
    return torch.arange(group.numel()) + shift, group, new_start


def _select(data: PackedGraphs, names: Sequence[str], rows: Tensor) -> dict[str, Tensor]:
    return {
        name: value.index_select(0, rows)
        for name in names
        if (value := getattr(data, name)) is not None
    }


def _labels(batch: Batch) -> dict[str, Tensor | None]:
    """``y`` or ``node_y`` of a batch, which has one name for both."""
    of_nodes = batch.y is not None and (
        batch.mask is not None or batch.y.size(0) != batch.num_graphs
    )
    return {"node_y" if of_nodes else "y": batch.y}


def _of_batch(columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """A batch has one ``y``: of its nodes at node level."""
    if "node_y" in columns:
        columns["y"] = columns.pop("node_y")
    return columns


def _from_data(graph: Any, level: Level) -> dict[str, Tensor]:
    """The fields of one PyG ``Data`` in the shapes that packing needs."""
    if getattr(graph, "edge_index", None) is None:
        raise InputError(
            f"expected PyG Data objects with an edge_index, got a {type(graph).__name__} without; "
            "a graph that has no edges needs one of shape [2, 0]."
        )
    x = graph.x if graph.x is not None else torch.ones(graph.num_nodes, 1)
    found = {"x": x.view(-1, 1) if x.dim() == 1 else x, "edge_index": graph.edge_index}
    for name in ("edge_attr", "edge_truth", "node_truth"):
        value = getattr(graph, name, None)
        if value is not None:
            found[name] = value
    if "edge_attr" in found and found["edge_attr"].dim() == 1:
        found["edge_attr"] = found["edge_attr"].view(-1, 1)
    if level == "node":
        for name, source in (("node_y", "y"), ("mask", "mask")):
            if (value := getattr(graph, source, None)) is not None:
                found[name] = value
    for name in PER_GRAPH if level == "graph" else ("environment",):
        value = getattr(graph, name, None)
        if value is not None:
            value = torch.as_tensor(value)
            found[name] = value.view(1) if value.dim() == 0 else value
    return found
