"""One graph as a JSON object, checked, and many of them packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.formats.encoding import Encodings
from gsina.formats.graph_features import GraphFeatures, Problem, Rows, feature_rows
from gsina.graphs.packed import PackedGraphs, offsets

#: Most nodes of a graph that are given by their number alone.
MOST_NODES = 1 << 20
#: Most of these that no edge accounts for, and most nodes of several graphs that are predicted at
#: once: a network needs some kilobytes per node, and a line of 30 bytes must not take all memory.
MOST_BARE = 1 << 16
#: Nodes per graph, and further ones per edge, that are not counted as such.
FREE_NODES, NODES_PER_EDGE = 64, 8
#: Most nodes of all graphs that are trained on.
MOST_IN_ALL = 1 << 27


class Graph(NamedTuple):
    """One graph: features of nodes ``[N, F]``, edges ``[E, 2]``, features of edges ``[E, D]``.

    Its nodes may be ``counted``: given by their number alone.
    """

    x: Rows
    edges: NDArray[np.int64]
    edge_attr: Rows | None
    counted: bool = False


class Packer:
    """Collects graphs of one shape; a graph of another shape is a :class:`Problem`.

    Args:
        node_features: Width of the node features, by default that of the first graph.
        edge_features: Width of the edge features (0 for none), by default that of the first graph
            with edges.
        edge_constant: Features of every edge of a graph without edge features.
        known: How the features were encoded in training, if these are not training graphs.
    """

    def __init__(
        self,
        node_features: int | None = None,
        edge_features: int | None = None,
        edge_constant: Sequence[float] | None = None,
        known: Encodings | None = None,
    ) -> None:
        self.node_features, self.edge_features = node_features, edge_features
        self.edge_constant, self.known = edge_constant, known
        self.of_nodes = GraphFeatures("node", None if known is None else known.nodes)
        self.of_edges = GraphFeatures("edge", None if known is None else known.edges)
        self._graphs: list[Graph] = []
        self.nodes = self.bare = 0
        self._loops = self._edgeless = 0

    def fresh(self) -> Packer:
        """An empty packer for graphs of the same shape."""
        made = Packer(self.node_features, self.edge_features, self.edge_constant, self.known)
        made.of_nodes, made.of_edges = self.of_nodes, self.of_edges
        return made

    def add(self, graph: Graph) -> None:
        """Add a graph."""
        width = graph.x.shape[1]
        if width != (self.node_features or width):
            raise Problem(f"its nodes have {width} features, expected {self.node_features}")
        if self.edge_constant is not None and graph.edge_attr is None:
            same = np.tile(np.array(self.edge_constant, np.float32), (len(graph.edges), 1))
            graph = graph._replace(edge_attr=same)
        if len(graph.edges):
            edge_width = 0 if graph.edge_attr is None else graph.edge_attr.shape[1]
            if self.edge_features is None:
                self.edge_features = edge_width
            if edge_width != self.edge_features:
                raise Problem(
                    f"its edges have {edge_width} features, expected {self.edge_features}"
                )
        free = FREE_NODES + NODES_PER_EDGE * len(graph.edges)
        bare = max(0, len(graph.x) - free) if graph.counted else 0
        if self.bare + bare > MOST_BARE:
            raise Problem(
                f"it has {len(graph.x)} nodes and {len(graph.edges)} edges; expected at most "
                f"{MOST_BARE} nodes without edges in all graphs together"
            )
        graph = graph._replace(x=self.of_nodes.numbers(graph.x))
        if graph.edge_attr is not None:
            graph = graph._replace(edge_attr=self.of_edges.numbers(graph.edge_attr))
        self.node_features = width
        self.bare += bare
        self.nodes += len(graph.x)
        if self.nodes > MOST_IN_ALL:
            raise InputError(
                f"the graphs have more than {MOST_IN_ALL:,} nodes in all, too many to train on at "
                "once; give fewer or smaller graphs."
            )
        self._graphs.append(graph)
        self._loops += bool((graph.edges[:, 0] == graph.edges[:, 1]).any())
        self._edgeless += len(graph.edges) == 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about self-loops and graphs without edges."""
        loops = f"{self._loops} graphs have edges from a node to itself, which are kept."
        edgeless = f"{self._edgeless} graphs have no edges and are kept."
        return ((loops,) if self._loops else ()) + ((edgeless,) if self._edgeless else ())

    def graphs(self, *, directed: bool) -> PackedGraphs:
        """All graphs; with the opposite of every edge unless they are directed."""
        nodes = torch.tensor([len(graph.x) for graph in self._graphs], dtype=torch.long)
        edges = torch.tensor([len(graph.edges) for graph in self._graphs], dtype=torch.long)
        x: list[Rows] = [
            np.zeros((0, self.node_features or 1), np.float32),
            *(g.x for g in self._graphs),
        ]
        ends = [np.zeros((0, 2), np.int64), *(graph.edges for graph in self._graphs)]
        width = self.edge_features or 0
        attr: list[Rows] = [np.zeros((0, width), np.float32)]
        attr += [g.edge_attr for g in self._graphs if g.edge_attr is not None and len(g.edges)]
        packed = PackedGraphs(
            x=torch.from_numpy(np.concatenate(x)),
            edge_index=torch.from_numpy(np.concatenate(ends).T.copy()),
            node_ptr=offsets(nodes),
            edge_ptr=offsets(edges),
            edge_attr=torch.from_numpy(np.concatenate(attr)) if width else None,
        )
        return packed if directed else packed.to_undirected()

    def find(self, train: PackedGraphs) -> Encodings:
        """How to encode the features, by those of the training graphs."""
        edges = train.edge_attr
        return Encodings(
            self.of_nodes.find(train.x.numpy()),
            () if edges is None else self.of_edges.find(edges.numpy()),
        )

    def encode(self, graphs: PackedGraphs, how: Encodings) -> PackedGraphs:
        """The graphs with one feature per category in place of the numbers of their texts."""
        x, edges = self.of_nodes.encode(graphs.x.numpy(), how.nodes), graphs.edge_attr
        return replace(
            graphs,
            x=torch.from_numpy(x),
            edge_attr=None
            if edges is None
            else torch.from_numpy(self.of_edges.encode(edges.numpy(), how.edges)),
        )


def parse_graph(value: dict[str, Any]) -> Graph:
    """Check one object: ``nodes``, ``edges`` and ``edge_features``.

    Raises:
        Problem: If it is not a graph.
    """
    nodes = value.get("nodes")
    if isinstance(nodes, bool) or not isinstance(nodes, (int, list)):
        raise Problem("it has no nodes, expected their number or a list of their features")
    if isinstance(nodes, int):
        if not 0 < nodes <= MOST_NODES:
            raise Problem(f"its number of nodes is {str(nodes)[:20]}, expected 1 to {MOST_NODES}")
        x: Rows = np.ones((nodes, 1), np.float32)
    else:
        x = feature_rows(nodes, "node")
        if not len(x):
            raise Problem("its list of nodes is empty")
    edges = _edges(value.get("edges") or [], len(x))
    features = value.get("edge_features")
    if features is None:
        return Graph(x, edges, None, isinstance(nodes, int))
    attr = feature_rows(features, "edge")
    if len(attr) != len(edges):
        raise Problem(f"it has {len(edges)} edges but features of {len(attr)}")
    return Graph(x, edges, attr, isinstance(nodes, int))


def _edges(pairs: Any, nodes: int) -> NDArray[np.int64]:
    try:
        found = np.array(pairs) if pairs else np.zeros((0, 2), np.int64)
    except (ValueError, OverflowError):
        found = np.zeros(1)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind != "i":
        raise Problem("its edges are not pairs of node numbers such as [[0, 1], [1, 2]]")
    outside = ((found < 0) | (found >= nodes)).any(axis=1)
    if outside.any():
        pair = found[outside.argmax()].tolist()
        raise Problem(f"its edge {pair} has an end outside its nodes 0 to {nodes - 1}")
    return found.astype(np.int64)
