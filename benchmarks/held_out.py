"""What studies of defaults share: answers that are kept, and tables of all candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Cell, Table
from gsina.files import cache_dir, write_aside

Floats = NDArray[np.float64]
#: Logits by split.
Answers = dict[str, Floats]


def kept(folder: str, name: str, make: Callable[[], Answers]) -> Answers:
    """Answers that are kept in a cache folder, so that an interrupted study goes on."""
    path = cache_dir() / folder / f"{name}.npz"
    if path.exists():
        with np.load(path) as found:
            return dict(found)
    made = make()
    with write_aside(path) as file:
        np.savez(file, **made)
    return made


def tables_of(
    scores: Mapping[str, Sequence[float]],
    held: Sequence[tuple[Any, ...]],
    chosen: str,
    what: str,
) -> list[Table]:
    """All candidates by group and on average, the best first; and every division.

    Args:
        scores: Of every candidate, one per division.
        held: The divisions; each begins with its data, its rule and its number.
        chosen: The candidate that others are compared with.
        what: What a division is called, such as ``fold``.
    """
    groups = list(dict.fromkeys(one[:2] for one in held))
    rows: list[tuple[Cell, ...]] = []
    for name in sorted(scores, key=lambda one: -mean(scores[one])):
        of_group = [
            mean(score for score, one in zip(scores[name], held, strict=True) if one[:2] == group)
            for group in groups
        ]
        apart = [ours - best for ours, best in zip(scores[name], scores[chosen], strict=True)]
        error = stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
        rows.append(
            (
                name,
                round(mean(scores[name]), 2),
                *(round(score, 1) for score in of_group),
                f"{mean(apart):+.2f} +- {error:.2f}",
            )
        )
    columns = ("candidate", "mean", *(" ".join(group) for group in groups), "minus the chosen")
    every: list[tuple[Cell, ...]] = [
        (*one[:3], *(round(of_one[place], 2) for of_one in scores.values()))
        for place, one in enumerate(held)
    ]
    return [
        Table(f"ROC-AUC of what is held out, mean over {what}s", columns, rows),
        Table(f"Every {what}", ("data", "split", what, *scores), every),
    ]
