"""`PackedGraphs`: a dataset of graphs as flat tensors, batched by gathers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.fields import ENDS, GRAPH, NODE, GraphFields, columns, join, read_pyg, take
from gsina.graphs.pyg import holds_graphs, one_by_one
from gsina.graphs.task import Level
from gsina.ops.edges import reverse_edges
from gsina.ops.host import move
from gsina.ops.ragged import gather_groups
from gsina.ops.ragged import offsets as offsets

#: Tensors of the host by their identity, and their copies on a device.
Known = dict[int, tuple[Tensor, Tensor]]


class _Sizes(NamedTuple):
    """Rows of a batch, and nodes of its largest graph; ``None`` where they need not be known."""

    nodes: int | None = None
    edges: int | None = None
    most_nodes: int | None = None


@dataclass(frozen=True)
class PackedGraphs(GraphFields):
    """Graphs stored end to end; ``len()`` is their number.

    Attributes:
        edge_index: Edges ``[2, E]`` with node ids *local* to their graph (0 .. nodes - 1).
        node_ptr: Offsets of the nodes of each graph ``[G + 1]``.
        edge_ptr: Offsets of the edges of each graph ``[G + 1]``.
        y: Labels, one row per graph.
        node_y: Labels, one row per node; at node level, in place of ``y``.
        label_weight: What every label counts in the loss, in the shape of ``y``; ``None``: all 1.
        node_label_weight: The same, in the shape of ``node_y``.
    """

    edge_index: Tensor = field(metadata=ENDS)
    node_ptr: Tensor
    edge_ptr: Tensor
    y: Tensor | None = field(default=None, metadata=GRAPH)
    node_y: Tensor | None = field(default=None, metadata=NODE)
    label_weight: Tensor | None = field(default=None, metadata=GRAPH)
    node_label_weight: Tensor | None = field(default=None, metadata=NODE)
    #: Offsets on the host, of graphs that are on another device.
    _host: ClassVar[tuple[Tensor, Tensor] | None] = None

    def __post_init__(self) -> None:
        # Selecting rows of a strided tensor copies all of it first: a batch would cost the dataset.
        for name, value in self.tensors().items():
            object.__setattr__(self, name, value.contiguous())
        for name in ("node_ptr", "edge_ptr"):
            ptr = getattr(self, name)
            if ptr.numel() == 0 or int(ptr[0]) != 0 or bool((ptr.diff() < 0).any()):
                raise InputError(
                    f"{name} must hold offsets that start at 0 and never fall; make them from "
                    "counts with gsina.graphs.packed.offsets."
                )
        if self.edge_ptr.numel() != self.node_ptr.numel():
            raise InputError(
                f"node_ptr describes {len(self)} graphs but edge_ptr {self.edge_ptr.numel() - 1}."
            )
        sizes = {"graph": len(self), "node": int(self.node_ptr[-1]), "edge": int(self.edge_ptr[-1])}
        for name, level, dim in columns(type(self)):
            value = getattr(self, name)
            if value is not None and value.size(dim) != sizes[level]:
                raise InputError(
                    f"{name} has {value.size(dim)} {'columns' if dim else 'rows'}; expected one "
                    f"per {level}, that is {sizes[level]}."
                )
        nodes = self.node_ptr.diff().repeat_interleave(self.edge_ptr.diff())
        if bool(((self.edge_index < 0) | (self.edge_index >= nodes)).any()):
            raise InputError(
                "an edge points to a node that its graph does not have; node ids in edge_index "
                "must lie between 0 and the graph's number of nodes - 1."
            )

    @classmethod
    def one(cls, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> PackedGraphs:
        """A single graph of nodes ``[N, F]`` and edges ``[2, E]``."""
        node_ptr, edge_ptr = torch.tensor([0, x.size(0)]), torch.tensor([0, edge_index.size(1)])
        return cls(x, edge_index, node_ptr, edge_ptr, edge_attr=edge_attr)

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
    def undirected(self) -> bool:
        """Whether every edge between two nodes has its opposite."""
        if self.reverse is None:
            return False
        start = self.edge_ptr[:-1].repeat_interleave(self.edge_ptr.diff())
        alone = self.reverse + start == torch.arange(self.edge_index.size(1))
        return not bool((alone & (self.edge_index[0] != self.edge_index[1])).any())

    @property
    def num_features(self) -> int:
        """Width of the node features."""
        return self.x.size(1)

    @property
    def num_edge_features(self) -> int:
        """Width of the edge features, 0 if there are none."""
        return 0 if self.edge_attr is None else self.edge_attr.size(1)

    @property
    def num_graph_features(self) -> int:
        """Width of the features of whole graphs, 0 if there are none."""
        return 0 if self.graph_attr is None else self.graph_attr.size(1)

    def labels(self, level: Level = "graph") -> Tensor | None:
        """Labels of the graphs, or of the nodes."""
        return self.node_y if level == "node" else self.y

    def batch(self, ids: Tensor | Sequence[int]) -> Batch:
        """Assemble the graphs ``ids`` (any order, repeats allowed; or a mask) into one batch."""
        ids = _as_ids(ids, len(self))
        if self.node_y is not None and ids.numel() == 1:
            return self._single(int(ids))
        sizes = self._sizes(ids)
        ids = ids.to(self.x.device, non_blocking=True)
        nodes, node_graph, node_start = gather_groups(self.node_ptr, ids, sizes.nodes)
        edges, edge_graph, edge_start = gather_groups(self.edge_ptr, ids, sizes.edges)
        parts = _of_batch(take(self, {"graph": ids, "node": nodes, "edge": edges}))
        parts["edge_index"] += node_start.index_select(0, edge_graph)
        reverse = self.reverse
        if reverse is not None:
            reverse = reverse.index_select(0, edges) + edge_start.index_select(0, edge_graph)
        return Batch(
            node_graph=node_graph,
            edge_graph=edge_graph,
            num_graphs=ids.numel(),
            reverse=reverse,
            most_nodes=sizes.most_nodes,
            **parts,
        )

    def to(self, device: torch.device, known: Known | None = None) -> PackedGraphs:
        """The same graphs on a device, where :meth:`batch` assembles them without waiting for it.

        Args:
            device: The device.
            known: Tensors that are there already; those of these graphs take their place.
        """
        _ = self.reverse  # found on the host, once
        moved = copy(self)
        found: Known = {}
        for name, value in (*self.tensors().items(), ("reverse", self.reverse)):
            if value is not None:
                there = (known or {}).get(id(value)) or (value, move(value, device))
                found[id(value)] = there
                object.__setattr__(moved, name, there[1])
        object.__setattr__(moved, "_host", (self.node_ptr, self.edge_ptr))
        object.__setattr__(moved, "_singles", {})
        if known is not None:
            known.clear()
            known.update(found)
        return moved

    @property
    def nbytes(self) -> int:
        """Memory of all tensors, opposite edges included."""
        own = sum(value.nbytes for value in self.tensors().values())
        return own + (0 if self.reverse is None else self.reverse.nbytes)

    def _sizes(self, ids: Tensor) -> _Sizes:
        """How large a batch will be, for graphs whose offsets are on another device."""
        if self._host is None:
            return _Sizes()
        nodes, edges = (ptr.diff().index_select(0, ids) for ptr in self._host)
        most = int(nodes.max()) if len(nodes) else 0
        return _Sizes(int(nodes.sum()), int(edges.sum()), most)

    def rows_of(self, graph: int) -> dict[str, slice]:
        """Where the rows of one graph lie, by level."""
        node, edge = (
            slice(*ptr[graph : graph + 2].tolist())
            for ptr in self._host or (self.node_ptr, self.edge_ptr)
        )
        return {"graph": slice(graph, graph + 1), "node": node, "edge": edge}

    @cached_property
    def _singles(self) -> dict[int, Batch]:
        return {}

    def _single(self, graph: int) -> Batch:
        """One graph as a batch, without a copy and the same object every time.

        At node level a graph may be large, and what is found out about its edges is kept with them.
        """
        if graph not in self._singles:
            rows = self.rows_of(graph)
            parts = _of_batch(take(self, rows))
            parts["edge_index"] = parts["edge_index"].contiguous()
            self._singles[graph] = Batch(
                node_graph=parts["edge_index"].new_zeros(parts["x"].size(0)),
                edge_graph=parts["edge_index"].new_zeros(parts["edge_index"].size(1)),
                num_graphs=1,
                most_nodes=parts["x"].size(0),
                reverse=None if self.reverse is None else self.reverse[rows["edge"]],
                **parts,
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
        nodes, _, _ = gather_groups(self.node_ptr, ids)
        edges, _, _ = gather_groups(self.edge_ptr, ids)
        return replace(
            self,
            node_ptr=offsets(self.node_ptr.diff()[ids]),
            edge_ptr=offsets(self.edge_ptr.diff()[ids]),
            **take(self, {"graph": ids, "node": nodes, "edge": edges}),
        )

    @classmethod
    def join(cls, parts: Sequence[PackedGraphs]) -> PackedGraphs:
        """Several sets of graphs end to end; a field that one of them lacks is left out."""
        return cls(
            node_ptr=offsets(torch.cat([part.node_ptr.diff() for part in parts])),
            edge_ptr=offsets(torch.cat([part.edge_ptr.diff() for part in parts])),
            **join(parts),
        )

    def to_undirected(self) -> PackedGraphs:
        """Add the opposite of every edge that has none, with the same features and truth.

        New edges stand behind the old ones of their graph.
        """
        reverse = self.reverse
        position = torch.arange(self.edge_index.size(1))
        edge_graph = torch.repeat_interleave(self.edge_ptr.diff())
        alone = self.edge_index[0] != self.edge_index[1]
        if reverse is not None:
            alone &= reverse + self.edge_ptr[edge_graph] == position
        order = torch.cat([edge_graph, edge_graph[alone]]).argsort(stable=True)
        edges = torch.cat([position, position[alone]])[order]
        parts = take(self, {"edge": edges})
        new = order >= position.numel()
        parts["edge_index"][:, new] = parts["edge_index"][:, new].flip(0)
        counts = torch.bincount(edge_graph[edges], minlength=len(self))
        return replace(self, edge_ptr=offsets(counts), **parts)

    @classmethod
    def from_batch(cls, batch: Batch) -> PackedGraphs:
        """The graphs of a batch as a dataset; labels with one row per node become ``node_y``."""
        node_ptr = offsets(torch.bincount(batch.node_graph, minlength=batch.num_graphs))
        edge_ptr = offsets(torch.bincount(batch.edge_graph, minlength=batch.num_graphs))
        of_nodes = batch.y is not None and (
            batch.mask is not None or batch.y.size(0) != batch.num_graphs
        )
        parts = {column.name: getattr(batch, column.name) for column in columns(GraphFields)}
        parts["node_y" if of_nodes else "y"] = batch.y
        parts["node_label_weight" if of_nodes else "label_weight"] = batch.label_weight
        edge_index = batch.edge_index - node_ptr[batch.edge_graph]
        return cls(edge_index=edge_index, node_ptr=node_ptr, edge_ptr=edge_ptr, **parts)

    @classmethod
    def from_pyg(cls, graphs: Any, level: Level = "graph", mask: str = "mask") -> PackedGraphs:
        """Pack a PyG ``Data``, ``Batch``, ``Dataset`` or loader, or any iterable of such objects.

        Every graph in them becomes one of these, see :func:`~gsina.graphs.pyg.one_by_one`. The
        fields of :class:`~gsina.graphs.fields.GraphFields` are taken over where the objects have
        them. Graphs without ``x`` get one constant feature.

        Args:
            graphs: The graphs.
            level: Whether ``y`` has one row per graph or one per node.
            mask: The attribute that holds the mask, which is read at node level only.
        """
        if not (hasattr(graphs, "edge_index") or holds_graphs(graphs)):
            raise InputError(f"got a {type(graphs).__name__}, expected a list of PyG Data objects.")
        sources = {column.name: column.name for column in columns(cls)}
        if level == "node":
            weight = sources.pop("label_weight")
            sources |= {"node_y": sources.pop("y"), "node_label_weight": weight, "mask": mask}
        else:
            del sources["node_y"], sources["node_label_weight"], sources["mask"]
        found = [read_pyg(graph, sources) for graph in one_by_one(graphs)]
        if not found:
            raise InputError("got no graphs to pack; expected at least one PyG Data object.")
        _check_alike(found)
        return cls(
            node_ptr=offsets(torch.tensor([parts["x"].size(0) for parts in found])),
            edge_ptr=offsets(torch.tensor([parts["edge_index"].size(1) for parts in found])),
            **{
                name: torch.cat([parts[name] for parts in found], dim)
                for name, _, dim in columns(cls)
                if name in found[0]
            },
        )

    def to_pyg(self, mask: str = "mask") -> list[Any]:
        """One PyG ``Data`` object per graph; ``mask`` is the attribute that holds the mask."""
        from torch_geometric.data import Data

        names = {"node_y": "y", "node_label_weight": "label_weight", "mask": mask}
        return [
            Data(**{names.get(name, name): value for name, value in parts.items()})
            for parts in (take(self, self.rows_of(graph)) for graph in range(len(self)))
        ]

    def tensors(self) -> dict[str, Tensor]:
        """All tensors but ``None``, by field name; the inverse of ``PackedGraphs(**tensors)``."""
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


def _check_alike(found: Sequence[dict[str, Tensor]]) -> None:
    """Refuse graphs that cannot be joined, because their fields or the rows of one differ."""
    first = {name: value.shape[1:] for name, value in found[0].items()}
    for number, parts in enumerate(found):
        if parts.keys() != first.keys():
            raise InputError(
                f"graph {number} has {sorted(parts)} but the graphs before it have "
                f"{sorted(first)}; all graphs of a dataset need the same fields."
            )
        for name, value in parts.items():
            if value.shape[1:] != first[name] and name != "edge_index":
                raise InputError(
                    f"{name} of graph {number} has rows of shape {list(value.shape[1:])}, of "
                    f"graph 0 {list(first[name])}; all graphs of a dataset need the same."
                )


def _of_batch(parts: dict[str, Any]) -> dict[str, Any]:
    """A batch has one ``y``: of its nodes at node level."""
    for name in ("y", "label_weight"):
        if f"node_{name}" in parts:
            parts[name] = parts.pop(f"node_{name}")
    return parts
