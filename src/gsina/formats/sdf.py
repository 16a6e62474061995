"""Structure-data files (SDF) as tables: a column of SMILES, one of names, one for each data field.

A record is a row, counted from 1. Its structure becomes the SMILES that RDKit writes for it, so
weights of atoms and bonds are in the order of that SMILES.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gsina.errors import InputError
from gsina.formats.table import Records, lines
from gsina.molecules.features import rdkit_chem

SMILES, NAME = "smiles", "name"
END_OF_RECORD, END_OF_STRUCTURE = "$$$$", "M  END"
FIELD = re.compile(r">.*?<(?P<name>.+)>")


class Record(NamedTuple):
    """One record: its name, the text of its structure, and its data fields."""

    title: str
    structure: str
    fields: dict[str, str]


def sdf_records(path: Path) -> tuple[list[str], Records]:
    """Column names and rows of a structure-data file, as :func:`gsina.formats.table.records`."""
    rdkit_chem()  # Fail first if it is missing.
    names: dict[str, None] = {SMILES: None}
    for record in _records(path):
        names |= dict.fromkeys([NAME] if record.title else [])
        names |= dict.fromkeys(record.fields)
    if len(names) == 1 and not any(True for _ in _records(path)):
        raise InputError(f"{path.name} is empty; expected molecules in the SDF format.")
    return list(names), _rows(path, list(names))


def _rows(path: Path, names: list[str]) -> Records:
    for number, record in enumerate(_records(path), start=1):
        smiles, problem = _smiles(record.structure)
        cells = {NAME: record.title} | record.fields | {SMILES: smiles}
        yield number, [cells.get(name, "") for name in names], problem


def _smiles(structure: str) -> tuple[str, str | None]:
    """The SMILES of a structure, or why there is none."""
    chem = rdkit_chem()
    from rdkit import rdBase

    with rdBase.BlockLogs():
        molecule = chem.MolFromMolBlock(structure)
        if molecule is None:
            return "", "RDKit cannot read its structure"
        return str(chem.MolToSmiles(molecule)), None


def _records(path: Path) -> Iterator[Record]:
    text: list[str] = []
    for line in lines(path):
        line = line.rstrip("\r\n")
        if line.strip() == END_OF_RECORD:
            yield _record(text)
            text = []
        else:
            text.append(line)
    if any(line.strip() for line in text):
        yield _record(text)


def _record(text: list[str]) -> Record:
    end = next((i for i, line in enumerate(text) if line.startswith(END_OF_STRUCTURE)), len(text))
    fields: dict[str, str] = {}
    values: list[str] | None = None
    name = ""
    for line in [*text[end + 1 :], ""]:
        if values is None:
            if match := FIELD.match(line):
                # The structure has the name "smiles"; a field of that name steps aside.
                name = match["name"].strip()
                name, values = f"{name}_field" if name == SMILES else name, []
        elif line.strip():
            values.append(line)
        else:
            fields[name], values = "\n".join(values), None
    return Record((text or [""])[0].strip(), "\n".join(text[: end + 1]) + "\n", fields)
