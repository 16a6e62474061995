"""Assemble a dataset from graphs, labels and a split, and write warnings about its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gsina.errors import readable
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.labels import Labels
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import find_scaling
from gsina.graphs.splits import Split
from gsina.molecules.mixtures import row_name

#: Rows named in a message; of the others only the number is given.
NAMED = 5
#: Columns named in a message.
MOST_NAMED = 12


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file that is read in chunks.

    Attributes:
        rows: Text of every row, in the order of the file.
        graphs: Graphs of the rows that could be read, without labels.
        position: Index into ``rows`` of every graph ``[readable]``, int64.
        reasons: Why the other rows could not be read, by index into ``rows``.
        numbers: Row number in the file of every row.
    """

    rows: list[dict[str, str]]
    graphs: PackedGraphs
    position: Tensor
    reasons: dict[int, str]
    numbers: list[int]


@dataclass(frozen=True)
class Rows:
    """Graphs of a file that come row by row.

    Attributes:
        chunks: The content of the file in chunks.
        name: The column that names a row, or the columns of its molecules.
        header: All columns; ``None`` if the first row has all of them.
        notes: Sentences that the user should see, complete when all chunks are read.
    """

    chunks: Iterator[Chunk]
    name: str | tuple[str, ...]
    header: list[str] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that name a row."""
        return (self.name,) if isinstance(self.name, str) else self.name

    def name_of(self, row: dict[str, str]) -> str:
        """The name of a row: a cell, or the SMILES of its molecules as one."""
        return row_name([row.get(column, "") for column in self.columns])


@dataclass(frozen=True)
class NodeGraph:
    """One graph without labels whose nodes are to be predicted.

    Attributes:
        graphs: The one graph.
        names: Id of every node.
        rows: Row number of every node in its table.
        features: Names of the feature columns, in the order of ``x``.
        cells: Text of the further columns that were asked for, one entry per node.
        warnings: Sentences that the user should see.
        table: The cells of every row of the table of nodes, in order; just the ids if there is no
            table.
        ends: What the two ends of an edge are called in the user's table.
    """

    graphs: PackedGraphs
    names: tuple[str, ...]
    rows: tuple[int, ...] = ()
    features: tuple[str, ...] = ()
    cells: dict[str, list[str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    table: Iterable[dict[str, str]] = ()
    ends: tuple[str, str] = ("source", "target")


def assemble(
    name: str,
    graphs: PackedGraphs,
    labels: Labels,
    split: Split,
    *,
    names: Sequence[str],
    rows: Sequence[int],
    origin: Origin,
    warnings: Sequence[str] = (),
    node_sizes: tuple[int, ...] = (),
    edge_sizes: tuple[int, ...] = (),
    scale: bool = False,
) -> Dataset:
    """Put graphs, labels and a split together.

    At graph level a split holds some of the graphs; at node level it holds the one graph with the
    mask of its nodes. With ``scale``, the dataset says how to bring its features to one scale.

    Args:
        name: Name of the dataset.
        graphs: All graphs, or the one graph, without labels.
        labels: Labels of all graphs or nodes.
        split: Which of them are in which split.
        names: One name per graph or node.
        rows: Its row in the file.
        origin: Where the data came from; names, rows and the split are added to it.
        warnings: Sentences that the user should see.
        node_sizes: As in :class:`~gsina.graphs.dataset.Dataset`.
        edge_sizes: The same.
        scale: Whether to scale features in training.
    """
    if labels.task.level == "node":
        parts = {part: ids[labels.known[ids]] for part, ids in split.parts.items()}
        whole = replace(graphs, node_y=labels.y)
        splits = {part: replace(whole, mask=_mask(ids, len(names))) for part, ids in parts.items()}
        origin_ids = parts | {"all": np.arange(len(names))}
    else:
        groups = split.environment
        environment = graphs.environment if groups is None else torch.from_numpy(groups)
        whole = replace(graphs, y=labels.y, environment=environment)
        splits = {part: whole[torch.from_numpy(ids)] for part, ids in split.parts.items()}
        origin_ids = dict(split.parts)
    scaled = scale or graphs.graph_attr is not None
    return Dataset(
        name=name,
        task=labels.task,
        splits=splits,
        notes=(
            *unreadable_warning(origin.unreadable),
            *labels.warnings,
            *split.warnings,
            *warnings,
        ),
        node_sizes=node_sizes,
        edge_sizes=edge_sizes,
        scaling=find_scaling(splits["train"]) if scaled and "train" in splits else {},
        target_names=labels.target_names,
        class_names=labels.class_names,
        origin=replace(
            origin,
            names={part: _pick(names, ids) for part, ids in origin_ids.items()},
            rows={part: _pick(rows, ids) for part, ids in origin_ids.items()},
            split=split.source,
        ),
    )


def _mask(ids: np.ndarray[Any, Any], count: int) -> Tensor:
    mask = torch.zeros(count, dtype=torch.bool)
    mask[torch.from_numpy(ids)] = True
    return mask


def unreadable_warning(unreadable: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """One sentence about the rows that were left out, none if there are none."""
    if not unreadable:
        return ()
    row, reason = unreadable[0]
    rows = ", ".join(str(number) for number, _ in unreadable[:NAMED])
    more = f" and {len(unreadable) - NAMED} more" if len(unreadable) > NAMED else ""
    return (
        f"{len(unreadable)} rows could not be read and are left out: {rows}{more}; row {row}: "
        f"{reason}.",
    )


def unused_warning(present: Iterable[str], used: Iterable[str], path: Path) -> tuple[str, ...]:
    """One sentence that names the columns of a table without a use, none if there are none."""
    known = set(used)
    names = [name for name in present if name not in known]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    told = ", ".join(names[:MOST_NAMED])
    return (f"columns of {path.name} that are not used: {told}{more}.",) * bool(names)


def duplicates_warning(
    keys: Sequence[str], rows: Sequence[int], split: Split, what: str
) -> tuple[str, ...]:
    """One sentence if the same thing is in two splits, none otherwise."""
    first: dict[str, tuple[str, int]] = {}
    shared: dict[str, str] = {}
    for part, ids in split.parts.items():
        for place in ids.tolist():
            other, row = first.setdefault(keys[place], (part, rows[place]))
            if other != part:
                shared.setdefault(
                    keys[place], f"row {row} ({other}) and row {rows[place]} ({part})"
                )
    if not shared:
        return ()
    return (
        f"{len(shared)} {what} in more than one split, the first in {next(iter(shared.values()))}; "
        "scores on them flatter the model.",
    )


def file_name(path: Path | str) -> str:
    """The name of a file without its endings, as the name of a dataset."""
    return readable(Path(path).name.split(".")[0]) or "data"


def _pick(values: Sequence[Any], ids: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return tuple(values[place] for place in ids.tolist())
