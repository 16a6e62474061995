"""What reading a user's file gives: splits, where each graph came from, and what to tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gsina.graphs.dataset import Dataset
from gsina.graphs.labels import Labels
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import find_scaling
from gsina.graphs.splits import Split
from gsina.molecules.features import FEATURIZER_VERSION

#: Rows that a message names before it says how many more there are.
NAMED = 5
#: What of a source is needed to read another file like it.
READING = ("columns", "directed", "features")


@dataclass(frozen=True)
class OwnData:
    """A user's data, ready for training.

    Attributes:
        dataset: Splits ``train``, ``val``, ``test`` (out of distribution) and, where it could be
            held out, ``id_test`` (drawn like ``train``).
        names: SMILES or id of every graph of each split, in order. At node level, of every node
            that counts there; ``"all"`` has every node of the table.
        rows: Row number in the file, in the same order; the header of a CSV file is row 1.
        target_names: Name of every target.
        class_names: Text of class 0, 1, ... of a single target; ``()`` for numbers and for many
            targets.
        unreadable: Row number and reason of every row that could not be read.
        warnings: Sentences that the user should see.
        source: What the data were, JSON-able: kind, columns, rule of the split, fingerprint.
    """

    dataset: Dataset
    names: dict[str, tuple[str, ...]]
    rows: dict[str, tuple[int, ...]]
    target_names: tuple[str, ...]
    class_names: tuple[str, ...] = ()
    unreadable: tuple[tuple[int, str], ...] = ()
    warnings: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)

    @property
    def featuriser(self) -> dict[str, Any]:
        """What a model needs to read new files the same way: ``kind``, ``version`` and columns."""
        kind = self.source.get("kind", "graphs")
        told = {name: value for name, value in self.source.items() if name in READING}
        return {"kind": kind, "version": FEATURIZER_VERSION if kind == "molecules" else 1, **told}


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file that is read piece by piece.

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


def assemble(
    name: str,
    graphs: PackedGraphs,
    labels: Labels,
    split: Split,
    *,
    names: Sequence[str],
    rows: Sequence[int],
    unreadable: Sequence[tuple[int, str]] = (),
    warnings: Sequence[str] = (),
    source: dict[str, Any],
    node_sizes: tuple[int, ...] = (),
    edge_sizes: tuple[int, ...] = (),
    scale: bool = False,
) -> OwnData:
    """Put graphs, labels and a split together; ``names`` and ``rows`` have one entry a graph.

    With ``scale``, the dataset says how to bring its features to one scale.
    """
    groups = split.environment
    environment = graphs.environment if groups is None else torch.from_numpy(groups)
    whole = replace(graphs, y=labels.y, environment=environment)
    splits = {part: whole[torch.from_numpy(ids)] for part, ids in split.parts.items()}
    told = (*unreadable_warning(unreadable), *labels.warnings, *split.warnings, *warnings)
    return OwnData(
        dataset=Dataset(
            name=name,
            task=labels.task,
            splits=splits,
            notes=told,
            node_sizes=node_sizes,
            edge_sizes=edge_sizes,
            scaling=find_scaling(splits["train"]) if scale and "train" in splits else {},
        ),
        names={part: _pick(names, ids) for part, ids in split.parts.items()},
        rows={part: _pick(rows, ids) for part, ids in split.parts.items()},
        target_names=labels.target_names,
        class_names=labels.class_names,
        unreadable=tuple(unreadable),
        warnings=told,
        source=source | {"split": split.source},
    )


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
    return Path(path).name.split(".")[0] or "data"


def _pick(values: Sequence[Any], ids: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return tuple(values[place] for place in ids.tolist())
