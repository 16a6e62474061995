"""Molecules as graphs with DrugOOD's 39 atom and 10 bond features.

Ji et al., "DrugOOD: Out-of-Distribution Dataset Curator and Benchmark for AI-aided Drug Discovery",
2022. An atom has one-hot element (16), degree (6), hybridisation (6) and implicit hydrogens (5),
the numbers charge and radical electrons, and the flags aromatic, chirality possible, CIP R and CIP
S; a bond one-hot type (4) and stereo (4), and the flags conjugated and in a ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.molecules.features import HYBRIDISATIONS, MoleculeRows, bond_rows, rdkit_chem
from gsina.molecules.packing import Failure, OnProgress, collect

#: Goes into the names of cached datasets; raise it when a feature changes.
FEATURES_VERSION = 1

ELEMENTS = ("B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "Te", "I", "At")
BOND_TYPES = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
STEREO = ("STEREONONE", "STEREOANY", "STEREOZ", "STEREOE")
LARGEST_DEGREE = 5
#: Widths of the coded columns of an atom: above 1 one-hot, 1 as it is; in all 39.
ATOM_WIDTHS = (16, 6, 1, 1, 6, 1, 5, 1, 2)
BOND_WIDTHS = (4, 1, 1, 4)
ATOM_FEATURES, BOND_FEATURES = sum(ATOM_WIDTHS), sum(BOND_WIDTHS)

_ELEMENT = {name: place for place, name in enumerate(ELEMENTS)}
_HYBRIDISATION = {name: place for place, name in enumerate(HYBRIDISATIONS)}
_BOND = {name: place for place, name in enumerate(BOND_TYPES)}
_STEREO = {name: place for place, name in enumerate(STEREO)}
_CIP = {"R": 0, "S": 1}


class Molecules(NamedTuple):
    """What :func:`pack_drugs` returns.

    Attributes:
        graphs: The molecules that could be read, without labels: ``x`` float ``[N, 39]``,
            ``edge_attr`` float ``[E, 10]``; each bond is two edges, one behind the other.
        kept: The row of every graph, ascending.
        failures: The other rows, with reasons.
    """

    graphs: PackedGraphs
    kept: list[int]
    failures: list[Failure]


def pack_drugs(
    smiles: Sequence[str], *, jobs: int | None = None, progress: OnProgress | None = None
) -> Molecules:
    """Turn SMILES strings into graphs.

    A molecule without a bond, or with an atom of more than five neighbours, is a failure: the
    benchmark leaves such ones out.

    Args:
        smiles: One string per molecule.
        jobs: Number of processes, by default one per core.
        progress: Called with the number of pieces done and the total.
    """
    sizes = (len(ATOM_WIDTHS), len(BOND_WIDTHS))
    found = collect(smiles, _codes, sizes, jobs=jobs, progress=progress)
    graphs = found.pack(_expand(found.atoms, ATOM_WIDTHS), _expand(found.bonds, BOND_WIDTHS))
    return Molecules(graphs, found.kept.tolist(), found.failures)


def _expand(codes: NDArray[np.int8], widths: Sequence[int]) -> torch.Tensor:
    """Coded columns ``[N, len(widths)]`` to features; a code outside its width gives zeros."""
    columns = [
        code[:, None] == np.arange(width) if width > 1 else code[:, None]
        for code, width in zip(codes.T, widths, strict=True)
    ]
    return torch.from_numpy(np.concatenate(columns, axis=1).astype(np.float32))


def _codes(molecule: Any) -> MoleculeRows:
    """Coded atoms, the two ends of every edge, and coded bonds of one molecule."""
    chem = rdkit_chem()
    chem.AssignStereochemistry(molecule, cleanIt=True, force=True, flagPossibleStereoCenters=True)
    atoms = [_atom(atom) for atom in molecule.GetAtoms()]
    if any(code[1] > LARGEST_DEGREE for code in atoms):
        raise InputError(f"an atom has more than {LARGEST_DEGREE} neighbours")
    ends, bonds = bond_rows(molecule, _bond)
    if not ends:
        raise InputError("it has no bond")
    return atoms, ends, bonds


def _bond(bond: Any) -> tuple[int, ...]:
    return (
        _BOND.get(str(bond.GetBondType()), -1),
        int(bond.GetIsConjugated()),
        int(bond.IsInRing()),
        _STEREO.get(str(bond.GetStereo()), -1),
    )


def _atom(atom: Any) -> tuple[int, ...]:
    possible = bool(atom.HasProp("_ChiralityPossible"))
    cip = atom.GetProp("_CIPCode") if possible and atom.HasProp("_CIPCode") else ""
    return (
        _ELEMENT.get(atom.GetSymbol(), len(ELEMENTS)),
        atom.GetDegree(),
        atom.GetFormalCharge(),
        atom.GetNumRadicalElectrons(),
        _HYBRIDISATION.get(str(atom.GetHybridization()), len(HYBRIDISATIONS)),
        int(atom.GetIsAromatic()),
        atom.GetNumImplicitHs(),
        int(possible),
        _CIP.get(cip, -1),
    )
