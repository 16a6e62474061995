"""The table of users' files: what is run is what `gsina train FILE` does unasked."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from gsina.cli.recipes import Request
from gsina.formats import FileOptions
from gsina.paper.tables.own import RIVALS, SAMPLE, SOURCES, own, prepare
from gsina.runs.data import FileData


def test_the_default_is_that_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "molecules.csv"
    file.write_text("smiles,Class\nCCO,1\n", encoding="utf-8")
    options = FileOptions(target=("Class",), split="scaffold")
    asked = Request(str(file), options, {}, None, None, {}, {}).recipe()
    (cell,) = [
        cell for cell in own().cells if (cell.row, cell.column) == ("default", "bace, shift")
    ]
    for part in ("method", "backbone", "optimiser", "auto_ratio", "ensemble", "trees"):
        assert getattr(cell.recipe, part) == getattr(asked, part)
    assert cell.recipe.data.options["features"] == asked.data.options["features"]
    assert cell.recipe.trees


def test_rows_of_one_run_share_it() -> None:
    cells = own().cells
    for column in {cell.column for cell in cells}:
        rows = {cell.row: cell for cell in cells if cell.column == column}
        molecules = "forest on Morgan" in rows
        assert {*RIVALS} - {*rows} == (set() if molecules else {"forest on Morgan"})
        gsat = rows.pop("GSAT").recipe
        assert (gsat.method.name, gsat.trees) == ("gsat", False)
        if molecules:
            rival = rows.pop("boosting on descriptors")
            assert rival.recipe.data.options["features"] == ["rdkit"]
            assert rival.recipe.trees
            assert rival.seeds == (0,)
        assert len({str(cell.recipe) for cell in rows.values()}) == 1
        assert rows["default"].recipe.trees
    assert len({cell.column for cell in cells}) == 2 * len(SOURCES)


def test_names_of_files_mean_the_same_on_every_machine() -> None:
    for cell in own().cells:
        data = cell.recipe.data
        assert isinstance(data, FileData)
        assert all(not file.startswith("/") for file in data.files)
        assert cell.column.startswith(data.name)


def test_files_are_made_from_those_of_the_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    prepare()  # nothing is there
    assert not (tmp_path / "cache" / "own").exists()
    rows = [{"smiles": "CCO", "cls_label": 1, "domain_id": 0}]
    parts = dict.fromkeys(("train", "ood_val", "ood_test", "iid_val", "iid_test"), rows)
    drugs = tmp_path / "data" / "drugood" / "lbap_core_ec50_size.json"
    drugs.parent.mkdir(parents=True)
    drugs.write_text(json.dumps({"split": parts}), encoding="utf-8")
    hiv = tmp_path / "data" / "ogb" / "ogbg_molhiv" / "mapping" / "mol.csv.gz"
    hiv.parent.mkdir(parents=True)
    with gzip.open(hiv, "wt", encoding="utf-8") as file:
        file.write(
            "Label,smiles\n" + "".join(f"{i % 2},{'C' * (i % 9 + 1)}\n" for i in range(SAMPLE + 5))
        )
    prepare()
    made = tmp_path / "cache" / "own"
    with (made / "ec50-size.csv").open(encoding="utf-8") as text:
        assert list(csv.reader(text)) == [
            ["smiles", "active", "split"],
            *(["CCO", "1", split] for split in ("train", "val", "test")),
        ]
    assert len((made / "molhiv-sample.csv").read_text(encoding="utf-8").splitlines()) == SAMPLE + 1
    assert not (made / "ec50-scaffold.csv").exists()
