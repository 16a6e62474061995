"""`Classes` and `Numbers`: from labels of any kind to the tensors of a task, and back.

Files bring labels as the text of cells, Python users as arrays of any objects. Both ask one of
these which task the labels make, what tensors they become and which label an answer stands for.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError, readable
from gsina.graphs.cells import number, plain
from gsina.graphs.task import Level, Task

#: More different labels that are no whole numbers are surely measurements.
MOST_BROKEN = 20
TWO = 2


@dataclass(frozen=True)
class Classes:
    """The classes of a target, or of several yes-or-no targets.

    Attributes:
        names: Label of class 0, 1, ...: text or any hashable objects.
        task: What is predicted.
    """

    names: tuple[Hashable, ...]
    task: Task

    def __post_init__(self) -> None:
        for name in self.names:
            if isinstance(name, str) and readable(name) != name:
                raise InputError(
                    f"the label '{readable(name)}' has half of a character (a lone surrogate), "
                    "which no file can hold; correct it, or leave it empty."
                )

    @classmethod
    def named(cls, names: Sequence[Hashable], targets: int = 1, level: Level = "graph") -> Self:
        """Two classes are one yes-or-no output, judged by ROC-AUC; more are judged by accuracy."""
        if len(names) == TWO:
            return cls(tuple(names), Task("binary", targets, "roc_auc", level))
        return cls(tuple(names), Task("multiclass", len(names), "accuracy", level))

    @classmethod
    def of(cls, values: NDArray[Any], level: Level = "graph") -> Self:
        """The classes in labels ``[G]``; or labels ``[G, targets]``, which must be 0, 1 or NaN.

        They are sorted if they can be compared, else in order of appearance.
        """
        if values.ndim == 2:
            numbers = np.asarray(values, dtype=float)
            other = numbers[~np.isnan(numbers) & ~np.isin(numbers, (0, 1))]
            if len(other):
                raise InputError(
                    "labels of several targets must be 0, 1, or NaN where missing, got "
                    f"{other[0]:g}; one target may have any classes."
                )
            return cls.named((0, 1), values.shape[1], level)
        found = list(dict.fromkeys(_hashable(value) for value in values[~missing(values)].tolist()))
        broken = [value for value in found if isinstance(value, float)]
        if len(broken) > MOST_BROKEN:
            raise InputError(
                f"a classifier needs classes, got {len(broken)} labels such as {broken[0]:g}; "
                f"round them, or predict numbers ({level.title()}Regressor, or gsina train --task "
                "regression)."
            )
        with contextlib.suppress(TypeError):
            found = sorted(found)  # type: ignore[type-var]
        if len(found) < TWO:
            raise InputError(
                f"a classifier needs at least two classes, got {len(found)} "
                f"({', '.join(map(repr, found)) or 'all labels are missing'})."
            )
        return cls.named(found, level=level)

    @property
    def array(self) -> NDArray[Any]:
        """The labels ``[K]``: of numbers or text where all are, else of objects."""
        kinds = {type(name) for name in self.names}
        alike = len(kinds) == 1 and isinstance(self.names[0], bool | int | float | str)
        return np.array(self.names) if alike else _objects(self.names)

    def read(self, cells: Iterable[str]) -> NDArray[Any]:
        """The labels in cells ``[G]``, by text or by number; ``None`` where a cell has no class."""
        names = {str(name): name for name in self.names}
        found = []
        for cell in cells:
            value = None if cell in names else number(cell)
            found.append(names.get(cell if value is None else plain(value)))
        return _objects(found)

    def encode(self, values: NDArray[Any]) -> Tensor:
        """Labels ``[G]`` or ``[G, targets]`` as the task has them; -1 or NaN where missing.

        Raises:
            InputError: A label is none of the classes.
        """
        if values.ndim == 2:
            return torch.from_numpy(np.asarray(values, dtype=np.float32))
        place = {name: index for index, name in enumerate(self.names)}
        labels = zip(values.tolist(), missing(values), strict=True)
        try:
            codes = [-1 if gone else place[_hashable(value)] for value, gone in labels]
        except KeyError as error:
            known = ", ".join([*map(repr, self.names[:10]), "..."][: len(self.names)])
            raise InputError(
                f"label {error} is none of the classes that the model was fitted on: {known}."
            ) from None
        found = torch.tensor(codes, dtype=torch.long)
        if self.task.kind == "multiclass":
            return found
        return torch.where(found < 0, math.nan, found.float()).view(-1, 1)

    def decode(self, codes: Tensor) -> NDArray[Any]:
        """The labels of numbers of classes, in their shape; ``None`` where one is -1 or NaN."""
        known = codes >= 0
        labels: NDArray[Any] = self.array[torch.where(known, codes, 0).long().numpy()]
        if not known.all():
            labels = labels.astype(object)
            labels[~known.numpy()] = None
        return labels


@dataclass(frozen=True)
class Numbers:
    """Targets that are numbers, with the methods of :class:`Classes`.

    Attributes:
        task: What is predicted.
    """

    task: Task
    names: tuple[Hashable, ...] = ()

    @classmethod
    def of_targets(cls, targets: int, level: Level = "graph") -> Self:
        """One is judged by its RMSE, several by the mean of theirs in standard deviations."""
        metric = "rmse" if targets == 1 else "scaled_rmse"
        return cls(Task("regression", targets, metric, level))

    @classmethod
    def of(cls, values: NDArray[Any], level: Level = "graph") -> Self:
        """Those of labels ``[G]`` or ``[G, targets]``."""
        made = cls.of_targets(1 if values.ndim == 1 else values.shape[1], level)
        if bool(made.encode(values).isnan().all(0).any()):
            raise InputError("a target has no number at all to learn from; leave it out.")
        return made

    def read(self, cells: Iterable[str]) -> NDArray[Any]:
        """The numbers in cells ``[G]``, NaN where a cell has none."""
        found = [number(cell) for cell in cells]
        return np.array([math.nan if value is None else value for value in found])

    def encode(self, values: NDArray[Any]) -> Tensor:
        """Labels ``[G]`` or ``[G, targets]`` as float32 ``[G, targets]``, NaN where missing."""
        try:
            numbers = torch.from_numpy(np.asarray(values, dtype=np.float64)).float()
        except (TypeError, ValueError) as error:
            raise InputError(f"regression needs numbers as labels: {error}.") from error
        return numbers.view(-1, 1) if numbers.dim() == 1 else numbers


def as_array(y: Any, count: int, what: str) -> NDArray[Any]:
    """Labels as an array ``[count]`` or ``[count, targets]``."""
    if isinstance(y, Tensor):
        y = y.detach().cpu().numpy()
    values: NDArray[Any] = y if isinstance(y, np.ndarray) else _from_sequence(list(y))
    if len(values) != count:
        raise InputError(f"got {len(values)} labels for {count} {what}, expected one each.")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim > 2:
        raise InputError(
            f"labels must have one or two dimensions, got an array of shape {values.shape}."
        )
    return values


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where the label is ``None`` or NaN ``[G]``; of labels ``[G, targets]``, where all are."""
    if values.ndim == 2:
        return np.asarray(np.isnan(values.astype(float)).all(axis=1))
    if values.dtype == object:
        gone = [value is None or (isinstance(value, float) and value != value) for value in values]
        return np.array(gone, dtype=bool)
    if np.issubdtype(values.dtype, np.floating):
        return np.asarray(np.isnan(values))
    return np.zeros(values.shape, dtype=bool)


def only(values: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[Any]:
    """The labels where ``kept`` ``[G]`` says so; all others count as missing."""
    values = values.astype(object if values.ndim == 1 else float)
    values[~kept] = None
    return values


def _from_sequence(values: list[Any]) -> NDArray[Any]:
    if values and all(isinstance(value, bool | int | float | np.number) for value in values):
        return np.array(values)
    if values and all(isinstance(value, list | np.ndarray | Tensor) for value in values):
        rows = [np.asarray(value, dtype=float) for value in values]
        shapes = list(dict.fromkeys(row.shape for row in rows))
        if len(shapes) > 1:
            raise InputError(
                f"rows of labels must be alike, got some of shape {shapes[0]} and some of shape "
                f"{shapes[1]}; put NaN where a label is missing."
            )
        return np.array(rows)
    return _objects(values)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of objects ``[len(values)]``, also of those that are sequences themselves."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _hashable(value: Any) -> Hashable:
    if isinstance(value, list):
        return tuple(_hashable(part) for part in value)
    # 1.0 and 1 are one label; PyG often stores classes as floats.
    return int(value) if isinstance(value, float) and value.is_integer() else value
