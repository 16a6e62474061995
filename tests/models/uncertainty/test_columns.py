"""Columns of ``gsina predict``: the same whatever the chunks, for every kind of task."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import rare
from gsina.errors import InputError
from gsina.formats import json_graphs
from gsina.models.model import Model
from gsina.models.predict import predict_files
from gsina.models.train import train_model
from gsina.models.uncertainty.columns import TrustColumns
from gsina.runs.defaults import file_recipe
from models.uncertainty.drawn import TASKS, dataset, trained

ACIDS = Path(__file__).parents[3] / "examples" / "data" / "acids.csv"


@pytest.fixture(scope="module")
def fraud(tmp_path_factory) -> tuple[Model, Path]:
    file = rare.json_graphs(tmp_path_factory.mktemp("rare") / "graphs.jsonl")
    recipe = file_recipe("graphs", (file,), {}, epochs=3)
    data = recipe.judge(recipe.data.load())
    return train_model(data, recipe.plan(data, 0)).model, file


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


@pytest.mark.parametrize("shift", [False, True])
def test_answers_do_not_depend_on_the_chunks(fraud, shift, tmp_path, monkeypatch):
    model, _ = fraud
    file = rare.json_graphs(tmp_path / "new.jsonl", 150, seed=4, shift=0.5)
    found = []
    plain = json_graphs.stream_graphs
    for chunk in (7, 64, 2048):
        monkeypatch.setattr(json_graphs, "stream_graphs", partial(plain, chunk=chunk))
        out = tmp_path / f"{chunk}.csv"
        predict_files(model, [file], out, coverage=0.8, shift=shift)
        found.append(rows(out))
    for row, *others in zip(*found, strict=True):
        for other in others:
            assert row["set"] == other["set"]
            assert row["prediction"] == other["prediction"]
            for name in ("confidence", "domain"):
                assert float(row[name]) == pytest.approx(float(other[name]), rel=1e-4, abs=1e-4)


def test_sets_are_lists_of_classes_that_hold_the_answer(fraud, tmp_path):
    model, file = fraud
    predict_files(model, [file], tmp_path / "out.jsonl")
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert set(row["set"]) <= {"fraud", "ok"}
        assert row["prediction"] in row["set"]
        assert row["confidence"] == row[f"probability_{row['prediction']}"]
        assert 0 <= row["domain"] <= 100
    sizes = []
    for coverage in (0.5, 0.95):
        predict_files(model, [file], tmp_path / "out.csv", coverage=coverage)
        sizes.append(sum(len(json.loads(row["set"])) for row in rows(tmp_path / "out.csv")))
    assert sizes[0] < sizes[1]


def test_molecules_also_have_a_domain_of_their_structure(tmp_path):
    columns = {"smiles": "smiles", "targets": ["acid"], "split": "random"}
    recipe = file_recipe("molecules", (ACIDS,), columns, epochs=1)
    data = recipe.data.load()
    model = train_model(data, recipe.plan(data, 0)).model
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    known = data.origin.names["train"][0]
    odd = "[Pt](Cl)(Cl)(N)N"
    file.write_text(f"smiles\n{known}\n{odd}\nnot a molecule\n")
    predict_files(model, [file], out)
    first, strange, broken = rows(out)
    assert float(first["domain_structure"]) < float(strange["domain_structure"]) <= 100
    assert broken["domain"] == broken["set"] == broken["confidence"] == ""


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("classes", ["confidence", "set", "domain"]),
        ("yes or no", ["confidence", "set", "domain"]),
        ("number", ["low", "high", "domain"]),
        ("targets", ["confidence_0", "confidence_1", "set_0", "set_1", "domain"]),
        ("numbers", ["low_0", "low_1", "high_0", "high_1", "domain"]),
    ],
)
def test_every_kind_of_task_has_its_columns(kind, names):
    data = dataset(TASKS[kind], val=50)
    model = trained(data, epochs=1)
    columns = TrustColumns(model)
    assert columns.names == names
    found = model.predict(data.val[range(4)], states="label")
    assert found.states is not None
    cells = columns.cells(found.logits, found.states)
    assert [len(row) for row in cells] == [len(names)] * 4


def test_a_model_without_a_reference_has_no_columns_and_refuses_coverage(fraud, tmp_path):
    model, file = fraud
    old = replace(model, reference=None)
    predict_files(old, [file], tmp_path / "out.csv")
    added = set(rows(tmp_path / "out.csv")[0]) - {"id", "label"}
    assert added == {"prediction", "probability_fraud", "probability_ok", "reason"}
    for asked in ({"coverage": 0.9}, {"shift": True}):
        with pytest.raises(InputError, match="train it again with this version of gsina"):
            predict_files(old, [file], tmp_path / "more.csv", **asked)
    assert not (tmp_path / "more.csv").exists()


def test_a_wrong_coverage_is_refused_before_anything_is_written(fraud, tmp_path):
    model, file = fraud
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        predict_files(model, [file], tmp_path / "out.csv", coverage=90)
    assert not (tmp_path / "out.csv").exists()
