"""From labels of any kind to those that a task knows, and back."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.task import Task

#: More different labels that are no whole numbers are surely measurements.
MOST_BROKEN = 20


def as_array(y: Any, count: int, what: str) -> NDArray[Any]:
    """Labels as an array ``[count]`` or ``[count, outputs]``."""
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
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a label is ``None`` or NaN."""
    if values.dtype == object:
        return np.array([value is None or _is_nan(value) for value in values], dtype=bool)
    if np.issubdtype(values.dtype, np.floating):
        nan: NDArray[np.bool_] = np.isnan(values)
        return nan
    return np.zeros(values.shape, dtype=bool)


def find_classes(values: NDArray[Any]) -> list[Hashable]:
    """The labels that occur, sorted if they can be compared, else in order of appearance."""
    found = list(dict.fromkeys(_hashable(value) for value in values[~missing(values)].tolist()))
    broken = [value for value in found if isinstance(value, float)]
    if len(broken) > MOST_BROKEN:
        raise InputError(
            f"a classifier needs classes, got {len(broken)} labels such as {broken[0]:g}; round "
            "them, or predict numbers (GraphRegressor, or gsina train --task regression)."
        )
    with contextlib.suppress(TypeError):
        found = sorted(found)  # type: ignore[type-var]
    if len(found) < 2:
        raise InputError(
            f"a classifier needs at least two classes, got {len(found)} "
            f"({', '.join(map(repr, found)) or 'all labels are missing'})."
        )
    return found


def encode(values: NDArray[Any], classes: Sequence[Hashable], task: Task) -> Tensor:
    """Labels as the task has them; -1 or NaN where they are missing.

    Raises:
        InputError: A label is none of the classes.
    """
    if values.ndim == 2:
        return torch.from_numpy(np.asarray(values, dtype=np.float32))
    place = {label: number for number, label in enumerate(classes)}
    gone = missing(values)
    try:
        numbers = [
            -1 if lost else place[_hashable(value)]
            for value, lost in zip(values.tolist(), gone, strict=True)
        ]
    except KeyError as error:
        known = ", ".join([*map(repr, classes[:10]), "..."][: len(classes)])
        raise InputError(
            f"label {error} is none of the classes that the model was fitted on: {known}."
        ) from None
    found = torch.tensor(numbers, dtype=torch.long)
    if task.kind == "multiclass":
        return found
    return torch.where(found < 0, math.nan, found.float()).view(-1, 1)


def as_labels(classes: Sequence[Hashable]) -> NDArray[Any]:
    """Classes as an array ``[K]``: of numbers or text where all are, else of objects."""
    if len({type(label) for label in classes}) == 1 and isinstance(
        classes[0], bool | int | float | str
    ):
        return np.array(classes)
    array = np.empty(len(classes), dtype=object)
    array[:] = list(classes)
    return array


def _hashable(value: Any) -> Hashable:
    if isinstance(value, list):
        return tuple(_hashable(part) for part in value)
    # 1.0 and 1 are one label; PyG often stores classes as floats.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
