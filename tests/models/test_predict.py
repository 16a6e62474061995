"""Prediction of files that cannot be read to their end."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import tiny
from gsina.explain.new_data import explain_files
from gsina.formats import molecule_tables
from gsina.formats.json_graphs import graph_reading
from gsina.models.model import Model
from gsina.models.predict import predict_files
from gsina.models.train import Plan, named_spec, train_model
from gsina.runs.defaults import file_recipe
from gsina.training import Settings

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


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_of_a_header_gives_a_file_of_a_header(
    model: Model, tmp_path: Path, ending: str
) -> None:
    path, out = tmp_path / "new.csv", tmp_path / f"out.{ending}"
    path.write_text("id,smiles,prediction\n")
    done = predict_files(model, [path], out)
    assert (done.rows, done.unreadable) == (0, 0)
    path.write_text("id,smiles,prediction\n1,CCO,mine\n")
    head = ""
    if ending == "csv":
        predict_files(model, [path], tmp_path / "one.csv")
        head = (tmp_path / "one.csv").read_text().splitlines()[0] + "\n"
        assert head.startswith("id,smiles,prediction,gsina_prediction,")
    assert out.read_text() == head


@pytest.mark.parametrize("method", ["gsina", "erm"])
def test_an_answer_that_is_not_finite_costs_its_row(method: str, tmp_path: Path) -> None:
    data = tiny.dataset(per_class=3)
    train = data.train
    spec = named_spec("gin", train.num_features, train.num_edge_features, {"hidden_channels": 8})
    found = train_model(data, Plan(spec, method, {}, settings=Settings(epochs=1))).model
    found = replace(found, featuriser=graph_reading(train))
    plain = {"edges": [[0, 1]], "nodes": [[1.0] * train.num_features] * 2}
    if train.num_edge_features:
        plain["edge_features"] = [[1.0] * train.num_edge_features]
    large = plain | {"nodes": [[3e38] * train.num_features] * 2}
    path, out = tmp_path / "new.jsonl", tmp_path / "out.csv"
    path.write_text("".join(json.dumps(graph) + "\n" for graph in (plain, large, plain)))
    done = predict_files(found, [path], out)
    first, lost, last = csv.DictReader(out.open())
    assert (done.rows, done.unreadable) == (3, 1)
    assert lost.pop("reason").startswith("the answer is not finite")
    assert set(lost.values()) == {"2", ""}
    assert first | {"id": "3"} == last
    assert "nan" not in first.values()
    assert explain_files(found, [path], tmp_path / "page.html").unreadable == 1


def test_no_cell_runs_in_a_spreadsheet_unless_asked_for(model: Model, tmp_path: Path) -> None:
    path, out = tmp_path / "new.csv", tmp_path / "out.csv"
    path.write_text("smiles,=note\nCCO,=1+1\nCCC,-2\n")
    predict_files(model, [path], out)
    rows = list(csv.reader(out.open()))
    assert [row[:2] for row in rows] == [["smiles", "'=note"], ["CCO", "'=1+1"], ["CCC", "-2"]]
    predict_files(model, [path], out, raw=True)
    assert [row[1] for row in csv.reader(out.open())] == ["=note", "=1+1", "-2"]
