"""Categories in JSON graphs: text is encoded by the training graphs, in training and prediction."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gsina.errors import InputError
from gsina.formats import read_graphs
from gsina.formats.graph_features import GraphFeatures, Problem, feature_rows
from gsina.formats.json_graphs import read_again
from gsina.models.folder import load_model
from gsina.models.predict import predict_files
from gsina.runs.defaults import file_recipe
from gsina.runs.run import run

ATOMS = ("C", "N", "O")


def ring(number: int, **more: Any) -> dict[str, Any]:
    """A ring of atoms with charges; nitrogen makes the label."""
    atoms = ["C", ATOMS[number % 3], "C", "O"]
    return {
        "nodes": [[atom, 0.5 * place] for place, atom in enumerate(atoms)],
        "edges": [[0, 1], [1, 2], [2, 3], [3, 0]],
        "edge_features": ["single", "double", "single", "single"],
        "label": "yes" if "N" in atoms else "no",
        "id": f"g{number}",
    } | more


def jsonl(path: Path, values: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_text_becomes_one_feature_per_category_and_one_for_others(tmp_path: Path) -> None:
    rare = ring(40)
    rare["nodes"][0][0] = "Xe"  # once in all: no place of its own
    data = read_graphs(jsonl(tmp_path / "a.jsonl", [*map(ring, range(40)), rare]))
    how = data.origin.reading["encoding"]
    assert [one["categories"] for one in how["nodes"]] == [["C", "N", "O"], None]
    assert [one["categories"] for one in how["edges"]] == [["double", "single"]]
    assert data.origin.reading["features"] == {"node": 5, "edge": 3}
    x, edges = data.train.x, data.train.edge_attr
    assert x.shape[1] == 5
    assert edges is not None
    assert torch.equal(x[:, :4].sum(1), torch.ones(len(x)))
    assert torch.equal(edges.sum(1), torch.ones(len(edges)))
    assert sorted(set(x[:, 4].tolist())) == [0, 0.5, 1, 1.5]
    assert data.scaling["node"]["mean"][:4] == [0] * 4
    assert data.scaling["node"]["scale"][:4] == [1] * 4
    assert data.scaling["node"]["scale"][4] != 1
    assert any(
        "taken as categories" in note and "node feature 1 (3)" in note for note in data.notes
    )


def test_new_files_are_encoded_as_those_of_the_training(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", list(map(ring, range(40))))
    data = read_graphs(path)
    reading = data.origin.reading
    (chunk,) = read_again([path], reading, None).chunks
    rows = [int(row) - 1 for row in data.origin.rows["test"]]
    assert torch.equal(chunk.graphs[torch.tensor(rows)].x, data.test.x)
    new = ring(0)
    new["nodes"][0][0] = "Pu"
    new["nodes"][1][0] = None
    found = read_again([jsonl(tmp_path / "b.jsonl", [new])], reading, None)
    (chunk,) = found.chunks
    assert chunk.graphs.x[:2, :4].tolist() == [[0, 0, 0, 1]] * 2
    assert found.notes == [
        "categories that are rare or not in the training graphs are taken together: node feature 1 "
        "(2)."
    ]


def test_a_model_of_categories_is_saved_and_predicts(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", list(map(ring, range(60))))
    recipe = file_recipe("graphs", (path,), {}, epochs=8, batch_size=8, method="erm")
    run(recipe, 0, out=tmp_path / "run", report=False)
    model, out = load_model(tmp_path / "run" / "model"), tmp_path / "out.csv"
    wrong = ring(1, nodes=[[1.0, 2.0]] * 4)
    new = jsonl(tmp_path / "b.jsonl", [*map(ring, range(12)), wrong, ring(1, nodes=[["C"]] * 4)])
    done = predict_files(model, [new], out)
    rows = list(csv.DictReader(out.open()))
    assert all(row["prediction"] == row["label"] for row in rows[:12])
    assert rows[12]["prediction"]  # numbers are categories too, never seen
    assert rows[13]["reason"] == "its nodes have 1 features, expected 2"
    assert any("taken together: node feature 1 (4)" in note for note in done.notes)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([["C", 1], ["N"]], "not rows of equally many numbers or categories"),
        ([["C", [1]], ["N", [2]]], "not rows of equally many numbers or categories"),
        ([{"element": "C"}], "not rows of equally many numbers or categories"),
        ([["C", None]], "missing or not finite"),
        ([["C", 10**400]], "a number that is too large"),
        ([["C", "N"]], "the text 'N' where the first graphs have numbers"),
    ],
)
def test_rows_that_cannot_be_read(rows: Any, reason: str) -> None:
    features = GraphFeatures("node")
    features.numbers(feature_rows([["C", 1.0]], "node"))
    with pytest.raises(Problem, match=reason):
        features.numbers(feature_rows(rows, "node"))


def test_free_text_is_refused_and_numbers_stay_numbers() -> None:
    features = GraphFeatures("node")
    values = features.numbers(feature_rows([f"name {place}" for place in range(101)], "node"))
    with pytest.raises(InputError, match="node feature 1 has 101 different texts; expected"):
        features.find(values)
    plain = GraphFeatures("edge")
    values = plain.numbers(feature_rows([[1, True], [2.5, False]], "edge"))
    np.testing.assert_array_equal(values, [[1, 1], [2.5, 0]])
    assert plain.find(values) == ()
    assert plain.encode(values, ()) is values
    with pytest.raises(Problem, match="missing or not finite"):
        feature_rows([[math.nan]], "edge")
