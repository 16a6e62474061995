"""States of a user's file for other tools, row by row, in memory that does not grow with it."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.files import write_aside
from gsina.formats.assemble import Chunk, Rows
from gsina.graphs.cells import inert
from gsina.graphs.packed import PackedGraphs
from gsina.models.described import blank_graph
from gsina.models.model import Model
from gsina.models.predict import OnRows, Summary, as_far_as_possible, read_files

#: Endings of the files that can be written.
SUFFIXES = (".npy", ".csv", ".parquet")
#: Names of the columns that say where a node is from.
ROW, NODE = "row", "node"


@dataclass(frozen=True)
class Block:
    """Some rows of the output.

    Attributes:
        states: One row each ``[M, H]``, float32; NaN where a row of the file cannot be read.
        columns: What names them, by column.
    """

    states: NDArray[np.float32]
    columns: dict[str, list[Any]]


Write = Callable[[Block], None]


def embed_files(
    model: Model,
    files: Sequence[Path],
    out: Path,
    *,
    names: str | Sequence[str] | None = None,
    nodes: bool = False,
    raw: bool = False,
    on_rows: OnRows | None = None,
) -> Summary:
    """Write the states that the model predicts from (:meth:`~gsina.models.model.Model.embed`).

    One row for every row of the file, in order; a molecule or graph that cannot be read has NaN.
    With ``nodes``, one row for every node of every graph, and one of NaN for a graph that cannot be
    read. A table (``.csv``, ``.parquet``) begins with the column that names a row, or with ``row``
    and ``node``, counted from 0, ``node`` -1 where there is none; beside an array ``.npy`` these
    two go to :func:`index_file`. In CSV, names that a spreadsheet would run begin with an
    apostrophe (:func:`~gsina.graphs.cells.inert`). The file appears when all is written; if reading
    fails at some line, it has the chunks before that line.

    Args:
        model: The model.
        files: Files as its format has them.
        out: Output file, by its ending.
        names: The column that names a row, such as that of the SMILES; by default as in training.
        nodes: Write node states; those of models of nodes always are.
        raw: Leave cells of CSV as they are.
        on_rows: Called after every chunk of the file.

    Raises:
        InputError: Reading fails, or Parquet is asked for without pyarrow.
    """
    check_parquet(out)
    summary, began = Summary(), time.perf_counter()
    found = read_files(model, files, names)
    problems: list[ValueError] = []
    if isinstance(found, Rows):
        blocks = as_far_as_possible(_of_rows(model, found, nodes, summary, on_rows), problems)
    else:
        states = _timed(model, found.graphs, False, summary)
        summary.rows = len(found.names)
        blocks = iter([Block(states, {"id": list(found.names)})])
    with _writer(out, index=nodes and isinstance(found, Rows), raw=raw) as write:
        for block in blocks:
            write(block)
    for problem in problems:
        raise InputError(f"{problem} The {summary.rows:,} rows before it are in {out}.")
    summary.seconds = time.perf_counter() - began
    return summary


def index_file(out: Path) -> Path:
    """Where the row and the node of every row of node states are, beside an array."""
    return out.with_name(f"{out.stem}-index.npy")


def check_parquet(out: Path) -> None:
    """Refuse Parquet early if pyarrow is not installed."""
    if out.suffix.lower() != ".parquet":
        return
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(
            "writing .parquet needs pyarrow, which is not installed; pip install pyarrow, or "
            "write .npy or .csv."
        ) from None


def _of_rows(
    model: Model, rows: Rows, nodes: bool, summary: Summary, on_rows: OnRows | None
) -> Iterator[Block]:
    width = _width(model, nodes)
    for chunk in rows.chunks:
        states = np.zeros((0, width), np.float32)
        if len(chunk.graphs):
            states = _timed(model, chunk.graphs, nodes, summary)
        make = _by_node if nodes else _by_row
        yield make(chunk, states, rows.columns, summary.rows)
        summary.rows += len(chunk.rows)
        summary.count_unreadable(chunk.reasons)
        if on_rows is not None:
            on_rows(summary.rows)
    if not summary.rows:  # the columns alone
        heads = (ROW, NODE) if nodes else rows.columns
        yield Block(np.zeros((0, width), np.float32), {name: [] for name in heads})


def _by_row(
    chunk: Chunk, states: NDArray[np.float32], columns: tuple[str, ...], first: int
) -> Block:
    every = np.full((len(chunk.rows), states.shape[1]), np.nan, np.float32)
    every[chunk.position.numpy()] = states
    names = {name: [row.get(name, "").strip() for row in chunk.rows] for name in columns}
    return Block(every, names)


def _by_node(
    chunk: Chunk, states: NDArray[np.float32], columns: tuple[str, ...], first: int
) -> Block:
    counts = np.ones(len(chunk.rows), np.int64)  # one row of NaN for a graph that is not there
    counts[chunk.position.numpy()] = chunk.graphs.node_ptr.diff().numpy()
    place = np.repeat(np.arange(len(counts)), counts)
    node = np.arange(len(place)) - np.repeat(counts.cumsum() - counts, counts)
    lost = np.isin(place, list(chunk.reasons))
    every = np.full((len(place), states.shape[1]), np.nan, np.float32)
    every[~lost] = states
    where = {ROW: (first + place).tolist(), NODE: np.where(lost, -1, node).tolist()}
    return Block(every, where)


def _timed(
    model: Model, graphs: PackedGraphs, nodes: bool, summary: Summary
) -> NDArray[np.float32]:
    began = time.perf_counter()
    states = model.embed(graphs, nodes=nodes)
    summary.model_seconds += time.perf_counter() - began
    return states


def _width(model: Model, nodes: bool) -> int:
    """Width H of the states: that of a graph of one node, as a file may begin with no graph."""
    return int(model.embed(blank_graph(model.architecture), nodes=nodes).shape[1])


@contextmanager
def _writer(out: Path, index: bool, raw: bool = False) -> Iterator[Write]:
    """Writes blocks to a file of any of the endings."""
    suffix = out.suffix.lower()
    if suffix == ".npy" and index:
        with write_aside(index_file(out)) as places, _npy(places, np.int64) as put:

            def write_both(block: Block) -> None:
                write(block)
                put(np.array([block.columns[ROW], block.columns[NODE]], np.int64).T)

            with _writer(out, index=False) as write:
                yield write_both
        return
    with write_aside(out) as file:
        if suffix == ".npy":
            with _npy(file, np.float32) as put:
                yield lambda block: put(block.states)
        elif suffix == ".csv":
            yield from _csv(file, raw)
        else:
            yield from _parquet(file)


@contextmanager
def _npy(file: IO[bytes], kind: Any) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Appends rows to an array in NumPy's format, whose header says at last how many they are."""
    shape = [0, 0]

    def header() -> int:
        form = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, form)  # with room for the rows to grow
        return file.tell()

    starts: list[int] = []

    def put(rows: NDArray[Any]) -> None:
        if not starts:
            shape[1] = rows.shape[1]
            starts.append(header())
        file.write(np.ascontiguousarray(rows, kind).tobytes())
        shape[0] += len(rows)

    yield put
    file.seek(0)
    end = header()
    if starts and end != starts[0]:
        raise RuntimeError("the header of the array has changed its length")
    file.seek(0, io.SEEK_END)


def _state_names(width: int) -> list[str]:
    return [f"state_{place}" for place in range(width)]


def _csv(file: IO[bytes], raw: bool) -> Iterator[Write]:
    shown = str if raw else inert
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    table = csv.writer(text, lineterminator="\n")
    begun: list[bool] = []

    def write(block: Block) -> None:
        if not begun:
            columns = map(shown, block.columns)
            table.writerow([*columns, *_state_names(block.states.shape[1])])
            begun.append(True)
        cells = ([f"{value:.7g}" for value in row] for row in block.states.tolist())
        for *names, row in zip(*block.columns.values(), cells, strict=True):
            table.writerow([*(shown(str(name)) for name in names), *row])

    yield write
    text.flush()
    text.detach()


def _parquet(file: IO[bytes]) -> Iterator[Write]:
    import pyarrow
    from pyarrow import parquet

    opened: list[Any] = []

    def write(block: Block) -> None:
        named = zip(_state_names(block.states.shape[1]), block.states.T, strict=True)
        states = {name: pyarrow.array(np.ascontiguousarray(column)) for name, column in named}
        table = pyarrow.table({**block.columns, **states})
        if not opened:
            opened.append(parquet.ParquetWriter(file, table.schema))
        opened[0].write_table(table)

    yield write
    for writer in opened:
        writer.close()
