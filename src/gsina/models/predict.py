"""Predict a user's file, row by row, in memory that does not grow with its length."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from gsina.errors import InputError
from gsina.files import write_aside
from gsina.formats import format_of
from gsina.formats.assemble import NodeGraph, Rows
from gsina.graphs.cells import inert
from gsina.models.answers import (
    NOT_FINITE,
    REASON,
    answer_names,
    answers,
    attention,
    free_names,
    spread_cells,
    spread_names,
)
from gsina.models.model import Model
from gsina.models.uncertainty.answers import COVERAGE, coverage_notes, reference_of
from gsina.models.uncertainty.columns import TrustColumns
from gsina.models.uncertainty.conformal import check_coverage
from gsina.models.uncertainty.reference import MOST
from gsina.models.uncertainty.shift import Sample, find_shift
from gsina.training.evaluate import Predictions

#: Called with the number of rows that are done.
OnRows = Callable[[int], None]


@dataclass
class Summary:
    """Counts and times of the prediction of a file.

    Attributes:
        rows: Rows of the file.
        unreadable: Those without a prediction.
        first_reason: Why the first of them could not be read.
        seconds: Total time.
        model_seconds: Time of the model itself.
        notes: What sets and intervals cannot promise, and sentences about tables of nodes, such as
            how many cells were empty.
    """

    rows: int = 0
    unreadable: int = 0
    first_reason: str = ""
    seconds: float = 0.0
    model_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def count_unreadable(self, reasons: dict[int, str]) -> None:
        """Add the rows of a piece that could not be read, by their reasons."""
        self.unreadable += len(reasons)
        self.first_reason = self.first_reason or next(iter(reasons.values()), "")


def predict_files(
    model: Model,
    files: Sequence[Path],
    out: Path,
    *,
    names: str | Sequence[str] | None = None,
    with_attention: bool = False,
    coverage: float | None = None,
    shift: bool = False,
    raw: bool = False,
    on_rows: OnRows | None = None,
) -> Summary:
    """Write one row for every row of a file, in order, with the prediction behind its columns.

    A molecule or graph that cannot be read has an empty prediction and a ``reason``. The file
    appears when all is written; if reading fails at some line, it has the chunks before that line.
    For nodes, the weights of the edges are written beside ``out`` (:func:`edges_file`).

    Args:
        model: The model.
        files: Files as its format has them.
        out: Output file; ``.jsonl`` gives one object per line, all else CSV.
        names: The column that names a row, such as that of the SMILES; by default as in training.
        with_attention: Whether to add the weights of edges and nodes.
        coverage: The share of sets (of classes) or intervals (of numbers) that are to hold the
            truth, by default 0.9; a model of an earlier version has none.
        shift: Whether to weight validation rows by how likely they are among those of the file,
            which is read once more for that.
        raw: Write cells of CSV files as they are, also what a spreadsheet would take for a formula
            (see :func:`~gsina.graphs.cells.inert`).
        on_rows: Called after every chunk of the file.
    """
    summary, began = Summary(), time.perf_counter()
    trust = None
    if model.reference is not None or coverage is not None or shift:
        reference = reference_of(model)  # before a file is read
        trust = TrustColumns(model, check_coverage(COVERAGE if coverage is None else coverage))
        summary.notes = coverage_notes(model, trust.coverage)
        if shift:
            new = _sample_states(model, read_files(model, files, names))
            trust = replace(trust, shift=find_shift(reference.states, new))
    found = read_files(model, files, names)
    if isinstance(found, Rows):
        _predict_rows(model, found, out, with_attention, trust, summary, on_rows, raw)
    else:
        _predict_nodes(model, found, out, with_attention, trust, summary, raw)
    summary.seconds = time.perf_counter() - began
    return summary


def _sample_states(model: Model, found: Rows | NodeGraph) -> Tensor:
    """States of evenly spread rows of a file ``[M, H]``, in memory that does not grow with it."""
    sample = Sample(MOST)
    parts = (found.graphs,) if isinstance(found, NodeGraph) else (c.graphs for c in found.chunks)
    for graphs in parts:
        if len(graphs):
            sample.add(model.predict(graphs, states="label").places)
    return sample.rows()


def read_files(
    model: Model, files: Sequence[Path], names: str | Sequence[str] | None = None
) -> Rows | NodeGraph:
    """Graphs of new files, made as those that the model was trained on."""
    return format_of(model.featuriser).read_again(files, model.reading, names)


Row = tuple[dict[str, str], list[str]]
T = TypeVar("T")


def _predict_rows(
    model: Model,
    rows: Rows,
    out: Path,
    with_attention: bool,
    trust: TrustColumns | None,
    summary: Summary,
    on_rows: OnRows | None,
    raw: bool,
) -> None:
    names = _column_names(model, trust)
    if with_attention:
        names += format_of(model.featuriser).weights
    predicted = _predicted(model, rows, len(names), with_attention, trust, summary, on_rows)
    problems: list[ValueError] = []
    lines = as_far_as_possible(predicted, problems)
    added = [*names, REASON]
    _write(out, lines, added, _texts(model), rows.header, rows.columns, raw=raw)
    summary.notes += rows.notes
    for problem in problems:
        raise InputError(f"{problem} The {summary.rows:,} rows before it are in {out}.")


def as_far_as_possible(rows: Iterable[T], problems: list[ValueError]) -> Iterator[T]:
    """The rows before the first error, which goes to ``problems``, so that they are not lost.

    An error before the first row is raised.
    """
    number = 0
    try:
        for number, row in enumerate(rows, start=1):  # noqa: B007
            yield row
    except InputError as problem:
        if number == 0:
            raise
        problems.append(problem)


def _predicted(
    model: Model,
    rows: Rows,
    width: int,
    with_attention: bool,
    trust: TrustColumns | None,
    summary: Summary,
    on_rows: OnRows | None,
) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Every row with its ``width`` new cells and a reason."""
    for chunk in rows.chunks:
        cells: list[list[str]] = [[""] * width + [""] for _ in chunk.rows]
        for place, reason in chunk.reasons.items():
            cells[place][-1] = reason
        if len(chunk.graphs):
            began = time.perf_counter()
            found = model.predict(chunk.graphs, states=None if trust is None else "label")
            summary.model_seconds += time.perf_counter() - began
            names = [rows.name_of(chunk.rows[place]) for place in chunk.position.tolist()]
            answered = _answered(model, found, trust, names)
            if with_attention:
                weights = attention(chunk.graphs, found)
                answered = [[*row, *more] for row, more in zip(answered, weights, strict=True)]
            lost = _not_finite(found)
            for place, row, bad in zip(chunk.position.tolist(), answered, lost, strict=True):
                cells[place] = [*[""] * width, NOT_FINITE] if bad else [*row, ""]
            summary.count_unreadable({place: NOT_FINITE for place, bad in enumerate(lost) if bad})
        summary.rows += len(chunk.rows)
        summary.count_unreadable(chunk.reasons)
        yield from zip(chunk.rows, cells, strict=True)
        if on_rows is not None:
            on_rows(summary.rows)


def _column_names(model: Model, trust: TrustColumns | None) -> list[str]:
    """Names of the columns that :func:`_answered` fills."""
    return [*answer_names(model), *spread_names(model), *([] if trust is None else trust.names)]


def _answered(
    model: Model, found: Predictions, trust: TrustColumns | None, names: Sequence[str] | None
) -> list[list[str]]:
    """The cells of the predictions, and of how far to trust them."""
    cells = answers(model, found.logits)
    if spread_names(model):
        cells = [[*row, *more] for row, more in zip(cells, spread_cells(model, found), strict=True)]
    if trust is None:
        return cells
    more = trust.cells(found.logits, found.places, names)
    return [[*row, *trusted] for row, trusted in zip(cells, more, strict=True)]


def _not_finite(found: Predictions) -> list[bool]:
    """Which rows have no answer: not all of their logits are finite."""
    lost: list[bool] = (~found.logits.isfinite().all(-1)).tolist()
    return lost


def _predict_nodes(
    model: Model,
    graph: NodeGraph,
    out: Path,
    with_attention: bool,
    trust: TrustColumns | None,
    summary: Summary,
    raw: bool,
) -> None:
    began = time.perf_counter()
    found = model.predict(graph.graphs, states=None if trust is None else "label")
    summary.model_seconds = time.perf_counter() - began
    added = _column_names(model, trust)
    lost = _not_finite(found)
    cells = [
        [*[""] * len(added), NOT_FINITE] if bad else [*row, ""]
        for row, bad in zip(_answered(model, found, trust, None), lost, strict=True)
    ]
    summary.count_unreadable({place: NOT_FINITE for place, bad in enumerate(lost) if bad})
    if with_attention:
        if found.edge is None:
            raise InputError("this model has no attention to write; leave --attention out.")
        if found.node is not None:
            added.append("node_weight")
            weights = [f"{weight:.4f}" for weight in found.node.tolist()]
            cells = [
                [*row[:-1], weight, row[-1]] for row, weight in zip(cells, weights, strict=True)
            ]
        names, ends = graph.names, graph.ends
        edges = (
            (dict(zip(ends, (names[start], names[end]), strict=True)), [f"{weight:.4f}"])
            for (start, end), weight in zip(
                graph.graphs.edge_index.T.tolist(), found.edge.tolist(), strict=True
            )
        )
        _write(edges_file(out), edges, ["weight"], raw=raw)
    _write(out, zip(graph.table, cells, strict=True), [*added, REASON], _texts(model), raw=raw)
    summary.rows = len(graph.names)
    summary.notes += graph.warnings


def edges_file(out: Path) -> Path:
    """Where :func:`predict_files` writes the weights of the edges between nodes."""
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
    without_rows: Sequence[str] = (),
    *,
    raw: bool = False,
) -> None:
    """Rows with new cells as CSV, or as one JSON object per line for ``.jsonl``.

    Args:
        out: The file.
        rows: Old cells by name, and new ones.
        names: Names of the new ones.
        texts: Those of them that are text, not JSON.
        header: Names of the old cells, by default those of the first row.
        without_rows: These names if there are neither rows nor a header.
        raw: Leave cells of CSV as they are.
    """
    shown = (lambda cell: cell) if raw else inert
    lines = out.suffix == ".jsonl"
    added: list[str] | None = None
    with write_aside(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\n")

        def begin(header: Sequence[str]) -> list[str]:
            """Write the header, and give the names of the new cells."""
            free = free_names(names, header)
            if not lines:
                table.writerow(map(shown, [*header, *free]))
            return free

        for row, cells in rows:
            if added is None:
                header = list(row) if header is None else header
                added = begin(header)
            if lines:
                values = [
                    cell or None if name in texts else _json(cell)
                    for name, cell in zip(names, cells, strict=True)
                ]
                line = {**row, **dict(zip(added, values, strict=True))}
                text.write(json.dumps(line, ensure_ascii=False) + "\n")
                continue
            old = (row.get(name, "") for name in header or ())
            table.writerow(map(shown, [*old, *cells]))
        if added is None:
            begin(without_rows if header is None else header)
        text.flush()
        text.detach()


def _json(cell: str) -> Any:
    return None if cell in ("", "nan", "inf", "-inf") else json.loads(cell)
