"""Names of the features of nodes, for those who change them in the page."""

from __future__ import annotations

from typing import Any

from gsina.errors import MissingPackageError
from gsina.models.model import Model
from gsina.molecules.features import (
    ATOM_FEATURE_SIZES,
    CHIRALITIES,
    HYBRIDISATIONS,
    LOWEST_CHARGE,
    rdkit_chem,
)

#: The elements to offer first, by atomic number.
COMMON = (6, 7, 8, 9, 15, 16, 17, 35, 53, 5, 14)
#: Bonds that an atom usually has, by atomic number.
VALENCES = {5: 3, 6: 4, 7: 3, 8: 2, 9: 1, 14: 4, 15: 3, 16: 2, 17: 1, 35: 1, 53: 1}
#: Columns of the features of atoms that follow from its element.
ELEMENT, DEGREE, HYDROGENS = 0, 2, 4
_CHIRALITIES = ("none", "clockwise", "counterclockwise", "other")


def node_features(model: Model) -> dict[str, Any]:
    """What the page has to know of the features of nodes.

    Returns:
        ``columns``: name of every feature, with ``values`` if it has categories; of molecules also
        ``element``: what else changes with the element of an atom.
    """
    channels = model.architecture.node_channels
    if isinstance(channels, int):
        return {"columns": [{"name": f"feature {i + 1}"} for i in range(channels)]}
    columns: list[dict[str, Any]] = [
        {"name": f"feature {i + 1}", "values": [str(value) for value in range(size)]}
        for i, size in enumerate(channels)
    ]
    atoms = len(ATOM_FEATURE_SIZES)
    symbols = _symbols() if channels[:atoms] == ATOM_FEATURE_SIZES else ()
    if not symbols:
        return {"columns": columns}
    counts = ([str(value) for value in range(size - 1)] + ["more"] for size in (12, 10, 6))
    degree, hydrogens, radicals = counts
    charges = [f"{charge:+d}".replace("+0", "0") for charge in range(LOWEST_CHARGE, 6)]
    columns[:atoms] = [
        {"name": "element", "values": symbols, "common": [number - 1 for number in COMMON]},
        {"name": "chirality", "values": list(_CHIRALITIES[: len(CHIRALITIES) + 1])},
        {"name": "neighbours", "values": degree},
        {"name": "charge", "values": [*charges, "other"]},
        {"name": "hydrogens", "values": hydrogens},
        {"name": "radical electrons", "values": radicals},
        {"name": "hybridisation", "values": [*map(str.lower, HYBRIDISATIONS), "other"]},
        {"name": "aromatic", "values": ["no", "yes"]},
        {"name": "in a ring", "values": ["no", "yes"]},
    ]
    return {
        "columns": columns,
        "element": {
            "column": ELEMENT,
            "hydrogens": HYDROGENS,
            "degree": DEGREE,
            "valences": {number - 1: bonds for number, bonds in VALENCES.items()},
        },
    }


def _symbols() -> list[str]:
    """Symbols of all elements and a word for what is none; nothing without RDKit."""
    try:
        table = rdkit_chem().GetPeriodicTable()
    except MissingPackageError:
        return []
    return [table.GetElementSymbol(number) for number in range(1, 119)] + ["other"]
