"""What the text of a cell means: a number, or that nothing is known."""

from __future__ import annotations

import math

#: Cells that mean "not known", whatever their case.
MISSING = frozenset({"", "nan", "na", "n/a", "null", "?"})


def is_missing(cell: str) -> bool:
    """Whether a cell means "not known"."""
    return cell.strip().lower() in MISSING


def number(cell: str) -> float | None:
    """The finite number in a cell, ``None`` if it is something else."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python reads 1_000 as a number; a user who writes it means text.
    return value if math.isfinite(value) and "_" not in cell else None


def plain(value: float) -> str:
    """The one way to write a number that is the name of a class: 1 for 1.0 and 1e0."""
    return f"{value:.15g}"
