"""Molecules as graphs: the nine atom and three bond features of the Open Graph Benchmark.

Every feature is the position of a value in a published list, and every list ends in an entry for
all that is not in it. Hu et al., "Open Graph Benchmark: Datasets for Machine Learning on Graphs",
NeurIPS 2020 (their feature tables, with 173 atom and 13 bond entries).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError, MissingPackageError

#: Goes into the names of cached datasets; raise it when a feature changes.
FEATURES_VERSION = 1

#: Atomic number, chirality, degree, charge, hydrogens, radical electrons, hybridisation, aromatic,
#: in a ring.
ATOM_FEATURE_SIZES = (119, 4, 12, 12, 10, 6, 6, 2, 2)
#: Bond type, stereo, conjugated.
BOND_FEATURE_SIZES = (5, 6, 2)

HYBRIDISATIONS = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
CHIRALITIES = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW")
BOND_TYPES = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
LOWEST_CHARGE = -5
#: Features of every aromatic bond: its type, no stereo, conjugated.
AROMATIC_BOND = (3, 0, 1)
STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS")

#: Molecules that are not read again: as many as there are rows in a piece of a file.
REMEMBERED = 2048
#: Characters of the longest SMILES, and atoms of the largest molecule. The time and the memory of
#: RDKit's fingerprints grow with the square of the latter.
LONGEST_SMILES, MOST_ATOMS = 100_000, 10_000
#: How an InChI starts.
INCHI = "InChI="
#: Features of the atoms, start and end of the edges, and features of the edges of one molecule.
MoleculeRows = tuple[list[tuple[int, ...]], list[tuple[int, int]], list[tuple[int, ...]]]


class MolGraph(NamedTuple):
    """One molecule; each bond is two edges, one behind the other.

    Attributes:
        x: Atom features ``[N, 9]``, int64.
        edge_index: Source and target atom of every edge ``[2, E]``, int64.
        edge_attr: Bond features ``[E, 3]``, int64.
    """

    x: NDArray[np.int64]
    edge_index: NDArray[np.int64]
    edge_attr: NDArray[np.int64]


def rdkit_chem() -> Any:
    """The module ``rdkit.Chem``, or an error that says how to install it."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingPackageError(
            "molecules are read with RDKit, which is not installed: pip install gsina[mol]."
        ) from error
    return Chem


def parse(smiles: Any) -> Any:
    """The RDKit molecule of a SMILES string, or of an InChI.

    A molecule is taken as its SMILES would give it: checked, and its hydrogens not as atoms. The
    other atoms keep their order.

    Raises:
        InputError: If there is none; the message is RDKit's reason.
    """
    chem = rdkit_chem()
    from rdkit import rdBase

    with rdBase.BlockLogs():  # RDKit writes its complaints to the terminal.
        if isinstance(smiles, chem.Mol):
            return _checked(chem, smiles)
        if not isinstance(smiles, str):
            raise InputError(f"it is a {type(smiles).__name__}, expected SMILES or a molecule")
        if len(smiles.splitlines()) > 1:  # RDKit would read the first line and drop the others
            raise InputError("it has a line break inside")
        if len(smiles) > LONGEST_SMILES:
            raise InputError(f"it has {len(smiles)} characters, expected at most {LONGEST_SMILES}")
        inchi = smiles.startswith(INCHI)
        molecule = (chem.MolFromInchi if inchi else chem.MolFromSmiles)(smiles)
        if molecule is None:
            raise InputError("it is not a valid InChI" if inchi else _reason(chem, smiles))
    return _of_fair_size(molecule)


def parse_shared(smiles: Any) -> Any:
    """As :func:`parse`, but a text that was read lately is not read again.

    The graphs of a piece of a file are made first, and then fingerprints and descriptors of the
    same molecules. What is returned must not be changed.
    """
    return _remembered(smiles) if isinstance(smiles, str) else parse(smiles)


_remembered = lru_cache(maxsize=REMEMBERED)(parse)


def featurise(smiles: str) -> MolGraph:
    """The graph of one molecule.

    Args:
        smiles: A SMILES string.

    Raises:
        InputError: If RDKit cannot read it, with the reason.
    """
    rdkit_chem()  # its absence is not the fault of the SMILES
    try:
        atoms, ends, bonds = rows(parse(smiles))
    except ValueError as error:
        raise InputError(f"cannot read the SMILES {smiles!r}: {error}.") from error
    return MolGraph(
        x=np.array(atoms, dtype=np.int64).reshape(-1, len(ATOM_FEATURE_SIZES)),
        edge_index=np.array(ends, dtype=np.int64).reshape(-1, 2).T.copy(),
        edge_attr=np.array(bonds, dtype=np.int64).reshape(-1, len(BOND_FEATURE_SIZES)),
    )


def rows(molecule: Any) -> MoleculeRows:
    """Atom features, the two ends of every edge, and bond features, as lists of rows."""
    hybridisation, chirality, bond_type, stereo = _positions()
    get = molecule.GetAtomWithIdx  # iterating over GetAtoms() takes half as long again
    # What is an enumeration takes RDKit longest to hand over, and few atoms are chiral.
    chiral = {
        atom.GetIdx(): chirality.get(atom.GetChiralTag(), len(chirality))
        for atom in molecule.GetAtomsMatchingQuery(_chiral())
    }
    # Every value that has no place in its list goes to the last place; written out, for speed.
    atoms: list[tuple[int, ...]] = [
        (
            value - 1 if 0 < (value := atom.GetAtomicNum()) < 119 else 118,
            chiral.get(number, 0),
            value if (value := atom.GetTotalDegree()) < 11 else 11,
            value - LOWEST_CHARGE if LOWEST_CHARGE <= (value := atom.GetFormalCharge()) < 6 else 11,
            value if (value := atom.GetTotalNumHs()) < 9 else 9,
            value if (value := atom.GetNumRadicalElectrons()) < 5 else 5,
            hybridisation.get(atom.GetHybridization(), 5),
            int(atom.GetIsAromatic()),
            int(atom.IsInRing()),
        )
        for number, atom in enumerate(map(get, range(molecule.GetNumAtoms())))
    ]
    ends, bonds = bond_rows(
        molecule,
        lambda bond: (
            AROMATIC_BOND
            if bond.GetIsAromatic()
            else (
                bond_type.get(bond.GetBondType(), len(bond_type)),
                stereo.get(bond.GetStereo(), len(stereo)),
                int(bond.GetIsConjugated()),
            )
        ),
    )
    return atoms, ends, bonds


def bond_rows(
    molecule: Any, featurise: Callable[[Any], tuple[int, ...]]
) -> tuple[list[tuple[int, int]], list[tuple[int, ...]]]:
    """Ends and features of the edges of a molecule; each bond is two, one behind the other."""
    ends: list[tuple[int, int]] = []
    bonds: list[tuple[int, ...]] = []
    for bond in map(molecule.GetBondWithIdx, range(molecule.GetNumBonds())):
        start, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += ((start, end), (end, start))
        bonds += (featurise(bond),) * 2
    return ends, bonds


@cache
def _chiral() -> Any:
    """A query for atoms with a chirality."""
    from rdkit.Chem.rdqueries import HasChiralTagQueryAtom

    return HasChiralTagQueryAtom()


@cache
def _positions() -> tuple[dict[Any, int], ...]:
    """Positions of RDKit's values in the lists of names."""
    chem = rdkit_chem()
    return tuple(
        {getattr(kind, name): place for place, name in enumerate(names)}
        for kind, names in (
            (chem.HybridizationType, HYBRIDISATIONS),
            (chem.ChiralType, CHIRALITIES),
            (chem.BondType, BOND_TYPES),
            (chem.BondStereo, STEREO),
        )
    )


def _checked(chem: Any, molecule: Any) -> Any:
    """A copy of a molecule without hydrogen atoms, as :func:`parse` gives it."""
    try:
        molecule = chem.RemoveHs(molecule)
    except ValueError as error:
        raise InputError(str(error).strip().rstrip(".")) from error
    return _of_fair_size(molecule)


def _of_fair_size(molecule: Any) -> Any:
    """A molecule that has atoms, and not too many for what is computed from it."""
    atoms = molecule.GetNumAtoms()
    if atoms == 0:
        raise InputError("it has no atoms")
    if atoms > MOST_ATOMS:
        raise InputError(f"it has {atoms} atoms, expected at most {MOST_ATOMS}")
    return molecule


def _reason(chem: Any, smiles: str) -> str:
    """Why RDKit does not take a SMILES string, without a full stop."""
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return "it is not a SMILES string"
    try:
        chem.SanitizeMol(molecule)
    except ValueError as error:  # All of RDKit's chemistry errors are of this kind.
        return str(error).strip().rstrip(".")
    return "RDKit rejects it"
