"""Fingerprints and descriptors of whole molecules."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gsina.errors import InputError, MissingPackageError
from gsina.molecules import descriptors
from gsina.molecules.descriptors import choose, describe, describe_smiles, varying

chem = pytest.importorskip("rdkit.Chem")

SMILES = ["CCO", "c1ccccc1C(=O)O", "[Na+].[Cl-]", "CC(C)Cc1ccc(cc1)C(C)C(=O)O"]


def test_the_values_are_those_of_rdkit() -> None:
    from rdkit.Chem import Descriptors, rdMolDescriptors

    molecules = [chem.MolFromSmiles(text) for text in SMILES]
    values, names = describe(molecules, ["morgan", "rdkit"])
    assert values.shape == (4, len(names))
    assert len(names) == len(set(names))
    for row, molecule in zip(values, molecules, strict=True):
        bits = rdMolDescriptors.GetMorganFingerprintAsBitVect(molecule, 2, 2048)
        assert np.flatnonzero(row[:2048]).tolist() == list(bits.GetOnBits())
        assert row[names.index("MolWt")] == pytest.approx(Descriptors.MolWt(molecule), rel=1e-6)
    other_way, _ = describe(molecules, ["rdkit", "morgan"])
    np.testing.assert_array_equal(other_way[:, -2048:], values[:, :2048])


def test_what_is_not_finite_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(molecule: object) -> float:
        raise ZeroDivisionError

    odd = [
        ("huge", lambda molecule: 1e300),
        ("nan", lambda molecule: float("nan")),
        ("fails", fails),
        ("one", lambda molecule: 1.0),
    ]
    monkeypatch.setattr(descriptors, "_rdkit_functions", lambda: odd)
    values, names = describe([chem.MolFromSmiles("C")], ["rdkit"])
    assert names == ("huge", "nan", "fails", "one")
    np.testing.assert_array_equal(values, [[np.nan, np.nan, np.nan, 1]])


def test_what_is_not_wanted_is_not_computed_and_the_rest_is_the_same() -> None:
    from rdkit.Chem import Descriptors

    texts = [*SMILES, "C[C@H](N)C(=O)O", "C" * 250]
    all_values, names = describe_smiles(texts, ["rdkit"])
    wanted = ["qed", "MaxEStateIndex", "MinAbsEStateIndex", "VSA_EState3", "fr_benzene"]
    some, again = describe_smiles(texts, ["rdkit"], wanted=wanted)
    assert names == again
    chosen = [name in wanted for name in names]
    np.testing.assert_array_equal(some[:, chosen], all_values[:, chosen])
    assert np.isnan(some[:, np.logical_not(chosen)]).all()
    for place, (_, function) in enumerate(Descriptors.descList):  # on molecules of their own
        fresh = [np.float32(function(chem.MolFromSmiles(text))) for text in texts[:-1]]
        np.testing.assert_array_equal(np.array(fresh), all_values[:-1, place])


def test_many_strings_come_from_the_cache_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    many = SMILES * 30
    steps: list[tuple[int, int | None]] = []
    first, names = describe_smiles(many, ["rdkit"], lambda *step: steps.append(step), cached=True)
    assert steps[-1] == (120, 120)
    alone, _ = describe([chem.MolFromSmiles(text) for text in SMILES], ["rdkit"])
    np.testing.assert_array_equal(first, np.tile(alone, (30, 1)))
    assert len(list(tmp_path.iterdir())) == 1
    describe_smiles(many[::-1], ["rdkit"])
    describe_smiles(many, ["morgan"], cached=True)  # quicker to make than to read
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(descriptors, "_describe_all", None)
    second, again = describe_smiles(many, ["rdkit"], cached=True)
    np.testing.assert_array_equal(first, second)
    assert names == again


def test_columns_are_found_by_name() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(choose(values, "abc", "ca"), [[2, 0], [5, 3]])
    with pytest.raises(InputError, match=r"descriptor 'gone', which RDKit .* does not have"):
        choose(values, "abc", ["a", "gone"])


def test_what_does_not_vary_is_found() -> None:
    values = np.array([[1, 5, np.nan, np.nan], [1, 6, 2, np.nan], [1, 5, 3, np.nan]], np.float32)
    assert varying(values, "abcd") == ["b", "c"]


def test_an_unknown_kind_names_the_known_ones() -> None:
    known = r"'ecfp'; known: counts, morgan, none, quick, rdkit\.$"
    with pytest.raises(InputError, match=f"unknown kind .*{known}"):
        describe([], ["ecfp"])
    with pytest.raises(InputError, match="'morgan' are asked for twice"):
        describe([], ["morgan", "morgan"])


def test_without_rdkit_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingPackageError, match=r"pip install gsina\[mol\]"):
        describe_smiles(["C"], ["morgan"])
