from __future__ import annotations

import sys

import numpy as np
import pytest

from gsina.errors import InputError
from gsina.molecules.features import (
    ATOM_FEATURE_SIZES,
    BOND_FEATURE_SIZES,
    featurise,
    parse,
    parse_shared,
)

pytest.importorskip("rdkit")

MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "C[C@H](N)C(=O)O",
    "[Na+].[O-]S(=O)(=O)c1ccccc1",
    "O=C1O[Al]2OC1=O2",
    "[2H]C([2H])([2H])S(C)=O",
    "F/C=C/Cl.F/C=C\\Br",
    "C1CC1[CH2].[O][O]",
    "c1ccc2[nH]ccc2c1",
    "*CC#N",
)


def test_a_text_is_read_once_unless_it_is_to_be_changed() -> None:
    assert parse_shared("CCO") is parse_shared("CCO")
    assert parse("CCO") is not parse("CCO")
    assert parse("CCO") is not parse_shared("CCO")
    mine = parse("CCN")
    assert parse_shared(mine) is not mine
    for _ in range(2):
        with pytest.raises(InputError):
            parse_shared("no molecule")


def test_table_sizes_are_the_published_ones() -> None:
    assert sum(ATOM_FEATURE_SIZES) == 173
    assert sum(BOND_FEATURE_SIZES) == 13


def test_benzene() -> None:
    graph = featurise("c1ccccc1")
    # Carbon, no chirality, degree 3 with its hydrogen, no charge, one H, SP2, aromatic, in a ring.
    assert graph.x.tolist() == [[5, 0, 3, 5, 1, 0, 1, 1, 1]] * 6
    assert graph.edge_attr.tolist() == [[3, 0, 1]] * 12
    assert graph.x.dtype == graph.edge_index.dtype == graph.edge_attr.dtype == np.int64


def test_ethanol() -> None:
    graph = featurise("CCO")
    assert graph.x.tolist() == [
        [5, 0, 4, 5, 3, 0, 2, 0, 0],
        [5, 0, 4, 5, 2, 0, 2, 0, 0],
        [7, 0, 2, 5, 1, 0, 2, 0, 0],
    ]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_attr.tolist() == [[0, 0, 0]] * 4


def test_single_atom_has_no_edges() -> None:
    graph = featurise("[NH4+]")
    assert graph.x.tolist() == [[6, 0, 4, 6, 4, 0, 2, 0, 0]]
    assert graph.edge_index.shape == (2, 0)
    assert graph.edge_attr.shape == (0, 3)


@pytest.mark.parametrize(
    ("smiles", "atom", "feature", "value"),
    [
        ("[H][H]", 0, 0, 0),
        ("*C", 0, 0, 118),  # Any atom.
        ("[Og]", 0, 0, 117),
        ("N[C@@H](C)C(=O)O", 1, 1, 1),
        ("N[C@H](C)C(=O)O", 1, 1, 2),
        ("NC(C)C(=O)O", 1, 1, 0),
        ("C[Pt@SP1](F)(Cl)Br", 1, 1, 3),  # A square plane is none of the named chiralities.
        ("FS(F)(F)(F)(F)F", 1, 2, 6),
        ("[O-2]", 0, 3, 3),
        ("[N-3]", 0, 3, 2),
        ("[U+5]", 0, 3, 10),
        ("[U+6]", 0, 3, 11),
        ("[CH3]", 0, 5, 1),
        ("C#C", 0, 6, 0),
        ("C=C", 0, 6, 1),
        ("FP(F)(F)(F)F", 1, 6, 3),
        ("FS(F)(F)(F)(F)F", 1, 6, 4),
        ("[H+]", 0, 6, 5),
        ("C1CC1C", 0, 8, 1),
        ("C1CC1C", 3, 8, 0),
        ("C1CC1C", 0, 7, 0),
    ],
)
def test_atom_features(smiles: str, atom: int, feature: int, value: int) -> None:
    assert featurise(smiles).x[atom, feature] == value


@pytest.mark.parametrize(
    ("smiles", "bond", "expected"),
    [
        ("CC", 0, [0, 0, 0]),
        ("C#N", 0, [2, 0, 0]),
        ("F/C=C\\F", 1, [1, 1, 0]),
        ("F/C=C/F", 1, [1, 2, 0]),
        ("C=CC=C", 1, [0, 0, 1]),
        ("[NH3]->[Cu]", 0, [4, 0, 0]),  # Dative: none of the four types.
    ],
)
def test_bond_features(smiles: str, bond: int, expected: list[int]) -> None:
    edge_attr = featurise(smiles).edge_attr
    assert edge_attr[2 * bond].tolist() == edge_attr[2 * bond + 1].tolist() == expected


@pytest.mark.parametrize("smiles", MOLECULES)
def test_shapes_and_ranges(smiles: str) -> None:
    graph = featurise(smiles)
    assert ((graph.x >= 0) & (graph.x < ATOM_FEATURE_SIZES)).all()
    assert ((graph.edge_attr >= 0) & (graph.edge_attr < BOND_FEATURE_SIZES)).all()
    assert graph.edge_index.flags.c_contiguous
    there, back = graph.edge_index[:, 0::2], graph.edge_index[:, 1::2]
    assert (there == back[::-1]).all()
    assert (graph.edge_attr[0::2] == graph.edge_attr[1::2]).all()


@pytest.mark.parametrize("smiles", MOLECULES)
def test_agrees_with_pyg(smiles: str) -> None:
    from torch_geometric.utils import from_smiles

    ours, theirs = featurise(smiles), from_smiles(smiles)
    x = theirs.x.numpy()
    # PyG's lists are longer than OGB's, but start at the same place in these columns.
    for column in (2, 3, 4, 5, 7, 8):
        assert (ours.x[:, column] == x[:, column]).all()
    assert ((ours.x[:, 0] == x[:, 0] - 1) | (x[:, 0] == 0)).all()
    order = np.lexsort(ours.edge_index[::-1])
    assert (ours.edge_index[:, order] == theirs.edge_index.numpy()).all()


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("", "no atoms"),
        ("hello", "not a SMILES string"),
        ("C1CC", "not a SMILES string"),
        ("CN(C)(C)C", "valence for atom # 1 N, 4, is greater than permitted"),
        ("c1cccc1", "kekulize"),
        ("C" * 10_001, "it has 10001 atoms, expected at most 10000"),
        ("C" * 100_001, "it has 100001 characters, expected at most 100000"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_a_molecule(
    smiles: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=reason) as error:
        featurise(smiles)
    assert repr(smiles) in str(error.value)
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"pip install gsina\[mol\]"):
        featurise("C")
