"""A table of edges: pairs of node ids, and features of the edges."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.formats.encoding import Encoding, FeatureColumns
from gsina.formats.table import check_columns, in_pieces, records

#: Rows converted to numbers at a time.
BLOCK = 8192


class EdgeList(NamedTuple):
    """Edges between nodes.

    Attributes:
        edge_index: Ends of every edge as node numbers ``[2, E]``, each edge once.
        kept: Rows of the table that they come from ``[E]``, int64.
        features: Features of all rows of the table.
        notes: Sentences about the edges.
    """

    edge_index: Tensor
    kept: NDArray[np.int64]
    features: FeatureColumns
    notes: tuple[str, ...]

    def encode(self, how: Sequence[Encoding]) -> Tensor | None:
        """Features of the edges ``[E, D]``; ``None`` without columns of features."""
        return self.features.encode(how)[torch.from_numpy(self.kept)] if how else None


def read_edges(
    path: Path,
    source: str,
    target: str,
    place: dict[str, int],
    table: str,
    features: Sequence[str] = (),
    known: Sequence[Encoding] | None = None,
) -> EdgeList:
    """Read the edges of a table.

    Args:
        path: The table.
        source: Column of the id where an edge starts.
        target: Column of the id where it ends.
        place: Number of every node by its id.
        table: Name of the table of nodes, for messages.
        features: Columns of edge features, numbers or categories.
        known: How those were read in training, if these are not training edges.
    """
    columns, rows = records(path)
    check_columns(columns, [source, target, *features], path)
    for name in features:
        if name in (source, target):
            raise InputError(
                f"{name!r} is an end of the edges and cannot be a feature too; leave it out of the "
                "features (--edge-feature, in Python edge_features=)."
            )
    advice = "correct the cell, or leave the column out of the features (--edge-feature)"
    read = FeatureColumns(features, path, advice, known)
    feature_places = [columns.index(name) for name in features]
    ends_of = itemgetter(columns.index(source), columns.index(target))
    blocks: list[NDArray[np.int64]] = []
    numbers: list[int] = []
    lost, first_lost = 0, ""
    for block in in_pieces(rows, BLOCK):
        check_width(block, path)
        numbers += [row for row, _, _ in block]
        texts = [ends_of(row) for _, row, _ in block]
        if features:
            cells = [[row[number] for number in feature_places] for _, row, _ in block]
            read.add(cells, [row for row, _, _ in block])
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
    if known is None:
        read.drop_free_text(asked=True)
    others = [name for name in columns if name not in (source, target, *features)]
    if others and known is None:
        notes.append(
            f"columns of {path.name} that are not used: {', '.join(others)} (--edge-feature makes "
            "one a feature)."
        )
    kept = np.flatnonzero(new)
    return EdgeList(torch.from_numpy(ends[kept].T.copy()), kept, read, tuple(notes))


def check_width(block: Sequence[tuple[int, list[str], Any]], path: Path) -> None:
    """Refuse a row that does not fit the header: the nodes around it need it."""
    for row, _, problem in block:
        if problem:
            raise InputError(f"row {row} of {path.name}: {problem}; correct the row.")
