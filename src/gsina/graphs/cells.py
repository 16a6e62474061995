"""What the text of a cell means: a number, or that nothing is known."""

from __future__ import annotations

import math
import re

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


def is_infinite(cell: str) -> bool:
    """Whether a cell is infinity, by name or as a number beyond all others such as 1e400."""
    try:
        return math.isinf(float(cell))
    except ValueError:
        return False


def plain(value: float) -> str:
    """The one way to write a number that is the name of a class: 1 for 1.0 and 1e0."""
    return f"{value:.15g}"


def not_a_number(cell: str) -> str:
    """What to do about a cell that a person reads as a number, and a program does not; or ``""``.

    Decimal commas (``1,5``) and bounds (``<1646``).
    """
    text = cell.strip()
    if re.fullmatch(r"[+-]?[\d.\s]*\d,\d+([eE][+-]?\d+)?", text):
        return (
            "it has a decimal comma: write a decimal point, for instance by saving the table with "
            "the number format of another language"
        )
    if text[:1] in "<>≤≥~≈" and number(text.lstrip("<>=≤≥~≈ ").replace(",", ".")) is not None:
        return (
            "it is a bound and not a number: write the number alone if that is near enough, or "
            "leave the cell empty"
        )
    return ""


def inert(cell: str) -> str:
    """The cell as a spreadsheet shows it and never runs it.

    Programs for tables take text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage
    return for a formula, which may fetch addresses or start programs; an apostrophe before it makes
    it text. Numbers stay as they are.
    """
    formula = cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if formula and number(cell) is None and not is_infinite(cell) else cell
