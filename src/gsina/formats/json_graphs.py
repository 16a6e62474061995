"""Graphs from JSON: a file with one graph per line, a file with a list, or a folder of files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gsina.errors import InputError, check_name, readable
from gsina.formats.assemble import Chunk, Rows, assemble, duplicates_warning, file_name
from gsina.formats.encoding import Encodings
from gsina.formats.graph_features import Problem
from gsina.formats.graph_packer import MOST_BARE, Packer, parse_graph
from gsina.formats.table import fingerprint, in_pieces, lines, whole_text
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.folds import Fold
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.splits import RULES, check_rule, divide

#: Size in bytes up to which a JSON list is read; larger data need one graph per line.
LARGEST_LIST = 1 << 30
GRAPH_RULES = tuple(rule for rule in RULES if rule != "scaffold")
#: Keys that make the graph; all others are fields that a split may use.
GRAPH_KEYS = ("nodes", "edges", "edge_features")


class Item(NamedTuple):
    """One graph of a file: its row, its id, and its JSON object or why there is none."""

    number: int
    name: str
    value: dict[str, Any] | None
    problem: str


def read_graphs(
    path: Path | str,
    *,
    split: str = "random",
    split_column: str | None = None,
    kind: TargetKind = "auto",
    seed: int = 0,
    directed: bool = False,
    fold: Sequence[int] | None = None,
) -> Dataset:
    """Read graphs with labels and divide them; see docs/how-to/graphs.md for the format.

    Args:
        path: A ``.jsonl`` file (perhaps with ``.gz``), a ``.json`` file with a list of graphs, or a
            folder of ``.json`` files with one graph each.
        split: ``random``, ``size``, ``column``, ``time`` or ``own``.
        split_column: The field that the last three of them read.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.
        directed: Whether an edge goes one way only; otherwise its opposite is added.
        fold: Number of a fold and number of all folds, to test on that one; the rule must be
            ``random`` or ``column``.

    Raises:
        InputError: One sentence about what is wrong; single graphs that cannot be read are no
            error but ``unreadable``.
    """
    path = Path(path)
    check_rule(split, split_column, GRAPH_RULES)
    tested = Fold.check(fold, split)
    packer = Packer()
    names, rows, fields, unreadable = [], [], [], []
    for item in _items(path):
        try:
            packer.add(parse_graph(_object(item)))
        except Problem as problem:
            unreadable.append((item.number, str(problem)))
            continue
        names.append(item.name)
        rows.append(item.number)
        fields.append({k: v for k, v in (item.value or {}).items() if k not in GRAPH_KEYS})
    if not rows:
        first = f"; the first is {unreadable[0][0]}: {unreadable[0][1]}" if unreadable else ""
        raise InputError(
            f"{path.name} has no graph that can be read{first}; see docs/how-to/graphs.md."
        )
    graphs = packer.graphs(directed=directed)
    labels = read_labels(_targets(fields, rows), rows, kind=kind)
    parts = divide(
        split,
        labels,
        rows,
        graphs=graphs,
        column=split_column,
        cells=_column(fields, split_column, path),
        seed=seed,
        file=path.name,
        fold=tested,
    )
    how = packer.find(graphs[torch.from_numpy(parts.parts["train"])])
    graphs = packer.encode(graphs, how)
    kept = {"encoding": how.json()} if how.nodes or how.edges else {}
    dataset = assemble(
        file_name(path),
        graphs,
        labels,
        parts,
        names=names,
        rows=rows,
        origin=Origin(
            graph_reading(
                graphs, columns={"targets": list(labels.target_names)}, directed=directed, **kept
            ),
            file=path.name,
            fingerprint=_fingerprint(path),
            unreadable=tuple(unreadable),
        ),
        warnings=(
            *_other_files(path),
            *packer.warnings,
            *packer.of_nodes.notes(how.nodes),
            *packer.of_edges.notes(how.edges),
            *duplicates_warning(names, rows, parts, "ids are"),
        ),
        scale=True,
    )
    return replace(dataset, scaling=how.without_marks(dataset.scaling))


def stream_graphs(
    path: Path | str,
    *,
    chunk: int = 2048,
    directed: bool = False,
    node_features: int | None = None,
    edge_features: int | None = None,
    edge_constant: Sequence[float] | None = None,
    encoding: Encodings | None = None,
    notes: list[str] | None = None,
) -> Iterator[Chunk]:
    """Read graphs in chunks; memory does not grow with the length of a ``.jsonl`` file.

    Args:
        path: As in :func:`read_graphs`.
        chunk: Graphs per chunk.
        directed: As in :func:`read_graphs`.
        node_features: Width that node features must have, by default that of the first graph.
        edge_features: Width that edge features must have (0 for none), likewise.
        edge_constant: Features of every edge of a graph without edge features.
        encoding: How features were encoded in training; by default all of them are numbers.
        notes: Gets sentences about categories without a place, when all is read.
    """
    encoding = encoding or Encodings()
    packer = Packer(node_features, edge_features, edge_constant, encoding)
    for piece in _pieces(_items(Path(path)), chunk):
        packer = packer.fresh()
        position, reasons = [], {}
        for place, item in enumerate(piece):
            try:
                packer.add(parse_graph(_object(item)))
                position.append(place)
            except Problem as problem:
                reasons[place] = str(problem)
        yield Chunk(
            rows=[_fields(item) for item in piece],
            graphs=packer.encode(packer.graphs(directed=directed), encoding),
            position=torch.tensor(position, dtype=torch.long),
            reasons=reasons,
            numbers=[item.number for item in piece],
        )
    if notes is not None:
        notes += packer.of_nodes.unseen_notes() + packer.of_edges.unseen_notes()


def _pieces(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of ``size``, or of fewer where their graphs are large."""
    for group in in_pieces(items, size):
        piece: list[Item] = []
        nodes = 0
        for item in group:
            given = (item.value or {}).get("nodes")
            count = len(given) if isinstance(given, list) else given
            count = min(count, MOST_BARE) if isinstance(count, int) else 0
            if piece and nodes + count > MOST_BARE:
                yield piece
                piece, nodes = [], 0
            piece.append(item)
            nodes += count
        yield piece


def read_again(files: Sequence[Path], reading: dict[str, Any], names: str | None) -> Rows:
    """Graphs of a new file; their rows are named by the field ``id``."""
    widths = reading.get("features", {})
    how = Encodings.of_json(reading.get("encoding")) or Encodings()
    notes: list[str] = []
    chunks = stream_graphs(
        files[0],
        directed=bool(reading.get("directed", False)),
        node_features=len(how.nodes) or widths.get("node"),
        edge_features=len(how.edges) or widths.get("edge"),
        edge_constant=reading.get("edge_constant"),
        encoding=how,
        notes=notes,
    )
    return Rows(chunks, "id", field_names(files[0]), notes)


def reading_of(dataset: Dataset) -> dict[str, Any] | None:
    """How to read graphs from JSON, if their features are plain numbers."""
    if dataset.task.level != "graph" or dataset.node_sizes or dataset.edge_sizes:
        return None
    train = dataset.train
    columns = {"targets": list(dataset.target_names) or ["label"]}
    reading = graph_reading(train, columns=columns, directed=not train.undirected)
    edges = train.edge_attr
    if edges is not None and len(edges) and bool((edges == edges[0]).all()):
        reading["edge_constant"] = edges[0].tolist()  # so that new files may leave it out
    return reading


def graph_reading(graphs: PackedGraphs, **more: Any) -> dict[str, Any]:
    """How graphs are read from JSON that have features as wide as these."""
    widths = {"node": graphs.num_features, "edge": graphs.num_edge_features}
    return {"kind": "graphs", "version": 1, **more, "features": widths}


def field_names(path: Path | str) -> list[str]:
    """Columns of the rows of :func:`stream_graphs`: ``id``, and every field that any graph has."""
    names = {"id": None}
    for item in _items(Path(path)):
        names |= dict.fromkeys(name for name in item.value or {} if name not in GRAPH_KEYS)
    return list(names)


def cell(value: Any) -> str:
    """A JSON value as the text of a cell: ``""`` for null, 1 and 0 for true and false."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _items(path: Path) -> Iterator[Item]:
    """All graphs of a file or folder; lines and files that are no JSON come with a problem."""
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise InputError(f"the folder {path} has no .json files; expected one for each graph.")
        for number, file in enumerate(files, start=1):
            try:
                yield _item(number, whole_text(file, LARGEST_LIST), readable(file.stem))
            except InputError as error:  # it costs this file, not the folder
                yield Item(number, readable(file.stem), None, str(error))
        return
    if path.suffix == ".json":
        yield from _list(path)
        return
    if path.suffixes and path.suffixes[0].lower() in (".csv", ".tsv", ".xlsx"):
        raise InputError(
            f"{path.name} is a table; expected graphs: a .jsonl file with one graph per line, or a "
            "folder of .json files."
        )
    for number, line in enumerate(lines(path), start=1):
        if line.strip():
            yield _item(number, line, str(number))


def _other_files(path: Path) -> tuple[str, ...]:
    """One sentence if a folder has files that are not read."""
    if not path.is_dir():
        return ()
    others = sum(file.suffix != ".json" for file in path.iterdir())
    return (f"{others} files of the folder do not end in .json and are not read.",) * bool(others)


def _list(path: Path) -> Iterator[Item]:
    if path.exists() and path.stat().st_size > LARGEST_LIST:
        raise InputError(
            f"{path.name} has {path.stat().st_size:,} bytes; write one graph per line into a "
            ".jsonl file, which is read in chunks."
        )
    try:
        values = json.loads(whole_text(path, LARGEST_LIST))
    except (ValueError, RecursionError) as error:
        if not isinstance(error, (json.JSONDecodeError, RecursionError)):
            raise
        raise InputError(f"{path.name} is not JSON ({error}); expected a list of graphs.") from None
    for number, value in enumerate(values if isinstance(values, list) else [values], start=1):
        yield _named(number, value, str(number))


def _item(number: int, text: str, name: str) -> Item:
    try:
        return _named(number, json.loads(text), name)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers of 5000 digits
        return Item(number, name, None, f"it is not JSON ({error})")


def _named(number: int, value: Any, name: str) -> Item:
    if not isinstance(value, dict):
        found = type(value).__name__
        return Item(number, name, None, f"it is a JSON {found}, expected an object with nodes")
    fields = json.dumps({k: v for k, v in value.items() if k not in GRAPH_KEYS}, ensure_ascii=False)
    if readable(fields) != fields:
        return Item(number, name, None, "it has text with half of a character (a lone surrogate)")
    return Item(number, cell(value.get("id")) or name, value, "")


def _object(item: Item) -> dict[str, Any]:
    if item.value is None:
        raise Problem(item.problem)
    return item.value


def _fields(item: Item) -> dict[str, str]:
    kept = {k: cell(v) for k, v in (item.value or {}).items() if k not in GRAPH_KEYS}
    return {"id": item.name} | kept | {"id": item.name}


def _targets(fields: list[dict[str, Any]], rows: list[int]) -> dict[str, list[str]]:
    """Cells of the field ``label``: one target, or one for each entry of a list."""
    values = [value.get("label") for value in fields]
    widths = Counter(_width(value) for value in values if value is not None)
    width = widths.most_common(1)[0][0] if widths else None
    usual = "a number, text, true, false or null" if width is None else f"a list of {width}"
    for value, row in zip(values, rows, strict=True):
        entries = value if isinstance(value, list) else [value]
        nested = any(isinstance(entry, list | dict) for entry in entries)
        if nested or (value is not None and _width(value) != width):
            raise InputError(
                f"row {row}: label is {json.dumps(value)[:80]}; expected {usual}, as in most rows."
            )
    if width is None:
        return {"label": [cell(value) for value in values]}
    columns = zip(*(value or [None] * width for value in values), strict=True)
    return {f"label {i}": [cell(v) for v in column] for i, column in enumerate(columns, start=1)}


def _width(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


def _column(fields: list[dict[str, Any]], name: str | None, path: Path) -> list[str]:
    if name is None:
        return []
    check_name(name, {key for value in fields for key in value}, f"field of {path.name}")
    return [cell(value.get(name)) for value in fields]


def _fingerprint(path: Path) -> str:
    if not path.is_dir():
        return fingerprint(path)
    files = (file for file in sorted(path.glob("*.json")) if file.is_file())
    parts = "".join(f"{file.name} {fingerprint(file)}\n" for file in files)
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()
