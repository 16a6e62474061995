"""One graph from two CSV files: a table of nodes and a list of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.formats import tensor_files
from gsina.formats.assemble import NodeGraph, assemble, file_name
from gsina.formats.table import (
    Records,
    check_columns,
    fingerprint,
    header,
    in_pieces,
    records,
    table_rows,
)
from gsina.graphs.cells import number
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.masks import NODE_SHARES, by_environment
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_rules import Parts, at_random, by_marks, by_order, times
from gsina.graphs.splits import finish

#: Rows converted to numbers at a time.
BLOCK = 8192


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
    directed: bool = False,
    kind: TargetKind = "auto",
    seed: int = 0,
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
        features: Columns of node features; by default all that have no other use.
        directed: Whether an edge goes one way only; otherwise its opposite is added.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.

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
    found = read_node_graph(
        nodes_csv,
        edges_csv,
        id=id,
        source=source,
        target=target,
        features=features,
        extra=[label, *by.values()],
        directed=directed,
    )
    labels = read_labels({label: found.cells[label]}, found.rows, kind=kind, level="node")
    rule, column = next(iter(by.items()), ("random", None))
    file = Path(nodes_csv).name
    cells, warnings = found.cells.get(column or "", []), found.warnings
    parts: Parts | None
    if rule == "environment":
        parts = by_environment(cells, found.rows, str(column), file)
    elif rule == "time":
        parts = by_order(times(cells, found.rows, str(column), file), NODE_SHARES)
    elif rule == "own":
        parts = by_marks(cells, found.rows, str(column), gaps=True, file=file)
        if empty := sum(not cell.strip() for cell in cells):
            warnings += (f"{empty} nodes have an empty {column!r} and are in no split.",)
    else:
        parts = at_random(labels, seed, NODE_SHARES)
    split = finish(parts, labels, rule=rule, column=column, seed=seed, shares=NODE_SHARES)
    return assemble(
        file_name(nodes_csv),
        found.graphs,
        labels,
        split,
        names=found.names,
        rows=found.rows,
        warnings=warnings,
        origin=Origin(
            reading={
                "kind": "nodes",
                "version": 1,
                "columns": {"id": id, "targets": [label], "source": source, "target": target},
                "directed": directed,
                "features": list(found.features),
            },
            file=file,
            fingerprint=f"{fingerprint(nodes_csv)} {fingerprint(edges_csv)}",
        ),
        scale=bool(found.features),
    )


def read_node_graph(
    nodes_csv: Path | str,
    edges_csv: Path | str,
    *,
    id: str = "id",
    source: str = "source",
    target: str = "target",
    features: Sequence[str] | None = None,
    extra: Sequence[str] = (),
    directed: bool = False,
) -> NodeGraph:
    """Read one graph without labels, for instance to predict; arguments as in :func:`read_nodes`.

    Args:
        nodes_csv: Table of nodes.
        edges_csv: Table of edges.
        id: Column of the node ids.
        source: Column of the edge list with the id where an edge starts.
        target: Column of the edge list with the id where it ends.
        features: Columns of node features; by default all others.
        extra: Further columns, returned as text.
        directed: Whether an edge goes one way only.
    """
    nodes_path, edges_path = Path(nodes_csv), Path(edges_csv)
    columns, table = records(nodes_path)
    check_columns(columns, [id, *extra, *(features or ())], nodes_path)
    advice = "fill it in, as the nodes around it need it too"
    if features is None:
        features = [name for name in columns if name not in (id, *extra)]
        advice += ", or name the columns of numbers to use (--feature, in Python features=)"
    x, names, rows, cells = _nodes(
        table, columns, id, list(features), list(extra), nodes_path, advice
    )
    place: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in place or not name:
            raise InputError(
                f"row {rows[index]} of {nodes_path.name}: the id {name!r} "
                + (f"is that of row {rows[place[name]]}" if name else "is empty")
                + "; expected an id of its own for every node."
            )
        place[name] = index
    edge_index, warnings = _edges(edges_path, source, target, place, nodes_path.name)
    if not features:
        warnings += (f"{nodes_path.name} has no feature columns; every node gets a constant 1.",)
    graphs = PackedGraphs.one(x, edge_index)
    return NodeGraph(
        graphs=graphs if directed else graphs.to_undirected(),
        names=tuple(names),
        rows=tuple(rows),
        features=tuple(features),
        cells=cells,
        warnings=warnings,
    )


def read_again(files: Sequence[Path], reading: dict[str, Any], names: str | None) -> NodeGraph:
    """The graph of two new tables; or of a file of tensors, which has no names of features."""
    if len(files) == 1 and not reading.get("features"):
        return tensor_files.read_again(files, reading, names)
    if len(files) != 2:
        raise InputError("this model predicts nodes; give --nodes and --edges.")
    columns = reading["columns"]
    found = read_node_graph(
        *files,
        id=columns["id"],
        source=columns["source"],
        target=columns["target"],
        features=_features(files[0], columns, reading.get("features")),
        directed=bool(reading.get("directed", False)),
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


def _nodes(
    table: Records,
    columns: list[str],
    id: str,
    features: list[str],
    extra: list[str],
    path: Path,
    advice: str,
) -> tuple[Tensor, list[str], list[int], dict[str, list[str]]]:
    """Features, ids, row numbers and further columns of a node table."""
    id_place = columns.index(id)
    feature_places = [columns.index(name) for name in features]
    extra_places = {name: columns.index(name) for name in extra}
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    rows: list[int] = []
    cells: dict[str, list[str]] = {name: [] for name in extra}
    for block in in_pieces(table, BLOCK):
        _check_width(block, path)
        numbers = [row for row, _, _ in block]
        names += [row[id_place].strip() for _, row, _ in block]
        rows += numbers
        for name, place in extra_places.items():
            cells[name] += [row[place] for _, row, _ in block]
        if features:
            texts = [[row[place] for place in feature_places] for _, row, _ in block]
            blocks.append(_numbers(texts, numbers, features, path, advice))
    if not names:
        raise InputError(f"{path.name} has a header but no rows; expected one row for every node.")
    x = torch.from_numpy(np.concatenate(blocks)) if blocks else torch.ones(len(names), 1)
    return x, names, rows, cells


def _numbers(
    texts: list[list[str]], rows: list[int], features: list[str], path: Path, advice: str
) -> NDArray[np.float32]:
    """Cells of a block as numbers ``[rows, features]``, or an error about the first wrong one."""
    try:
        with np.errstate(over="ignore"):  # Reported below.
            values = np.array(texts).astype(np.float32)
    except ValueError:
        values = np.full((1, 1), np.nan, dtype=np.float32)
    if np.isfinite(values).all():
        return values
    for row, cells in zip(rows, texts, strict=True):
        for name, cell in zip(features, cells, strict=True):
            if number(cell) is None:
                what = f"is {cell!r}" if cell.strip() else "is empty"
                raise InputError(
                    f"row {row} of {path.name}: the feature {name!r} {what}, expected a number; "
                    f"{advice}."
                )
    row, place = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
    raise InputError(
        f"row {rows[row]} of {path.name}: the feature {features[place]!r} is {texts[row][place]}, "
        "which is too large for 32 bits; scale it down."
    )


def _edges(
    path: Path, source: str, target: str, place: dict[str, int], table: str
) -> tuple[Tensor, tuple[str, ...]]:
    """Edges ``[2, E]`` as node numbers, each once, and warnings about them."""
    columns, rows = records(path)
    check_columns(columns, [source, target], path)
    ends_of = itemgetter(columns.index(source), columns.index(target))
    blocks: list[NDArray[np.int64]] = []
    numbers: list[int] = []
    lost, first_lost = 0, ""
    for block in in_pieces(rows, BLOCK):
        _check_width(block, path)
        numbers += [row for row, _, _ in block]
        texts = [ends_of(row) for _, row, _ in block]
        ends = np.array([[place.get(end.strip(), -1) for end in pair] for pair in texts])
        if (ends < 0).any():
            first, side = (int(index) for index in np.argwhere(ends < 0)[0])
            first_lost = first_lost or (
                f"row {block[first][0]} of {path.name}: {(source, target)[side]} is "
                f"{texts[first][side]!r}, which is no id in {table}"
            )
            lost += int((ends < 0).any(axis=1).sum())
        blocks.append(ends)
    if lost:
        more = f" ({lost:,} rows have such an end in all)" if lost > 1 else ""
        raise InputError(f"{first_lost}{more}; add the missing nodes or leave such edges out.")
    if not blocks:
        raise InputError(
            f"{path.name} has no edges below its header; add a row for every edge, with the ids of "
            "the two nodes that it joins."
        )
    ends = np.concatenate(blocks)
    _, first_of = np.unique(ends[:, 0] * len(place) + ends[:, 1], return_index=True)
    new = np.zeros(len(ends), dtype=bool)
    new[first_of] = True
    notes: list[str] = []
    if repeats := int((~new).sum()):
        row = numbers[int(new.argmin())]
        notes.append(
            f"{repeats} rows of {path.name} repeat an edge, which counts once; the first is row "
            f"{row}."
        )
    loops = new & (ends[:, 0] == ends[:, 1])
    if loops.any():
        row = numbers[int(loops.argmax())]
        notes.append(
            f"{int(loops.sum())} edges of {path.name} lead from a node to itself and are kept; the "
            f"first is row {row}."
        )
    ends = ends[new]
    if others := [name for name in columns if name not in (source, target)]:
        notes.append(f"columns of {path.name} that are not used: {', '.join(others)}.")
    return torch.from_numpy(ends.T.copy()), tuple(notes)


def _check_width(block: Sequence[tuple[int, list[str], Any]], path: Path) -> None:
    for row, _, problem in block:
        if problem:
            raise InputError(f"row {row} of {path.name}: {problem}; correct the row.")
