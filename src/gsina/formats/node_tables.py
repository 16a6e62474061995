"""One graph from two CSV files: a table of nodes and a list of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from gsina.errors import InputError
from gsina.formats import tensor_files
from gsina.formats.assemble import NodeGraph, assemble, file_name
from gsina.formats.edge_lists import BLOCK, EdgeList, check_width, read_edges
from gsina.formats.encoding import Encoding, Encodings, FeatureColumns
from gsina.formats.table import (
    Records,
    check_columns,
    fingerprint,
    header,
    in_pieces,
    records,
    table_rows,
)
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.folds import Fold, fold_parts
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.masks import NODE_SHARES, by_environment
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_rules import Ids, Parts, at_random, by_marks, by_order, filled, times
from gsina.graphs.splits import finish


def read_nodes(
    nodes_csv: Path | str,
    edges_csv: Path | str,
    *,
    id: str = "id",
    label: str = "label",
    source: str = "source",
    target: str = "target",
    environment: str | None = None,
    time: str | None = None,
    split_column: str | None = None,
    features: Sequence[str] | None = None,
    edge_features: Sequence[str] = (),
    directed: bool = False,
    kind: TargetKind = "auto",
    seed: int = 0,
    fold: Sequence[int] | None = None,
) -> Dataset:
    """Read one graph whose nodes have labels, and divide the nodes.

    Every split holds the whole graph with the mask of its own nodes. By ``environment``, sorted,
    the last fifth of the environments is the test and the fifth before it validation; by ``time``,
    the latest 20 % of the nodes and the 20 % before them; by ``split_column``, as it says (an empty
    cell is in no split); otherwise at random.

    Args:
        nodes_csv: Table of nodes.
        edges_csv: Table of edges.
        id: Column of the node ids, of any kind.
        label: Column to predict; empty cells are masked.
        source: Column of the edge list with the id where an edge starts.
        target: Column of the edge list with the id where it ends.
        environment: Column of environments.
        time: Column of numbers or ISO dates.
        split_column: Column with train, val or test.
        features: Columns of node features, numbers or categories; by default all that have no
            other use and are not free text.
        edge_features: Columns of the edge list that are features of edges.
        directed: Whether an edge goes one way only; otherwise its opposite is added.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.
        fold: Number of a fold and number of all folds, to test on that one; at random or by
            ``environment``.

    Raises:
        InputError: One sentence with the row of what is wrong.
    """
    given = {"environment": environment, "time": time, "own": split_column}
    by = {rule: column for rule, column in given.items() if column is not None}
    if len(by) > 1:
        raise InputError(
            f"got {len(by)} columns to split by ({', '.join(by.values())}); expected at most one "
            "of environment, time and split_column."
        )
    uses = {id: "the column of ids", label: "the column to predict"}
    uses |= dict.fromkeys(by.values(), "the column to split by")
    for name in features or ():
        if name in uses:  # A model that sees its label learns nothing else.
            raise InputError(
                f"{name!r} is {uses[name]} and cannot be a feature too; leave it out of the "
                "features (--feature, in Python features=)."
            )
    columns = {"id": id, "source": source, "target": target}
    found = _read(
        Path(nodes_csv), Path(edges_csv), columns, features, edge_features, [label, *by.values()]
    )
    labels = read_labels({label: found.cells[label]}, found.rows, kind=kind, level="node")
    rule, column = next(iter(by.items()), ("random", None))
    tested = Fold.check(fold, rule)
    file = Path(nodes_csv).name
    parts: Parts | None
    left_out: tuple[str, ...] = ()
    if column is None and tested is not None:
        parts = fold_parts(tested, labels, seed, shares=NODE_SHARES)
    elif column is None:
        parts = at_random(labels, seed, NODE_SHARES)
    else:
        there = filled(found.cells[column], found.rows, column, "nodes", file)
        if tested is not None:
            named = [cell.strip() for cell in there.cells]
            parts = fold_parts(tested, labels, seed, named, NODE_SHARES)
        elif rule == "environment":
            parts = by_environment(there.cells, column)
        elif rule == "time":
            parts = by_order(times(there.cells, there.rows, column, file), NODE_SHARES)
        else:
            parts = by_marks(there.cells, there.rows, column, file)
        parts, left_out = there.place(parts), there.notes
    split = finish(
        parts, labels, rule=rule, column=column, seed=seed, shares=NODE_SHARES, fold=tested
    )
    if split.source["used"] != rule:  # it could not be made, so that all nodes are in a split
        left_out = ()
    train = split.parts["train"]
    how = found.find(train[labels.known[train]])
    dataset = assemble(
        file_name(nodes_csv),
        found.graph(how, directed=directed),
        labels,
        split,
        names=found.names,
        rows=found.rows,
        warnings=(*found.told(how), *found.notes, *left_out),
        origin=Origin(
            reading={
                "kind": "nodes",
                "version": 1,
                "columns": columns | {"targets": [label]},
                "directed": directed,
                "features": found.features.names,
                "encoding": how.json(),
            },
            file=file,
            fingerprint=f"{fingerprint(nodes_csv)} {fingerprint(edges_csv)}",
        ),
        scale=bool(how.nodes or how.edges),
    )
    return replace(dataset, scaling=how.without_marks(dataset.scaling))


def read_node_graph(
    nodes_csv: Path | str,
    edges_csv: Path | str,
    *,
    id: str = "id",
    source: str = "source",
    target: str = "target",
    features: Sequence[str] | None = None,
    edge_features: Sequence[str] = (),
    extra: Sequence[str] = (),
    directed: bool = False,
    encoding: Encodings | None = None,
) -> NodeGraph:
    """Read one graph without labels, for instance to predict; arguments as in :func:`read_nodes`.

    Args:
        nodes_csv: Table of nodes.
        edges_csv: Table of edges.
        id: Column of the node ids.
        source: Column of the edge list with the id where an edge starts.
        target: Column of the edge list with the id where it ends.
        features: Columns of node features; by default all others but free text.
        edge_features: Columns of the edge list that are features of edges.
        extra: Further columns, returned as text.
        directed: Whether an edge goes one way only.
        encoding: How the columns were read in training; by default by all rows of these tables.
    """
    columns = {"id": id, "source": source, "target": target}
    found = _read(
        Path(nodes_csv), Path(edges_csv), columns, features, edge_features, extra, encoding
    )
    how = encoding or found.find(np.arange(len(found.names)))
    return NodeGraph(
        graphs=found.graph(how, directed=directed),
        names=tuple(found.names),
        rows=tuple(found.rows),
        features=tuple(found.features.names),
        cells=found.cells,
        warnings=(*found.told(how), *found.notes),
        ends=(source, target),
    )


def read_again(files: Sequence[Path], reading: dict[str, Any], names: str | None) -> NodeGraph:
    """The graph of two new tables; or of a file of tensors, which has no names of features."""
    if len(files) == 1 and not reading.get("features"):
        return tensor_files.read_again(files, reading, names)
    if len(files) != 2:
        raise InputError("this model predicts nodes; give --nodes and --edges.")
    columns = reading["columns"]
    encoding = Encodings.of_json(reading.get("encoding"))
    features = _features(files[0], columns, reading.get("features"))
    found = read_node_graph(
        *files,
        id=columns["id"],
        source=columns["source"],
        target=columns["target"],
        features=features,
        edge_features=[one.name for one in encoding.edges] if encoding else (),
        directed=bool(reading.get("directed", False)),
        encoding=encoding or Encodings(tuple(map(Encoding, features)), strict=True),
    )
    return replace(found, table=(row.cells for row in table_rows(files[0])))


def _features(nodes: Path, columns: dict[str, Any], named: list[str] | None) -> Sequence[str]:
    """The columns that a model was trained on; without names, all but the id and the labels."""
    if named is not None:
        return named
    return [name for name in header(nodes) if name not in (columns["id"], *columns["targets"])]


def reading_of(dataset: Dataset) -> dict[str, Any] | None:
    """How to read two tables, if nodes have plain numbers and edges no features."""
    train = dataset.train
    if dataset.task.level != "node" or dataset.node_sizes or train.num_edge_features:
        return None
    columns = {"id": "id", "source": "source", "target": "target"}
    return {
        "kind": "nodes",
        "version": 1,
        "columns": columns | {"targets": list(dataset.target_names) or ["label"]},
        "directed": not train.undirected,
        "features": None,
    }


class _Tables(NamedTuple):
    """Two tables as they are: what is a feature of which width is decided later.

    Attributes:
        names: Id of every node.
        rows: Its row number.
        cells: Text of the further columns.
        features: Columns of node features.
        edges: The edges.
        notes: Sentences for the user.
    """

    names: list[str]
    rows: list[int]
    cells: dict[str, list[str]]
    features: FeatureColumns
    edges: EdgeList
    notes: tuple[str, ...]

    def find(self, train: Ids) -> Encodings:
        """How to encode features, by the training nodes and all edges."""
        edges = self.edges.features.find(self.edges.kept)
        return Encodings(tuple(self.features.find(train)), tuple(edges))

    def told(self, how: Encodings) -> tuple[str, ...]:
        """Sentences about empty cells and categories."""
        return self.features.notes(how.nodes) + self.edges.features.notes(how.edges)

    def graph(self, how: Encodings, *, directed: bool) -> PackedGraphs:
        """The graph with encoded features; every node gets a constant 1 without any."""
        x = self.features.encode(how.nodes) if how.nodes else torch.ones(len(self.names), 1)
        graphs = PackedGraphs.one(x, self.edges.edge_index, self.edges.encode(how.edges))
        return graphs if directed else graphs.to_undirected()


def _read(
    nodes: Path,
    edges: Path,
    columns: dict[str, str],
    features: Sequence[str] | None,
    edge_features: Sequence[str],
    extra: Sequence[str],
    encoding: Encodings | None = None,
) -> _Tables:
    present, table = records(nodes)
    id = columns["id"]
    check_columns(present, [id, *extra, *(features or ())], nodes)
    advice = "fill it in, as the nodes around it need it too"
    asked = features is not None
    if features is None:
        features = [name for name in present if name not in (id, *extra)]
        advice += ", or name the columns of features to use (--feature, in Python features=)"
    known, strict = (None, False) if encoding is None else (encoding.nodes, encoding.strict)
    read = FeatureColumns(features, nodes, advice, known, strict)
    names, rows, cells = _nodes(nodes, id, extra, read, present, table)
    free = {} if encoding else read.drop_free_text(asked)
    place: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in place or not name:
            raise InputError(
                f"row {rows[index]} of {nodes.name}: the id {name!r} "
                + (f"is that of row {rows[place[name]]}" if name else "is empty")
                + "; expected an id of its own for every node."
            )
        place[name] = index
    ends = (columns["source"], columns["target"])
    edge_how = None if encoding is None else encoding.edges
    found = read_edges(edges, *ends, place, nodes.name, edge_features, edge_how)
    notes = found.notes
    unused = [name for name in present if name not in (id, *extra, *read.names)]
    if unused and encoding is None:
        texts = {name: f" ({count} different texts)" for name, count in free.items()}
        told = ", ".join(f"{name}{texts.get(name, '')}" for name in unused)
        notes = (f"columns of {nodes.name} that are not used: {told}.", *notes)
    if not read.names:
        notes += (f"{nodes.name} has no feature columns; every node gets a constant 1.",)
    return _Tables(names, rows, cells, read, found, notes)


def _nodes(
    path: Path,
    id: str,
    extra: Sequence[str],
    features: FeatureColumns,
    columns: list[str],
    table: Records,
) -> tuple[list[str], list[int], dict[str, list[str]]]:
    """Ids, row numbers and further columns of a node table; fills ``features``."""
    id_place = columns.index(id)
    feature_places = [columns.index(name) for name in features.names]
    extra_places = {name: columns.index(name) for name in extra}
    names: list[str] = []
    rows: list[int] = []
    cells: dict[str, list[str]] = {name: [] for name in extra}
    for block in in_pieces(table, BLOCK):
        check_width(block, path)
        numbers = [row for row, _, _ in block]
        names += [row[id_place].strip() for _, row, _ in block]
        rows += numbers
        for name, place in extra_places.items():
            cells[name] += [row[place] for _, row, _ in block]
        if feature_places:
            features.add([[row[place] for place in feature_places] for _, row, _ in block], numbers)
    if not names:
        raise InputError(f"{path.name} has a header but no rows; expected one row for every node.")
    return names, rows, cells
