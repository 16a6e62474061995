from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest

from gsina.files import data_dir
from gsina.molecules import scaffolds
from gsina.molecules.scaffolds import scaffold, scaffold_split

pytest.importorskip("rdkit")


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CCO", ""),
        ("Cc1ccccc1", "c1ccccc1"),
        ("OC(=O)CCc1ccccc1CC1CC1", "c1ccc(CC2CC2)cc1"),
        ("C[C@H]1CC[C@@H](C1)c1ccccc1", "c1ccc(C2CCCC2)cc1"),
        ("CC(=O)O[AlH3](O)O", ""),  # Refused by newer versions of RDKit, taken by older ones.
        ("no molecule", "no molecule"),
    ],
)
def test_scaffold(smiles: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert scaffold(smiles) == expected
    assert capfd.readouterr() == ("", "")


BENZENES = ["Cc1ccccc1", "CCc1ccccc1", "CCCc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "Fc1ccccc1"]
CHAINS = ["C", "CC"]


def test_larger_sets_first_then_later_ones() -> None:
    smiles = ["C1CC1", *BENZENES, "?", *CHAINS]
    train, val, test = scaffold_split(smiles)
    assert train.tolist() == [1, 2, 3, 4, 5, 6, 8, 9]
    assert val.tolist() == [7]  # Of two sets of one, the later.
    assert test.tolist() == [0]


def test_a_set_that_does_not_fit_is_not_cut() -> None:
    train, val, test = scaffold_split([*BENZENES, "C1CC1", "C1CCC1", *CHAINS], train=0.5, val=0)
    assert train.tolist() == [8, 9, 7, 6]
    assert val.tolist() == []
    assert test.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("jobs", [1, 2])
def test_pieces_and_processes_change_nothing(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    smiles = [*CHAINS, *BENZENES, "C1CC1", "C1CCC1", "CC1CCC1"]
    whole = scaffold_split(smiles)
    monkeypatch.setattr(scaffolds, "CHUNK", 3)
    for ours, theirs in zip(scaffold_split(smiles, jobs=jobs), whole, strict=True):
        assert np.array_equal(ours, theirs)


def test_nothing_to_split() -> None:
    assert [len(part) for part in scaffold_split([])] == [0, 0, 0]


@pytest.mark.parametrize(("train", "val"), [(0.0, 0.5), (0.8, 0.3), (0.5, -0.1), (np.nan, 0.1)])
def test_shares_that_make_no_sense(train: float, val: float) -> None:
    with pytest.raises(ValueError, match="shares of train and val"):
        scaffold_split(["C"], train=train, val=val)


@pytest.mark.data
@pytest.mark.parametrize("name", ["bace", "bbbp", "clintox", "sider", "tox21"])
def test_agrees_with_the_split_files(name: str) -> None:
    folder = data_dir() / "ogb" / f"ogbg_mol{name}"
    if not (folder / "split").is_dir():
        pytest.skip(f"{folder} is not there")
    with gzip.open(folder / "mapping" / "mol.csv.gz", "rt") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    for part, rows in zip(("train", "valid", "test"), scaffold_split(smiles), strict=True):
        with gzip.open(folder / "split" / "scaffold" / f"{part}.csv.gz", "rt") as file:
            assert sorted(rows.tolist()) == sorted(int(line) for line in file)
