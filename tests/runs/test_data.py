"""Files of a recipe: where they are on this machine, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsina.runs.data import FileData, NamedData
from gsina.runs.defaults import file_recipe
from gsina.runs.job import Job

READING = {"smiles": "smiles", "targets": ["y"], "split": "random"}


def test_prefixes_name_folders_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "raw"))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "made"))
    recipe = file_recipe("molecules", ("data:some/mol.csv",), READING, title="acids")
    data = recipe.data
    assert isinstance(data, FileData)
    assert data.files == ("data:some/mol.csv",)
    assert data.paths == (str(tmp_path / "raw" / "some" / "mol.csv"),)
    assert not data.at_hand()
    file = Path(data.paths[0])
    file.parent.mkdir(parents=True)
    rows = "".join(f"{'C' * (i % 7 + 1)}{'ON'[i % 2]},{i % 2}\n" for i in range(40))
    file.write_text(f"smiles,y\n{rows}", encoding="utf-8")
    assert data.at_hand()
    assert data.load().name == data.name == "acids"
    assert Job(recipe, 0).name.startswith("acids-gin-gsina-")
    other = FileData(format="molecules", files=("cache:own/a.csv",), options=READING)
    assert other.paths == (str(tmp_path / "made" / "own" / "a.csv"),)
    assert other.name == "a"


def test_a_title_is_part_of_what_names_a_run_and_only_then() -> None:
    plain = FileData(format="molecules", files=("/a/b.csv",), options=READING)
    assert "title" not in plain.essential()
    titled = plain.model_copy(update={"title": "mine"})
    assert titled.essential() == plain.essential() | {"title": "mine"}
    assert NamedData(name="spmotif").at_hand()
