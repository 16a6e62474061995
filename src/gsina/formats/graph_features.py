"""Features of the nodes or edges of many graphs: numbers, and categories given as text.

A category is kept as the number of its text until it is known which graphs train; then it becomes
one feature per category of the training graphs and one for all others, as in tables of nodes
(:mod:`gsina.formats.encoding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError, readable
from gsina.formats.encoding import FEWEST_ROWS, MOST_CATEGORIES, Encoding
from gsina.graphs.cells import is_missing, number

Floats = NDArray[np.float32]
#: Rows of features as a file has them: numbers, or objects of which some are text.
Rows = NDArray[Any]


class Problem(InputError):
    """Why one graph cannot be used, without a full stop."""


def feature_rows(rows: Any, what: str) -> Rows:
    """Rows of equally many values ``[N, F]``; a list of plain values is one feature each.

    Raises:
        Problem: They are something else, or numbers that are missing or not finite.
    """
    text = _has_text(rows)
    try:
        # Null becomes NaN here and true becomes 1.
        found = np.array(rows, dtype=object if text else np.float64)
        found = found[:, None] if found.ndim == 1 else found
    except (ValueError, TypeError, OverflowError):
        found = np.zeros(0, dtype=object)
    values = isinstance(rows, list) and not any(
        isinstance(one, list | dict) for one in found.flat if text
    )
    if not values or found.ndim != 2 or (found.shape[1] == 0 and len(found)):
        raise Problem(f"its {what} features are not rows of equally many numbers or categories")
    return found if text else _finite(found, what)


def _finite(values: Rows, what: str) -> Floats:
    with np.errstate(over="ignore"):  # it is told below
        found = values.astype(np.float32)
    if not np.isfinite(found).all():
        raise Problem(f"its {what} features have values that are missing or not finite")
    return found


def _has_text(rows: Any) -> bool:
    """Whether there is text, as NumPy would read the text "1" as a number."""
    if not isinstance(rows, list):
        return True
    return any(
        isinstance(value, str)
        for row in rows
        for value in (row if isinstance(row, list) else (row,))
    )


class GraphFeatures:
    """Which features of nodes (or of edges) are categories, and their texts.

    The first graph decides: those where it has text that is no number.

    Args:
        what: ``node`` or ``edge``, for messages.
        known: How the features were read in training, if these are not training graphs.

    Attributes:
        unseen: By feature, how often a text had no place of its own in training.
    """

    def __init__(self, what: str, known: Sequence[Encoding] | None = None) -> None:
        self.what, self.known = what, known
        self._places: dict[int, dict[str, int]] | None = None
        self.unseen: dict[int, int] = {}
        if known is not None:
            self._places = {
                column: {text: place for place, text in enumerate(one.categories)}
                for column, one in enumerate(known)
                if one.categories is not None
            }

    def numbers(self, rows: Rows) -> Floats:
        """Features as numbers ``[N, F]``, a category as the number of its text.

        Raises:
            Problem: There is text where other graphs have numbers.
        """
        if not len(rows):
            return rows.astype(np.float32)
        if self._places is None:
            self._places = {column: {} for column in _text_columns(rows)}
        if not self._places and rows.dtype != object:
            return rows
        rows, columns = rows.astype(object), self._places.items()
        for column, places in columns:
            if column < rows.shape[1]:  # the width is checked elsewhere
                texts = [_text(value) for value in rows[:, column]]
                rows[:, column] = [self._place(text, column, places) for text in texts]
        for value in rows.flat:
            if isinstance(value, str):
                raise Problem(
                    f"its {self.what} features have the text {value[:40]!r} where the first graphs "
                    "have numbers; give all graphs categories there, or numbers without quotes"
                )
        try:
            return _finite(rows.astype(np.float64), self.what)
        except OverflowError:
            raise Problem(f"its {self.what} features have a number that is too large") from None

    def _place(self, text: str, column: int, places: dict[str, int]) -> int:
        if self.known is None:
            return places.setdefault(text, len(places))
        if text not in places:
            self.unseen[column] = self.unseen.get(column, 0) + 1
        return places.get(text, len(places))

    def find(self, train: Floats) -> tuple[Encoding, ...]:
        """How to encode the features, by those of the training graphs; nothing without categories.

        Raises:
            InputError: A feature has more different texts than categories have.
        """
        if not self._places:
            return ()
        found = []
        for column in range(train.shape[1]):
            places = self._places.get(column)
            if places is None:
                found.append(Encoding(str(column + 1)))
                continue
            if len(places) > MOST_CATEGORIES:
                raise InputError(
                    f"{self.what} feature {column + 1} has {len(places):,} different texts; "
                    f"expected numbers, or categories that come back (at most {MOST_CATEGORIES}): "
                    "leave it out."
                )
            counts = np.bincount(train[:, column].astype(np.int64), minlength=len(places))
            often = sorted(text for text, place in places.items() if counts[place] >= FEWEST_ROWS)
            found.append(Encoding(str(column + 1), categories=often))
        return tuple(found)

    def encode(self, values: Floats, how: Sequence[Encoding]) -> Floats:
        """What :meth:`numbers` gave as features ``[N, F']``: one per category, one for others."""
        if not self._places:
            return values
        parts: list[Any] = []
        for column, one in enumerate(how):
            cells = values[:, column]
            if one.categories is None:
                parts.append(cells[:, None])
                continue
            mine = {text: place for place, text in enumerate(one.categories)}
            other = len(mine)
            codes = cells.astype(np.int64)
            if self.known is None:
                order = np.array([mine.get(text, other) for text in self._places[column]])
                codes = order[codes]
            parts.append(codes[:, None] == np.arange(other + 1))
        return np.concatenate(parts, axis=1).astype(np.float32)

    def notes(self, how: Sequence[Encoding]) -> tuple[str, ...]:
        """One sentence about which features are categories, none without any."""
        told = [
            f"{self.what} feature {one.name} ({len(one.categories)})"
            for one in how
            if one.categories is not None
        ]
        return (
            f"text is taken as categories, with one more for all others: {', '.join(told)}.",
        ) * bool(told)

    def unseen_notes(self) -> tuple[str, ...]:
        """One sentence about texts that training graphs did not have, none without any."""
        told = [f"{self.what} feature {one + 1} ({n:,})" for one, n in sorted(self.unseen.items())]
        return (
            "categories that are rare or not in the training graphs are taken together: "
            f"{', '.join(told)}.",
        ) * bool(told)


def _text_columns(rows: Rows) -> list[int]:
    """The columns with text that is no number."""
    if rows.dtype != object:
        return []
    return [
        column
        for column in range(rows.shape[1])
        if any(isinstance(one, str) and not _like_number(one) for one in rows[:, column])
    ]


def _like_number(text: str) -> bool:
    return is_missing(text) or number(text) is not None


def _text(value: Any) -> str:
    """A category as text; what is missing is one, too."""
    if value is None:
        return ""
    text = value.strip() if isinstance(value, str) else str(value)
    return "" if is_missing(text) else readable(text)
