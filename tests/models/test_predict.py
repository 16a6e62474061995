"""Prediction of files that cannot be read to their end."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gsina.formats import molecule_tables
from gsina.models.model import Model
from gsina.models.predict import predict_files
from gsina.models.train import train_model
from gsina.runs.defaults import file_recipe

ACIDS = Path(__file__).parents[2] / "examples" / "data" / "acids.csv"


@pytest.fixture(scope="module")
def model() -> Model:
    columns = {"smiles": "smiles", "targets": ["acid"], "split": "random"}
    recipe = file_recipe("molecules", (ACIDS,), columns, epochs=1)
    dataset = recipe.data.load()
    return train_model(dataset, recipe.plan(dataset, 0)).model


def test_what_is_predicted_before_a_line_that_is_no_text_is_kept(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(molecule_tables.stream_molecules, chunk=2)
    monkeypatch.setattr(molecule_tables, "stream_molecules", small)
    path, out = tmp_path / "new.csv", tmp_path / "out.csv"
    path.write_bytes(b"smiles\nCCO\nCC(=O)O\nCCC\nCCCC\nC\xff\nCCN\n")
    with pytest.raises(ValueError, match=r"line 6 of new\.csv is not UTF-8.* The 4 rows before it"):
        predict_files(model, [path], out)
    assert [line.split(",")[0] for line in out.read_text().splitlines()[1:]] == [
        "CCO",
        "CC(=O)O",
        "CCC",
        "CCCC",
    ]


def test_a_file_without_a_readable_line_leaves_nothing(model: Model, tmp_path: Path) -> None:
    path, out = tmp_path / "new.csv", tmp_path / "out.csv"
    path.write_bytes(b"smiles\nC\xff\n")
    with pytest.raises(ValueError, match="is not UTF-8"):
        predict_files(model, [path], out)
    assert not out.exists()
