"""The rules that divide rows into train, val and test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.graphs.cells import number
from gsina.graphs.labels import Labels

Ids = NDArray[np.int64]
Parts = dict[str, Ids]

#: Words in a split column and the split that they mean.
MARKS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "id_test": "id_test",
}
#: Dates that are not ISO, as spreadsheets write them.
DATES = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
#: Shares of train and val; the rest is for testing.
SHARES = (0.8, 0.1)


def by_groups(groups: Sequence[str], shares: tuple[float, float] = SHARES) -> Parts | None:
    """Whole groups go to one side: the smallest to test, then to val, the largest to train.

    Test is filled until it has its share of the rows, then val, each with one group at least; one
    is always left for train.
    Of equal groups, the one that starts earlier is held out first. With many small groups this is
    the scaffold split of MoleculeNet and OGB.

    Args:
        groups: Group of every row.
        shares: Shares of train and val.

    Returns:
        Rows of each part, val without rows if there are two groups; ``None`` for one group.
    """
    members: dict[str, list[int]] = {}
    for row, name in enumerate(groups):
        members.setdefault(name, []).append(row)
    # In descending order, so that the next one to hold out is at the end.
    order = sorted(members.values(), key=lambda rows: (len(rows), rows[0]), reverse=True)
    if len(order) < 2:
        return None
    parts: dict[str, list[int]] = {"test": [], "val": []}
    left = len(groups)
    for name, share in (("test", sum(shares)), ("val", shares[0])):
        # Sums of shares are not exact: 0.7 + 0.1 is a little less than 0.8.
        least = share * len(groups) + 1e-6
        while len(order) > 1 and (left > least or not parts[name]):
            parts[name].extend(order.pop())
            left = len(groups) - sum(map(len, parts.values()))
    return _sorted({"train": list(chain.from_iterable(order))} | parts)


def by_order(keys: NDArray[np.float64], shares: tuple[float, float] = SHARES) -> Parts:
    """The rows with the largest keys are the test, those before them val.

    Rows with equal keys stay on one side of a cut, unless that would leave a side without rows.

    Args:
        keys: What to sort by ``[rows]``.
        shares: Shares of train and val.
    """
    order = np.argsort(keys, kind="stable")
    ordered, count = keys[order], len(keys)
    first = _cut(ordered, shares[0], 1, count - 2)
    second = _cut(ordered, sum(shares), first + 1, count - 1)
    return _sorted({"train": order[:first], "val": order[first:second], "test": order[second:]})


class Filled(NamedTuple):
    """The rows of a split column that are not empty; the others are in no split.

    Attributes:
        ids: Their places among all rows.
        cells: Their cells.
        rows: Their row numbers.
        notes: A sentence about the others, if there are any.
    """

    ids: Ids
    cells: list[str]
    rows: list[int]
    notes: tuple[str, ...]

    def place(self, parts: Parts | None) -> Parts | None:
        """A split of these rows as one of all rows."""
        return None if parts is None else {name: self.ids[ids] for name, ids in parts.items()}


def filled(
    cells: Sequence[str], rows: Sequence[int], column: str, what: str, file: str = ""
) -> Filled:
    """The rows whose cell says something.

    Args:
        cells: Text of the split column.
        rows: Row numbers.
        column: Name of the column.
        what: What a row is, in the plural, for the sentence.
        file: Name of the file, for messages.
    """
    ids = np.array([place for place, cell in enumerate(cells) if cell.strip()], dtype=np.int64)
    if not len(ids):
        raise InputError(
            f"{f'{file}: ' if file else ''}column {column!r} is empty in all {len(cells)} rows; "
            "fill it in, or name another column to split by."
        )
    empty = len(cells) - len(ids)
    note = f"{empty} {what} have an empty {column!r} and are in no split."
    chosen = ids.tolist()
    return Filled(ids, [cells[i] for i in chosen], [rows[i] for i in chosen], (note,) * bool(empty))


def by_marks(marks: Sequence[str], rows: Sequence[int], column: str, file: str = "") -> Parts:
    """The user's own split.

    Args:
        marks: Text of the split column.
        rows: Row numbers, for messages.
        column: Name of the column.
        file: Name of the file, for messages.
    """
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    for place, (mark, row) in enumerate(zip(marks, rows, strict=True)):
        word = mark.strip().lower()
        if word not in MARKS:
            raise InputError(
                f"{row_of(row, file)}: column {column!r} is {mark!r}; expected train, val, test or "
                "id_test (or an empty cell, for no split): correct the cell, or name another "
                "column."
            )
        parts.setdefault(MARKS[word], []).append(place)
    for needed in ("train", "test"):
        if not parts[needed]:
            raise InputError(
                f"column {column!r} marks no row as {needed}; expected some of each of train, val "
                f"and test: write {needed} in some rows, or name another column."
            )
    return _sorted(parts)


def at_random(
    labels: Labels, seed: int, shares: tuple[float, float] = SHARES, ids: Ids | None = None
) -> Parts:
    """Every class in its share on every side, as far as it has rows enough.

    Args:
        labels: Labels of all rows.
        seed: Seed of the draw.
        shares: Shares of train and val.
        ids: Rows to divide, by default all.
    """
    ids = np.arange(len(labels.y)) if ids is None else ids
    generator = np.random.default_rng(seed)
    test = draw(labels, ids, 1 - sum(shares), generator, keep=2)
    rest = np.setdiff1d(ids, test)
    val = draw(labels, rest, shares[1] / sum(shares), generator, keep=1)
    return {"train": np.setdiff1d(rest, val), "val": val, "test": test}


def times(
    cells: Sequence[str], rows: Sequence[int], column: str, file: str = ""
) -> NDArray[np.float64]:
    """Keys for :func:`by_order` from a column of numbers or of dates ``[rows]``.

    Dates are ISO dates, or one of :data:`DATES` in all rows.
    """
    values = [number(cell) for cell in cells]
    dates = bool(values) and values[0] is None
    if dates:
        seconds = _iso if _iso(cells[0].strip()) is not None else _other_dates(cells, column, file)
        values = [seconds(cell.strip()) for cell in cells]
    for cell, row, value in zip(cells, rows, values, strict=True):
        if value is None:
            raise InputError(
                f"{row_of(row, file)}: column {column!r} is {cell!r}; expected "
                + ("a date such as 2024-01-31, or numbers in all rows" if dates else "a number")
                + ": correct the cell, or name another column of times."
            )
    return np.array(values, dtype=np.float64)


def _other_dates(cells: Sequence[str], column: str, file: str) -> Callable[[str], float | None]:
    """How to read dates that are not ISO: by the one way that most of the cells allow.

    Raises:
        InputError: Day and month may be either way round.
    """
    ways = [way for way in DATES if _seconds(cells[0].strip(), way) is not None] or DATES[:1]
    able = {way: [_seconds(cell.strip(), way) for cell in cells] for way in ways}
    gaps = {way: found.count(None) for way, found in able.items()}
    best = [way for way in ways if gaps[way] == min(gaps.values())]
    if len({tuple(able[way]) for way in best}) > 1:
        raise InputError(
            f"{f'{file}: ' if file else ''}column {column!r} has dates such as "
            f"{cells[0].strip()!r}, where day and month may be either way round; write them as "
            "2024-01-31."
        )
    return partial(_seconds, way=best[0])


def row_of(row: int, file: str = "") -> str:
    """Where something is wrong: the row, and the file if its name is known."""
    return f"row {row} of {file}" if file else f"row {row}"


def _sorted(parts: dict[str, list[int]] | Parts) -> Parts:
    return {name: np.sort(np.asarray(ids, dtype=np.int64)) for name, ids in parts.items()}


def _cut(ordered: NDArray[np.float64], share: float, least: int, most: int) -> int:
    """Position of a cut near ``share``, between equal keys only if there is no other way."""
    cut = min(max(round(share * len(ordered)), least), most)
    start, end = (int(np.searchsorted(ordered, ordered[cut], side)) for side in ("left", "right"))
    return next((place for place in (start, end) if least <= place <= most), cut)


def draw(
    labels: Labels, ids: Ids, share: float, generator: np.random.Generator, *, keep: int
) -> Ids:
    """A share of the rows ``ids``, of every class at least one where ``keep`` others are left."""
    classes = strata_of(labels)[ids]
    drawn = []
    for value in np.unique(classes):
        members = ids[classes == value]
        size = min(max(1, round(share * len(members))), max(0, len(members) - keep))
        drawn.append(generator.permutation(members)[:size])
    return np.sort(np.concatenate(drawn)) if drawn else ids[:0]


def strata_of(labels: Labels) -> Ids:
    """What rows are drawn by ``[rows]``: the class; of several targets whether one is known."""
    if labels.strata.shape[1] > 1:
        return labels.known.astype(np.int64)
    return labels.strata.reshape(-1)


def _iso(text: str) -> float | None:
    """Seconds of an ISO date; times without a zone are taken as UTC."""
    for tried in (text, f"{text}-01"):  # A month alone is a date for a person.
        try:
            moment = datetime.fromisoformat(tried)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _seconds(text: str, way: str) -> float | None:
    """Seconds of a date that is written in one way, perhaps with a time of the day behind it."""
    for format in (way, f"{way} %H:%M", f"{way} %H:%M:%S"):
        try:
            return datetime.strptime(text, format).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None
