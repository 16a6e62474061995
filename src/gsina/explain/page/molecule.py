"""Places, element symbols and bond orders of a molecule, from RDKit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gsina.molecules.features import parse

_CHARGES = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")


#: Larger molecules are drawn as any graph is: RDKit takes a minute for a chain of 3,000 atoms.
LARGEST_DRAWN = 800


class MoleculeDrawing(NamedTuple):
    """How a chemist would draw it.

    Attributes:
        positions: Places of the atoms ``[N, 2]``.
        symbols: Element and charge of each atom.
        orders: Order of the bond between two atoms, under both directions.
    """

    positions: NDArray[np.float64]
    symbols: tuple[str, ...]
    orders: dict[tuple[int, int], float]

    def matches(self, num_nodes: int, pairs: list[tuple[int, int]]) -> bool:
        """Whether a graph has these very atoms and bonds."""
        return num_nodes == len(self.symbols) and all(pair in self.orders for pair in pairs)


def draw_molecule(smiles: str) -> MoleculeDrawing | None:
    """The drawing of a SMILES string, or ``None`` where RDKit cannot read it or would take long."""
    try:
        molecule = parse(smiles)
    except ValueError:
        return None
    if molecule.GetNumAtoms() > LARGEST_DRAWN:
        return None
    from rdkit.Chem import rdDepictor

    rdDepictor.Compute2DCoords(molecule, canonOrient=True)
    places = molecule.GetConformer().GetPositions()[:, :2]
    orders: dict[tuple[int, int], float] = {}
    for bond in molecule.GetBonds():
        start, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        orders[start, end] = orders[end, start] = bond.GetBondTypeAsDouble()
    symbols = (atom.GetSymbol() + _charge(atom.GetFormalCharge()) for atom in molecule.GetAtoms())
    return MoleculeDrawing(np.asarray(places, dtype=np.float64), tuple(symbols), orders)


def _charge(charge: int) -> str:
    """A charge as chemists write it: one plus or minus, with the number before it from two on."""
    if charge == 0:
        return ""
    sign = "+" if charge > 0 else "-"
    return (sign if abs(charge) == 1 else f"{abs(charge)}{sign}").translate(_CHARGES)
