"""Columns of a table as features: numbers with gaps, and categories.

A column of numbers is one feature; where training cells are empty, they get the training mean and
a second feature says so. A column of text is one feature per category of the training rows and one
for all others, 0 or 1 each. An :class:`Encoding` is plain JSON, so that a model keeps it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.cells import is_missing, not_a_number, number
from gsina.graphs.split_rules import Ids

#: Different texts of a column that are taken as categories; with more it is taken as free text.
MOST_CATEGORIES = 100
#: Training rows that a category needs; rarer ones are taken together with those never seen.
FEWEST_ROWS = 2

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Encoding:
    """How a column becomes features.

    Attributes:
        name: The column.
        categories: Texts with a feature of their own; ``None`` for a column of numbers.
        mean: What an empty cell of a column of numbers counts as.
        gaps: Whether a feature says that a cell was empty.
    """

    name: str
    categories: list[str] | None = None
    mean: float = 0.0
    gaps: bool = False

    @property
    def width(self) -> int:
        """Number of features."""
        return 1 + self.gaps if self.categories is None else len(self.categories) + 1

    @property
    def marks(self) -> list[bool]:
        """Which of its features are 0 or 1 by their making."""
        return [False, True][: self.width] if self.categories is None else [True] * self.width


@dataclass(frozen=True)
class Encodings:
    """How the columns of nodes and of edges become features.

    Attributes:
        nodes: Of the table of nodes.
        edges: Of the table of edges.
        strict: Whether an empty cell is an error, as for models that have no mean for it.
    """

    nodes: tuple[Encoding, ...] = ()
    edges: tuple[Encoding, ...] = ()
    strict: bool = False

    def json(self) -> dict[str, Any]:
        """What a model keeps."""
        return {part: [asdict(one) for one in getattr(self, part)] for part in ("nodes", "edges")}

    @classmethod
    def of_json(cls, kept: dict[str, Any] | None) -> Encodings | None:
        """The encodings that a model kept, if it did."""
        if kept is None:
            return None
        nodes, edges = ([Encoding(**one) for one in kept[part]] for part in ("nodes", "edges"))
        return cls(tuple(nodes), tuple(edges))

    def without_marks(
        self, scaling: dict[str, dict[str, list[float]]]
    ) -> dict[str, dict[str, list[float]]]:
        """A scaling that leaves features of 0 and 1 as they are: a rare 1 is not a large number."""
        changed = {part: {**moments} for part, moments in scaling.items()}
        for part, how in (("node", self.nodes), ("edge", self.edges)):
            marks = [mark for one in how for mark in one.marks]
            for name, plain in (("mean", 0.0), ("scale", 1.0)) if marks else ():
                pairs = zip(scaling[part][name], marks, strict=True)
                changed[part][name] = [plain if mark else value for value, mark in pairs]
        return changed


class FeatureColumns:
    """The columns of a table that are features, read block by block.

    Whether a column is of numbers or of categories is decided by the first block: of numbers, if
    half of its different texts are.

    Args:
        names: The columns.
        path: The table, for messages.
        advice: What to do about a cell that is no number.
        known: How the columns were read in training, if these are not training rows.
        strict: Refuse empty cells, for models that were trained without such a rule.
    """

    def __init__(
        self,
        names: Sequence[str],
        path: Path,
        advice: str,
        known: Sequence[Encoding] | None = None,
        strict: bool = False,
    ) -> None:
        self.names, self.path, self.advice, self.strict = list(names), path, advice, strict
        self._numeric: list[bool] | None = None
        if known is not None:
            self._numeric = [one.categories is None for one in known]
        self._numbers: list[Floats] = []
        self._texts: dict[str, list[str]] = {}

    def add(self, cells: list[list[str]], rows: list[int]) -> None:
        """Add a block of rows: their cells, and their row numbers."""
        if self._numeric is None:
            self._numeric = [_like_numbers(column) for column in zip(*cells, strict=True)]
        numeric = [place for place, is_number in enumerate(self._numeric) if is_number]
        for place, name in enumerate(self.names):
            if not self._numeric[place]:
                texts = [_text(row[place]) for row in cells]
                self._texts.setdefault(name, []).extend(texts)
        if len(numeric) < len(self.names):
            cells = [[row[place] for place in numeric] for row in cells]
        if numeric:
            self._numbers.append(self._read(cells, rows, [self.names[place] for place in numeric]))

    def drop_free_text(self, asked: bool) -> dict[str, int]:
        """Leave out columns of too many different texts, and say how many each has.

        Raises:
            InputError: The user asked for such a column.
        """
        counts = {name: len(set(texts) - {""}) for name, texts in self._texts.items()}
        dropped = {
            name: count
            for name, count in counts.items()
            if count > min(MOST_CATEGORIES, len(self._texts[name]) / 2)
        }
        for name, count in dropped.items() if asked else ():
            raise InputError(
                f"the feature {name!r} of {self.path.name} has {count} different texts in "
                f"{len(self._texts[name])} rows; expected numbers, or categories that come back "
                f"(at most {MOST_CATEGORIES}): leave it out of the features."
            )
        kept = [name not in dropped for name in self.names]
        self._numeric = [one for one, keep in zip(self._numeric or [], kept, strict=True) if keep]
        self.names = [name for name in self.names if name not in dropped]
        self._texts = {name: texts for name, texts in self._texts.items() if name not in dropped}
        return dropped

    def find(self, train: Ids) -> list[Encoding]:
        """How to encode the columns, by the training rows ``train``."""
        found = []
        for name, values in self._columns():
            if isinstance(values, list):
                counts = Counter(values[place] for place in train.tolist())
                often = sorted(text for text, count in counts.items() if count >= FEWEST_ROWS)
                found.append(Encoding(name, categories=often))
                continue
            known = values[train][~np.isnan(values[train])].astype(np.float64)
            gaps = len(known) < len(train)
            found.append(Encoding(name, mean=float(known.mean()) if len(known) else 0.0, gaps=gaps))
        return found

    def encode(self, encodings: Sequence[Encoding]) -> Tensor:
        """All rows as features ``[rows, F]``."""
        parts: list[Any] = []
        for (_, values), how in zip(self._columns(), encodings, strict=True):
            if isinstance(values, list):
                place = {text: index for index, text in enumerate(how.categories or ())}
                codes = np.array([place.get(text, len(place)) for text in values])
                parts.append(codes[:, None] == np.arange(len(place) + 1))
                continue
            empty = np.isnan(values)
            parts.append(np.where(empty, how.mean, values)[:, None])
            if how.gaps:
                parts.append(empty[:, None])
        return torch.from_numpy(np.concatenate(parts, axis=1).astype(np.float32))

    def notes(self, encodings: Sequence[Encoding]) -> tuple[str, ...]:
        """Sentences about empty cells and categories."""
        empty: dict[str, int] = {}
        other: dict[str, int] = {}
        for (name, values), how in zip(self._columns(), encodings, strict=True):
            if isinstance(values, list):
                known = set(how.categories or ())
                other[name] = sum(text not in known for text in values)
            else:
                empty[name] = int(np.isnan(values).sum())
        notes = []
        if told := ", ".join(f"{name} ({count})" for name, count in empty.items() if count):
            notes.append(f"empty cells of {self.path.name} count as the training mean: {told}.")
        if told := ", ".join(f"{name} ({count} rows)" for name, count in other.items() if count):
            notes.append(
                f"categories of {self.path.name} that are rare or not in the training rows are "
                f"taken together: {told}."
            )
        return tuple(notes)

    def _columns(self) -> list[tuple[str, Floats | list[str]]]:
        """Name and values of every column: numbers ``[rows]``, NaN where empty, or texts."""
        if len(self._numbers) > 1:
            self._numbers = [np.concatenate(self._numbers)]
        matrix = self._numbers[0] if self._numbers else np.zeros((0, 0), np.float32)
        place, found = 0, []
        for name, numeric in zip(self.names, self._numeric or [], strict=True):
            values: Floats | list[str] = matrix[:, place] if numeric else self._texts[name]
            place += numeric
            found.append((name, values))
        return found

    def _read(self, cells: list[list[str]], rows: list[int], names: list[str]) -> Floats:
        """Cells as numbers ``[rows, columns]``, or an error about the first that is none."""
        try:
            with np.errstate(over="ignore"):  # Reported below.
                values = np.array(cells).astype(np.float32)
            if np.isfinite(values).all():
                return values
        except ValueError:
            pass
        values = np.empty((len(cells), len(names)), np.float32)
        for line, row in enumerate(cells):
            for place, cell in enumerate(row):
                values[line, place] = self._number(cell, rows[line], names[place])
        return values

    def _number(self, cell: str, row: int, name: str) -> float:
        where = f"row {row} of {self.path.name}: the feature {name!r}"
        value = number(cell)
        if value is not None:
            if abs(value) > float(np.finfo(np.float32).max):
                raise InputError(
                    f"{where} is {cell.strip()}, which is too large for 32 bits; scale it down."
                )
            return value
        if is_missing(cell) and not self.strict:
            return np.nan
        what = f"is {cell!r}" if cell.strip() else "is empty"
        hint = not_a_number(cell)
        raise InputError(f"{where} {what}, expected a number; {hint or self.advice}.")


def _like_numbers(column: Sequence[str]) -> bool:
    """Whether at least half of the different texts in some cells are numbers."""
    texts = {cell.strip() for cell in column if not is_missing(cell)}
    return 2 * sum(number(text) is not None or bool(not_a_number(text)) for text in texts) >= len(
        texts
    )


def _text(cell: str) -> str:
    return "" if is_missing(cell) else cell.strip()
