"""Groups of a user's file as environments of the methods that compare them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rdkit")

RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1")
TAILS = ("O", "N", "Cl", "CC", "CCO", "C(=O)O", "CN", "CCC", "F", "OC")
IRM = ("--target", "active", "--method", "irm", "--set", "environments=given", "--epochs", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rings with tails, of four labs and two halves; those with an oxygen are active."""
    every = [ring + tail for ring in RINGS for tail in TAILS]
    rows = [
        f"{smiles},{'O' in smiles},{'ABCDD'[number % 5]},{number % 2}"
        for number, smiles in enumerate(every)
    ]
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(["smiles,active,lab,half", *rows]))
    return path


def test_groups_held_out_are_environments(gsina, file: Path) -> None:
    done = gsina("train", file, *IRM, "--environment", "lab", "--out", "run")
    assert done.exit_code == 0, done.output
    saved = json.loads((file.parent / "run" / "result.json").read_text())
    assert saved["recipe"]["method"]["options"]["environments"] == "given"


@pytest.mark.parametrize(
    ("options", "why"),
    [((), "these have none"), (("--environment", "half"), "these are all of one")],
    ids=["no groups", "one group is left to train on"],
)
def test_without_two_environments_there_is_nothing_to_compare(
    gsina, file: Path, options: tuple[str, ...], why: str
) -> None:
    done = gsina("train", file, *IRM, *options, "--out", "run")
    assert done.exit_code == 2
    assert why in " ".join(done.stderr.split())
    assert done.stderr.startswith("error: ")


def test_a_row_without_a_group_is_in_no_split(gsina, file: Path) -> None:
    file.write_text(file.read_text().replace(",C,", ",,", 1))
    done = gsina("train", file, *IRM, "--environment", "lab", "--epochs", 1, "--out", "run")
    assert done.exit_code == 0, done.output
    assert "1 rows have an empty 'lab' and are in no split." in " ".join(done.output.split())
