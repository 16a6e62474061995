"""Rare classes on the command line: metric, weights, threshold, and how far to trust answers."""

from __future__ import annotations

import csv
import json
import re

import pytest

import rare
from gsina.runs.folder import read_run

TABLES = ("--nodes", "nodes.csv", "--edges", "edges.csv")


@pytest.fixture
def said(gsina, tmp_path):
    rare.node_tables(tmp_path)

    def call(*arguments: object) -> str:
        done = gsina(*arguments)
        return f"{done.exit_code} {' '.join(done.output.split())}"

    return call


def test_a_table_of_fraud_is_noticed_predicted_and_trusted_so_far(said, tmp_path):
    text = said("train", *TABLES, "--epochs", 60, "--out", "run")
    assert text.startswith("0")
    assert "note: only " in text
    assert "of the training labels are fraud, so the model is selected by PR-AUC of fraud" in text
    threshold = re.search(r"the answer is ok above a probability of \S+, chosen on val", text)
    assert threshold is not None
    assert threshold[0] in said("predict", "run", *TABLES, "-o", "first.csv")
    assert "note: every set" not in said(
        "predict", "run", *TABLES, "-o", "out.csv", "--coverage", 0.5
    )
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert {"confidence", "set", "domain"} <= set(rows[0])
    assert {row["prediction"] for row in rows} == {"fraud", "ok"}
    assert "note: every set holds fraud" in said(
        "predict", "run", *TABLES, "-o", "more.csv", "--coverage", 0.99
    )
    wrong = said("predict", "run", *TABLES, "-o", "no.csv", "--coverage", 90)
    assert wrong.startswith("2")
    assert "coverage must lie between 0 and 1" in wrong
    assert "coverage must" in said("predict", "run", *TABLES, "-o", "out.csv", "--coverage", 90)


def test_weights_and_metric_are_part_of_the_recipe(said, tmp_path):
    options = ("--metric", "mcc", "--class-weight", "ok=1,fraud=10", "--epochs", 2)
    assert said("train", *TABLES, *options, "--out", "run").startswith("0")
    kept, _ = read_run(tmp_path / "run")
    assert kept.optimiser.class_weight == {"ok": 1.0, "fraud": 10.0}
    assert kept.selection.metric == "mcc"
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["metric"] == "mcc"
    assert "another run (class weight ok=1,fraud=10, not balanced)" in said(
        "train",
        *TABLES,
        "--metric",
        "mcc",
        "--class-weight",
        "balanced",
        "--out",
        "run",
        "--resume",
    )


def test_a_weight_for_no_class_is_refused_before_the_old_run_is_replaced(said, tmp_path):
    assert said("train", *TABLES, "--epochs", 1, "--out", "run").startswith("0")
    wrong = ("--class-weight", "ok=1,theft=3", "--force")
    assert said("train", *TABLES, "--epochs", 1, *wrong, "--out", "run").startswith("2")
    assert (tmp_path / "run" / "result.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--class-weight", "even"), "class weights must be 'balanced', or one number per class"),
        (("--class-weight", "ok=1,fraud=much"), "numbers such as ok=1,fraud=10; got"),
        (("--class-weight", "ok=1,fraud=-2"), "weight of class fraud must be a positive number"),
        (("--class-weight", "ok=1,fraud=nan"), "weight of class fraud must be a positive number"),
        (("--class-weight", "ok=1"), "class fraud has no weight; give one for every class"),
        (("--class-weight", "ok=1,fraud=2,theft=3"), "class theft, which is none of the classes"),
        (("--metric", "precision"), "unknown metric 'precision'; for classes accuracy, roc_auc"),
        (("--metric", "precision"), "; for numbers rmse, scaled_rmse; or auto."),
        (("--metric", "roc-auc"), "did you mean 'roc_auc'?"),
        (("--metric", "rmse"), "a binary task cannot be scored by rmse"),
    ],
)
def test_wrong_options_get_one_sentence(said, options, message):
    text = said("train", *TABLES, "--epochs", 1, *options, "--out", "run")
    assert text.startswith("2")
    assert message in text


def test_a_search_is_judged_by_the_metric_too(said):
    pytest.importorskip("optuna")
    options = ("--trials", 1, "--epochs", 1, "--class-weight", "balanced", "--out", "search")
    assert "scored by validation PR-AUC" in said("tune", *TABLES, *options)
    text = said("tune", *TABLES, *options[:-1], "other", "--metric", "mcc")
    assert "scored by validation MCC" in text
