"""Targets: the text of label cells becomes classes or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError, check_name
from gsina.graphs.cells import is_infinite, is_missing, not_a_number, number, plain
from gsina.graphs.classes import TWO, Classes, Numbers
from gsina.graphs.task import Level, Task

TargetKind = Literal["auto", "classification", "regression"]
TARGET_KINDS = get_args(TargetKind)
#: Whole numbers with more different values than this are taken as quantities, not classes.
MOST_NUMBERED_CLASSES = 20
#: Labels of a class that a split needs to judge by: of fewer, all may fall to one of two equally
#: good models by chance more often than one time in twenty (six tosses of a coin: 2 / 2^6).
FEWEST_TO_JUDGE = 6


@dataclass(frozen=True)
class Labels:
    """Targets as a task wants them.

    Attributes:
        task: What is predicted.
        y: Labels of all rows, as the task says.
        target_names: Name of every target.
        class_names: Text of class 0, 1, ... of a single target of classes.
        warnings: What was decided that the user may not expect.
    """

    task: Task
    y: Tensor
    target_names: tuple[str, ...]
    class_names: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def strata(self) -> NDArray[np.int64]:
        """Class in every target ``[rows, targets]``, -1 where missing; numbers are all class 0."""
        if self.task.kind == "multiclass":
            return self.y.numpy()[:, None]
        known = ~self.y.isnan()
        values = torch.zeros_like(self.y) if self.task.kind == "regression" else self.y
        return torch.where(known, values, -1).long().numpy()

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether a row has at least one label ``[rows]``."""
        return np.asarray(self.strata.max(axis=1) >= 0)


def read_labels(
    cells: Mapping[str, Sequence[str]],
    rows: Sequence[int],
    *,
    kind: TargetKind = "auto",
    level: Level = "graph",
) -> Labels:
    """Turn the cells of target columns into labels.

    * One target of two values: ``binary``; of more: ``multiclass``.
    * Many targets of two values each: ``binary``, one output per target.
    * Numbers (``kind="regression"``, or automatic where a target is not of classes):
      ``regression``.

    Automatic: text is of classes; whole numbers are, if there are two different ones, or at most
    20 that each come back (at most half as many as rows).

    Args:
        cells: Text of every target by name, one entry per row.
        rows: Row numbers, for messages.
        kind: What the user wants.
        level: Whose labels they are.

    Raises:
        InputError: With the row or the target: all missing, one class only, text for a number.
    """
    check_name(kind, TARGET_KINDS, "kind of target")
    if not cells:
        raise InputError("got no target; expected the name of at least one column to predict.")
    columns = {name: _Column(name, values) for name, values in cells.items()}
    for column in columns.values():
        if not column.values:
            raise InputError(
                f"target {column.name!r} is missing in all {len(rows)} rows; fill in the labels "
                "that are known, or name another column to predict."
            )
        column.check_finite(rows)
    many = len(columns) > 1
    if kind == "auto":
        for column in columns.values():
            column.check_nearly_numbers(rows)
        classes = all(column.like_classes(many) for column in columns.values())
        kind = "classification" if classes else "regression"
        guessed = tuple(
            f"target {column.name!r} has {len(column.values)} different whole numbers and is taken "
            'as classes; say --task regression (in Python kind="regression") if they are '
            "quantities."
            for column in columns.values()
            if classes and column.numbers is not None and len(column.values) > TWO
        )
    else:
        guessed = ()
    if kind == "regression":
        labels = _numbers(columns, rows)
    else:
        labels = _many_classes(columns) if many else _one_target(next(iter(columns.values())))
    unlabelled = int((~labels.known).sum())
    if unlabelled:
        guessed += (f"{unlabelled} of {len(rows)} rows have no label and do not count.",)
    return replace(
        labels, task=replace(labels.task, level=level), warnings=labels.warnings + guessed
    )


class _Column:
    """One target: its cells and the different values among them, in order."""

    def __init__(self, name: str, cells: Sequence[str]) -> None:
        self.name = name
        self.cells = [cell.strip() for cell in cells]
        texts = {cell for cell in self.cells if not is_missing(cell)}
        found = {text: number(text) for text in texts}
        #: Number behind every text, ``None`` if one text is not a number.
        self.numbers: dict[str, float] | None = None
        if None not in found.values():
            self.numbers = {text: value for text, value in found.items() if value is not None}
            self.values = [plain(value) for value in sorted(set(self.numbers.values()))]
        else:
            self.values = sorted(texts)

    def like_classes(self, many: bool) -> bool:
        """Whether an automatic choice takes it as classes."""
        if self.numbers is not None and not all(v.is_integer() for v in self.numbers.values()):
            return False
        if many:
            return len(self.values) <= TWO or self.numbers is None
        if self.numbers is None or len(self.values) <= TWO:
            return True
        known = sum(not is_missing(cell) for cell in self.cells)
        return len(self.values) <= min(MOST_NUMBERED_CLASSES, known / 2)

    def check_finite(self, rows: Sequence[int]) -> None:
        """Refuse numbers without a finite value: they are neither quantities nor classes."""
        for row, cell in zip(rows, self.cells, strict=True):
            if is_infinite(cell):
                raise InputError(
                    f"row {row}: target {self.name!r} is {cell!r}, which is no finite number; "
                    "correct the cell, or leave it empty where the label is not known."
                )

    def check_nearly_numbers(self, rows: Sequence[int]) -> None:
        """Refuse decimal commas, and bounds among numbers: neither numbers nor sensible classes."""
        if self.numbers is not None:
            return
        commas = [text for text in self.values if "," in text and not_a_number(text)]
        known = [text for text in self.values if number(text) is not None]
        if 2 * len(known + commas) < len(self.values):
            return
        for row, cell in zip(rows, self.cells, strict=True):
            if hint := not_a_number(cell):
                raise InputError(
                    f"row {row}: target {self.name!r} is {cell!r}, expected a number as in other "
                    f"rows; {hint} (if these are classes, say --task classification, in Python "
                    'kind="classification").'
                )

    def classes(self) -> tuple[Classes, Tensor]:
        """The classes, and the labels of all rows as their task has them."""
        classes = Classes.named(self.values)
        return classes, classes.encode(classes.read(self.cells))

    def check_classes(self) -> None:
        known = sum(not is_missing(cell) for cell in self.cells)
        if len(self.values) == 1:
            raise InputError(
                f"target {self.name!r} has one class only, {self.values[0]!r}, in all {known} "
                "labelled rows; expected at least two."
            )
        if len(self.values) > max(MOST_NUMBERED_CLASSES, known / 2):
            raise InputError(
                f"target {self.name!r} has {len(self.values)} different values in {known} rows; "
                "expected classes that come back: name another column, or say --task regression "
                '(in Python kind="regression").'
            )

    def mapping(self) -> tuple[str, ...]:
        """The sentence about values that are not already 0, 1, 2, ..."""
        if self.values == [str(index) for index in range(len(self.values))]:
            return ()
        pairs = ", ".join(f"{text!r} = {index}" for index, text in enumerate(self.values[:10]))
        more = ", ..." if len(self.values) > 10 else ""
        return (f"the values of target {self.name!r} became classes: {pairs}{more}.",)


def _one_target(column: _Column) -> Labels:
    column.check_classes()
    classes, y = column.classes()
    return Labels(classes.task, y, (column.name,), tuple(column.values), column.mapping())


def _many_classes(columns: Mapping[str, _Column]) -> Labels:
    for column in columns.values():
        column.check_classes()
        if len(column.values) > TWO:
            raise InputError(
                f"target {column.name!r} has {len(column.values)} different values; expected two "
                "in each of several targets: train on it alone."
            )
    y = torch.cat([column.classes()[1] for column in columns.values()], dim=1)
    told = tuple(sentence for column in columns.values() for sentence in column.mapping())
    task = Classes.named((0, 1), len(columns)).task
    return Labels(task, y, tuple(columns), (), told)


def _numbers(columns: Mapping[str, _Column], rows: Sequence[int]) -> Labels:
    for column in columns.values():
        for row, cell in zip(rows, column.cells, strict=True):
            if not is_missing(cell) and number(cell) is None:
                hint = not_a_number(cell)
                raise InputError(
                    f"row {row}: target {column.name!r} is {cell!r}; expected a number for "
                    f"regression, or an empty cell where it is not known{hint and f'; {hint}'}."
                )
    numbers = Numbers.of_targets(len(columns))
    y = torch.cat([numbers.encode(numbers.read(one.cells)) for one in columns.values()], dim=1)
    if bool(y.isinf().any()):
        row, place = y.isinf().nonzero()[0].tolist()
        column = list(columns.values())[place]
        raise InputError(
            f"row {rows[row]}: target {column.name!r} is {column.cells[row]}, which is too large "
            "for 32 bits; scale the target down."
        )
    return Labels(numbers.task, y, tuple(columns), (), ())
