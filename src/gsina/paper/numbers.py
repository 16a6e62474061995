"""Numbers printed in the paper, for comparison in reports."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class PaperNumber(NamedTuple):
    """Mean and standard deviation as printed; percent, or a fraction for precision@5."""

    mean: float
    std: float | None


@cache
def _numbers() -> dict[str, dict[str, list[float | None]]]:
    text = files("gsina.paper").joinpath("numbers.json").read_text(encoding="utf-8")
    numbers: dict[str, dict[str, list[float | None]]] = json.loads(text)
    return numbers


def paper_number(table: str, method: str, backbone: str, dataset: str) -> PaperNumber | None:
    """The paper's number for a cell, or ``None`` if it prints none.

    Args:
        table: Name of the table here, such as ``gsat``.
        method: As printed, in lower case: ``gsina``, ``erm``, ``gsina w/o gumbel``.
        backbone: ``gin``, ``pna``, ``spmotifnet``; ``own`` where the method brings its own.
        dataset: Name of the dataset here, such as ``spmotif-0.5``.
    """
    found = _numbers().get(table, {}).get(f"{method} | {backbone} | {dataset}")
    return None if found is None or found[0] is None else PaperNumber(found[0], found[1])
