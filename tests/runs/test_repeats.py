"""Repeats: which runs there are, and means over their results."""

from __future__ import annotations

import math

import pytest

from gsina.runs.defaults import file_recipe
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.repeats import Repeats, _read_table, _write_table, summarise


@pytest.fixture
def recipe() -> Recipe:
    return file_recipe("graphs", ("graphs.jsonl",), {"split": "random"})


def test_seeds_share_the_recipe_and_folds_the_seed(recipe):
    runs = Repeats(seeds=(3, 7)).runs(recipe, 0)
    assert [(run.name, run.seed) for run in runs] == [("seed-3", 3), ("seed-7", 7)]
    assert {run.recipe == recipe for run in runs} == {True}
    runs = Repeats(folds=2).runs(recipe, 5)
    assert [(run.name, run.seed) for run in runs] == [("fold-0", 5), ("fold-1", 5)]
    assert [run.recipe.data.options["fold"] for run in runs] == [[0, 2], [1, 2]]
    assert "fold" not in recipe.data.options


def test_repeats_come_back_from_what_is_noted():
    assert Repeats.of({}) is None
    for repeats in (Repeats(seeds=(0, 1)), Repeats(folds=4)):
        assert Repeats.of(repeats.noted()) == repeats


def test_what_cannot_be_repeated(recipe):
    with pytest.raises(ValueError, match="either --seeds or --folds"):
        Repeats(seeds=(0, 1), folds=3)
    for seeds in ((1,), (1, 1), (0, 1, 0)):
        with pytest.raises(ValueError, match="two or more different seeds"):
            Repeats(seeds=seeds)
    with pytest.raises(ValueError, match="--folds must be 2 to 10,000"):
        Repeats(folds=1)
    with pytest.raises(ValueError, match="--folds must be 2 to 10,000"):
        Repeats(folds=10**9)
    with pytest.raises(ValueError, match="a test split of its own"):
        Repeats(folds=3).runs(default_recipe("spmotif", None, "gsina"), 0)
    tensors = file_recipe("node tensors", ("graph.safetensors",), {})
    with pytest.raises(ValueError, match="masks of a file of tensors"):
        Repeats(folds=3).runs(tensors, 0)


def test_means_leave_out_what_is_not_defined(recipe):
    repeats = Repeats(folds=3)
    values = [0.5, None, 0.7]
    results = [
        {
            "metrics": {"test": {"roc_auc": one, "loss": 1.0}},
            "metric": "roc_auc",
            "shifted": False,
        }
        for one in values
    ]
    results[1]["metrics"]["test"]["roc_auc"] = math.nan
    found = summarise(recipe, repeats, repeats.runs(recipe, 0), results)
    assert found["metrics"]["test"] == pytest.approx({"roc_auc": 0.6, "loss": 1.0})
    assert found["spread"]["test"] == pytest.approx({"roc_auc": 0.02**0.5, "loss": 0.0})
    (note,) = found["notes"]
    assert note.startswith("roc_auc of test is not defined in fold-1 (")
    assert [run["name"] for run in found["runs"]] == ["fold-0", "fold-1", "fold-2"]


def test_tables_of_folds_run_nothing_in_a_spreadsheet(tmp_path):
    path = tmp_path / "predictions.csv"
    _write_table(path, ["row", "=name"], [["1", "@SUM(1)"], ["2", "-3"]])
    assert path.read_text() == "row,'=name\n1,'@SUM(1)\n2,-3\n"
    header, rows = _read_table(path)
    _write_table(path, header, rows)  # as the table of all folds is made of theirs
    assert path.read_text() == "row,'=name\n1,'@SUM(1)\n2,-3\n"
