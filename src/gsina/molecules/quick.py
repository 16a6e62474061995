"""Descriptors of molecules that RDKit has computed in a tenth of a millisecond.

Of its 217 descriptors, most of the time goes to those that are written in Python, to 85 functional
groups that are each sought by themselves, to paths of several bonds, and to the atom types of
Crippen's partition coefficient. These are others: weight, surfaces by charge, connectivity, kinds
of rings, and the 42 molecular quantum numbers, which count atoms, bonds, polar groups and rings.
Nguyen, Blum, van Deursen, Reymond, "Classification of organic molecules by molecular quantum
numbers", 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

#: Functions of ``rdkit.Chem.rdMolDescriptors`` with one number each.
SINGLE = (
    *("CalcExactMolWt", "CalcTPSA", "CalcLabuteASA", "CalcFractionCSP3", "CalcHallKierAlpha"),
    *("CalcChi0v", "CalcChi1v", "CalcChi0n", "CalcChi1n", "CalcKappa1"),
    *("CalcNumRings", "CalcNumHeterocycles", "CalcNumSpiroAtoms", "CalcNumBridgeheadAtoms"),
    *(
        f"CalcNum{which}{rings}"
        for which in ("Aromatic", "Aliphatic", "Saturated")
        for rings in ("Rings", "Heterocycles", "Carbocycles")
    ),
)
#: Functions with several, and how many.
SEVERAL = {"PEOE_VSA_": 14, "MQNs_": 42}


def quick_names() -> list[str]:
    """Names of the descriptors, in order."""
    single = [name.removeprefix("Calc") for name in SINGLE]
    several = [
        f"{name.removeprefix('Calc').removesuffix('_')} {number}"
        for name, count in SEVERAL.items()
        for number in range(1, count + 1)
    ]
    return single + several


def quick_values(molecule: Any) -> list[float]:
    """The descriptors of an RDKit molecule; some may be NaN."""
    one, many = _functions()
    values: list[float] = [function(molecule) for function in one]
    for function in many:
        values += function(molecule)
    return values


@cache
def _functions() -> tuple[list[Callable[[Any], float]], list[Callable[[Any], list[float]]]]:
    from rdkit.Chem import rdMolDescriptors

    return (
        [getattr(rdMolDescriptors, name) for name in SINGLE],
        [getattr(rdMolDescriptors, name) for name in SEVERAL],
    )
