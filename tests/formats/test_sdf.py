"""Structure-data files as tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gsina.formats import read_molecules, stream_molecules
from gsina.formats.sdf import sdf_records

chem = pytest.importorskip("rdkit.Chem")

SMILES = ["CCO", "c1ccccc1", "CCN", "CCC", "Cc1ccccc1", "C1CC1", "CCCC", "C1CCCC1", "CO", "CN"]


def write(path: Path) -> Path:
    """Ten molecules with a label and a note of two lines; the second has a broken structure."""
    blocks = []
    for number, smiles in enumerate(SMILES):
        molecule = chem.MolFromSmiles(smiles)
        molecule.SetProp("_Name", f"m{number}")
        block = chem.MolToMolBlock(molecule)
        if number == 1:
            block = block.replace("V2000", "V9000")
        fields = f"> <active>\n{number % 2}\n\n>  25  <note> (x)\nfirst\nsecond\n\n"
        blocks.append(f"{block}{fields}$$$$\n")
    text = "".join(blocks).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["a.sdf", "a.sdf.gz", "a.SD"])
def test_records_are_rows(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    names, rows = sdf_records(path)
    assert names == ["smiles", "name", "active", "note"]
    found = list(rows)
    assert found[0] == (1, ["CCO", "m0", "0", "first\nsecond"], None)
    assert found[1][0] == 2
    assert found[1][2] == "RDKit cannot read its structure"
    data = read_molecules(path, smiles="smiles", targets=["active"], split="random")
    assert data.origin.unreadable == ((2, "RDKit cannot read its structure"),)
    assert sum(len(graphs) for graphs in data.splits.values()) == 9
    (chunk,) = stream_molecules(path, "smiles")
    assert chunk.position.tolist() == [0, *range(2, 10)]
    assert chunk.rows[4]["smiles"] == "Cc1ccccc1"


def test_a_field_called_smiles_steps_aside_and_a_last_record_needs_no_end(tmp_path: Path) -> None:
    block = chem.MolToMolBlock(chem.MolFromSmiles("CC"))
    path = tmp_path / "a.sdf"
    path.write_text(f"{block}> <smiles>\nwrong\n")
    names, rows = sdf_records(path)
    assert names == ["smiles", "smiles_field"]
    assert [cells for _, cells, _ in rows] == [["CC", "wrong"]]
    path.write_text("\n")
    with pytest.raises(ValueError, match=r"a\.sdf is empty; expected molecules"):
        sdf_records(path)
