"""Quick descriptors: those of RDKit by their names, in order, and quick."""

from __future__ import annotations

import numpy as np
from rdkit import Chem
from rdkit.Chem import Descriptors, rdMolDescriptors

from gsina.molecules.descriptors import describe, is_count
from gsina.molecules.quick import quick_names, quick_values

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def test_values_stand_where_their_names_do() -> None:
    molecule = Chem.MolFromSmiles(ASPIRIN)
    values, names = quick_values(molecule), quick_names()
    assert len(values) == len(names) == len(set(names)) == 79
    found = dict(zip(names, values, strict=True))
    assert found["ExactMolWt"] == Descriptors.ExactMolWt(molecule)
    assert found["TPSA"] == Descriptors.TPSA(molecule)
    assert found["NumAromaticRings"] == 1
    assert found["PEOE_VSA 3"] == rdMolDescriptors.PEOE_VSA_(molecule)[2]
    assert found["MQNs 1"] == 9  # atoms of carbon
    assert found["MQNs 42"] == rdMolDescriptors.MQNs_(molecule)[-1]


def test_odd_molecules_have_numbers_or_none() -> None:
    odd = [Chem.MolFromSmiles(text) for text in ("[Na+].[Cl-]", "[U]", "[2H][2H]", "C" * 300, "*")]
    values, names = describe(odd, ["quick", "counts"])
    assert values.shape == (5, 79 + 2048)
    assert not np.isinf(values).any()
    assert [is_count(name) for name in names] == [False] * 79 + [True] * 2048
    assert is_count("solute: counts 3")
    assert not is_count("counts: NumRings")


def test_counts_say_how_often() -> None:
    values, _ = describe([Chem.MolFromSmiles(text) for text in ("CCCC", ASPIRIN)], ["counts"])
    bits, _ = describe([Chem.MolFromSmiles(text) for text in ("CCCC", ASPIRIN)], ["morgan"])
    assert ((values > 0) == (bits > 0)).all()
    assert values[0].max() == 2
