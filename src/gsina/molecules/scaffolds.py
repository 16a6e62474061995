"""The scaffold split of molecules, for when a benchmark's own split files are missing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.molecules.features import rdkit_chem
from gsina.parallel import parallel_map

CHUNK = 1000


def scaffold_split(
    smiles: Sequence[str], *, train: float = 0.8, val: float = 0.1, jobs: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split molecules so that no scaffold is on two sides.

    Molecules with one Bemis-Murcko scaffold (chirality ignored) form a set. Sets are dealt out
    from the largest to the smallest, of equal ones the later first, to the training split while
    they fit into its share, then to validation while they fit, else to test. This is the rule
    of MoleculeNet and OGB. Strings that are not molecules are sets of their own.

    Args:
        smiles: One string per molecule.
        train: Share of the training split.
        val: Share of the validation split; the rest is for testing.
        jobs: Number of processes, by default one per core; short lists need none.

    Returns:
        Rows of the training, validation and test split, which together are all rows.
    """
    if not (train > 0 and val >= 0 and train + val <= 1):
        raise InputError(
            f"the shares of train and val must be positive and at most 1 together, got {train} "
            f"and {val}."
        )
    count = len(smiles)
    sets: dict[str, list[int]] = {}
    for row, name in enumerate(scaffolds(smiles, jobs=jobs)):
        sets.setdefault(name, []).append(row)
    parts: tuple[list[int], ...] = ([], [], [])
    for members in sorted(sets.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(parts[0]) + len(members) <= train * count:
            parts[0].extend(members)
        elif len(parts[0]) + len(parts[1]) + len(members) <= (train + val) * count:
            parts[1].extend(members)
        else:
            parts[2].extend(members)
    first, second, third = (np.array(part, dtype=np.int64) for part in parts)
    return first, second, third


def scaffolds(smiles: Sequence[str], *, jobs: int | None = None) -> list[str]:
    """:func:`scaffold` of many strings, by default in one process per core."""
    pieces = [list(smiles[start : start + CHUNK]) for start in range(0, len(smiles), CHUNK)]
    return list(chain.from_iterable(parallel_map(_scaffolds, pieces, jobs=jobs)))


def scaffold(smiles: str) -> str:
    """The Bemis-Murcko scaffold of a molecule as SMILES, ``""`` if it has no ring.

    Of a string that is not a molecule, the string itself.
    """
    chem = rdkit_chem()
    from rdkit import rdBase

    with rdBase.BlockLogs():
        molecule = chem.MolFromSmiles(smiles)
        if molecule is None:
            molecule = _with_odd_valences(chem, smiles)
        return smiles if molecule is None else scaffold_of(molecule, smiles)


def scaffold_of(molecule: Any, otherwise: str) -> str:
    """The same of an RDKit molecule; ``otherwise`` if the scaffold has an odd valence."""
    from rdkit.Chem.Scaffolds import MurckoScaffold

    murcko: Any = MurckoScaffold  # It has no type hints.
    try:
        return str(murcko.MurckoScaffoldSmiles(mol=molecule, includeChirality=False))
    except ValueError:
        return otherwise


def _scaffolds(smiles: list[str]) -> list[str]:
    return [scaffold(text) for text in smiles]


def _with_odd_valences(chem: Any, smiles: str) -> Any:
    """A molecule whose valences are not checked: newer RDKit versions refuse what older took."""
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return None
    try:
        molecule.UpdatePropertyCache(strict=False)
        chem.SanitizeMol(molecule, chem.SANITIZE_ALL ^ chem.SANITIZE_PROPERTIES)
    except ValueError:
        return None
    return molecule
