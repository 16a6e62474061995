"""Predict a user's file, row by row, in memory that does not grow with its length."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.files import write_aside
from gsina.formats import Chunk, read_graph_file, read_node_graph, stream_graphs, stream_molecules
from gsina.formats.json_graphs import field_names
from gsina.formats.table import table_rows
from gsina.graphs.packed import PackedGraphs
from gsina.models.answers import (
    REASON,
    answer_names,
    answers,
    attention,
    attention_names,
    free_names,
)
from gsina.models.model import Model

#: Called with the number of rows that are done.
OnRows = Callable[[int], None]
#: Kinds of graphs that come row by row.
STREAMED = ("molecules", "graphs")


@dataclass
class Summary:
    """What a prediction of a file came to.

    Attributes:
        rows: Rows of the file.
        unreadable: Those without a prediction.
        seconds: Time in all.
        model_seconds: Time of the model itself.
    """

    rows: int = 0
    unreadable: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0


def predict_file(
    model: Model,
    path: Path,
    out: Path,
    *,
    smiles: str | None = None,
    with_attention: bool = False,
    on_rows: OnRows | None = None,
) -> Summary:
    """Write one row for every row of a file, in order, with the prediction behind its columns.

    A row that cannot be read has an empty prediction and a ``reason``. The file appears when all is
    written; if the file cannot be read on from some line, with the pieces before it.

    Args:
        model: A model of molecules or graphs.
        path: The file.
        out: Where to; ``.jsonl`` gives one object a line, all else CSV.
        smiles: Column of the SMILES; by default that of the training file.
        with_attention: Whether to add the weights of edges and nodes.
        on_rows: Called after every piece of the file.
    """
    summary, began = Summary(), time.perf_counter()
    names = answer_names(model) + (attention_names(model) if with_attention else [])
    rows = _predicted(model, chunks(model, path, smiles), with_attention, summary, on_rows)
    # A table of molecules has a header; the fields of JSON are known when all of it was seen.
    header = None if model.featuriser.get("kind") == "molecules" else field_names(path)
    problems: list[ValueError] = []
    _write(out, _as_far_as_possible(rows, problems), [*names, REASON], _texts(model), header)
    for problem in problems:
        raise InputError(f"{problem} The {summary.rows:,} rows before it are in {out}.")
    summary.seconds = time.perf_counter() - began
    return summary


Row = tuple[dict[str, str], list[str]]


def _as_far_as_possible(rows: Iterable[Row], problems: list[ValueError]) -> Iterator[Row]:
    """The rows up to a line that nothing can be read behind; what is predicted is not lost.

    A file that has nothing before such a line is an error at once.
    """
    number = 0
    try:
        for number, row in enumerate(rows, start=1):  # noqa: B007
            yield row
    except ValueError as problem:
        if number == 0:
            raise
        problems.append(problem)


def name_column(model: Model, smiles: str | None = None) -> str:
    """The column that names a row: the SMILES of a molecule, the id of a graph."""
    if model.featuriser.get("kind") != "molecules":
        if smiles is not None:
            raise InputError("--smiles is for models of molecules; leave it out.")
        return "id"
    return smiles or str(model.featuriser["columns"]["smiles"])


def chunks(model: Model, path: Path, smiles: str | None = None) -> Iterator[Chunk]:
    """The graphs of a file, piece by piece, made as those that the model was trained on."""
    kind = model.featuriser.get("kind")
    column = name_column(model, smiles)
    if kind == "molecules":
        return stream_molecules(path, column)
    if kind == "graphs":
        widths = model.featuriser.get("features", {})
        return stream_graphs(
            path,
            directed=bool(model.featuriser.get("directed", False)),
            node_features=widths.get("node"),
            edge_features=widths.get("edge"),
        )
    raise InputError(
        f"this model was trained on {kind}, which do not come from a file row by row; use it from "
        "Python with gsina.load_model."
    )


def _predicted(
    model: Model,
    pieces: Iterable[Chunk],
    with_attention: bool,
    summary: Summary,
    on_rows: OnRows | None,
) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Every row with its new cells."""
    width = len(answer_names(model)) + (2 if with_attention else 0)
    for piece in pieces:
        cells: list[list[str]] = [[""] * width + [""] for _ in piece.rows]
        for place, reason in piece.reasons.items():
            cells[place][-1] = reason
        if len(piece.graphs):
            began = time.perf_counter()
            found = model.predict(piece.graphs)
            summary.model_seconds += time.perf_counter() - began
            told = answers(model, found.logits)
            if with_attention:
                weights = attention(piece.graphs, found)
                told = [[*row, *more] for row, more in zip(told, weights, strict=True)]
            for place, row in zip(piece.position.tolist(), told, strict=True):
                cells[place][:width] = row
        summary.rows += len(piece.rows)
        summary.unreadable += len(piece.reasons)
        yield from zip(piece.rows, cells, strict=True)
        if on_rows is not None:
            on_rows(summary.rows)


def predict_nodes(
    model: Model, files: Sequence[Path], out: Path, *, with_attention: bool = False
) -> Summary:
    """Write one row for every node of a graph, in the order of its table.

    Args:
        model: A model of nodes.
        files: The table of nodes and that of edges; or one file of tensors.
        out: Where to.
        with_attention: Whether to add the weight of the node, and to write the weights of the
            edges beside ``out`` as ``<out>-edges.csv``.
    """
    summary, began = Summary(), time.perf_counter()
    graphs, names, _ = node_graph(model, files)
    rows: Iterator[dict[str, str]] = (
        (row.cells for row in table_rows(files[0]))
        if "columns" in model.featuriser
        else ({"id": name} for name in names)
    )
    began_model = time.perf_counter()
    found = model.predict(graphs)
    summary.model_seconds = time.perf_counter() - began_model
    cells = [[*row, ""] for row in answers(model, found.logits)]
    added = answer_names(model)
    if with_attention:
        if found.edge is None:
            raise InputError("this model has no attention to write; leave --attention out.")
        if found.node is not None:
            added.append("node_weight")
            weights = [f"{weight:.4f}" for weight in found.node.tolist()]
            cells = [[*row[:-1], weight, ""] for row, weight in zip(cells, weights, strict=True)]
        edges = (
            ({"source": names[start], "target": names[end]}, [f"{weight:.4f}"])
            for (start, end), weight in zip(
                graphs.edge_index.T.tolist(), found.edge.tolist(), strict=True
            )
        )
        _write(edges_file(out), edges, ["weight"])
    _write(out, zip(rows, cells, strict=True), [*added, REASON], _texts(model))
    summary.rows = len(names)
    summary.seconds = time.perf_counter() - began
    return summary


def node_graph(
    model: Model, files: Sequence[Path]
) -> tuple[PackedGraphs, Sequence[str], Sequence[str]]:
    """The graph of the files, the names of its nodes, and what to tell of it."""
    told = model.featuriser
    if "columns" not in told:
        if len(files) != 1:
            raise InputError("this model was trained on a file of tensors; give one such file.")
        graphs = read_graph_file(files[0])
        return graphs, [str(node) for node in range(graphs.x.size(0))], ()
    if len(files) != 2:
        raise InputError("this model predicts nodes; give --nodes and --edges.")
    columns = told["columns"]
    graph = read_node_graph(
        *files,
        id=columns["id"],
        source=columns["source"],
        target=columns["target"],
        features=told.get("features"),
        directed=bool(told.get("directed", False)),
    )
    return graph.graphs, graph.names, graph.warnings


def edges_file(out: Path) -> Path:
    """Where :func:`predict_nodes` writes the weights of the edges."""
    return out.with_name(f"{out.stem}-edges.csv")


def _texts(model: Model) -> set[str]:
    """The new columns that are text; all others are numbers or lists of them."""
    return {REASON} if model.task.kind == "regression" else {REASON, "prediction"}


def _write(
    out: Path,
    rows: Iterable[tuple[dict[str, str], list[str]]],
    names: Sequence[str],
    texts: Collection[str] = (),
    header: Sequence[str] | None = None,
) -> None:
    """Rows with new cells as CSV, or as one JSON object a line for ``.jsonl``.

    Args:
        out: The file.
        rows: Old cells by name, and new ones.
        names: Names of the new ones.
        texts: Those of them that are no JSON.
        header: Names of the old cells, by default those of the first row.
    """
    lines = out.suffix == ".jsonl"
    added: list[str] = []
    with write_aside(out) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\n")
        for number, (row, cells) in enumerate(rows):
            if number == 0:
                header = list(row) if header is None else header
                added = free_names(names, header)
                if not lines:
                    table.writerow([*header, *added])
            if lines:
                values = [
                    cell or None if name in texts else _json(cell)
                    for name, cell in zip(names, cells, strict=True)
                ]
                line = {**row, **dict(zip(added, values, strict=True))}
                text.write(json.dumps(line, ensure_ascii=False) + "\n")
                continue
            table.writerow([*(row.get(name, "") for name in header or ()), *cells])
        text.flush()
        text.detach()


def _json(cell: str) -> Any:
    return json.loads(cell) if cell else None
