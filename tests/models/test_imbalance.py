"""Rare classes: weights, metrics and thresholds; a table of fraud is not answered by ok alone."""

from __future__ import annotations

import csv
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

import rare
import tiny
import tiny_nodes
from gsina import load_model
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task
from gsina.methods.base import label_loss, task_loss
from gsina.metrics import METRICS
from gsina.models.imbalance import (
    best_cuts,
    check_sample_weight,
    chooses_threshold,
    class_weights,
    judged,
    rare_class,
    training_shares,
    weighted,
    with_sample_weight,
)
from gsina.models.predict import predict_files
from gsina.runs.defaults import file_recipe
from gsina.runs.run import run

NAN = math.nan
YES_NO = Task("binary", 1, "roc_auc")


def labelled(y: torch.Tensor, task: Task, **more: object) -> Dataset:
    """Graphs with these labels, in training and validation."""
    graphs = replace(tiny.motifs(1)[[0] * len(y)], y=y)
    return Dataset("own", task, {"train": graphs, "val": graphs}, **more)


def yes_no(positive: int, of: int = 100) -> Dataset:
    y = (torch.arange(of) < positive).float().view(-1, 1)
    return labelled(y, YES_NO, class_names=("ok", "fraud"))


@pytest.mark.parametrize(("positive", "rare"), [(8, "fraud"), (19, "fraud"), (20, ""), (92, "ok")])
def test_a_class_below_a_fifth_is_rare(positive, rare):
    found = rare_class(yes_no(positive))
    assert (found.name if found else "") == rare


def test_ten_even_classes_are_not_rare_but_one_of_a_fiftieth_is():
    even = labelled(torch.arange(100) % 10, Task("multiclass", 10))
    assert rare_class(even) is None
    y = torch.cat([torch.arange(98) % 9, torch.tensor([9, 9])])
    found = rare_class(labelled(y, Task("multiclass", 10)))
    assert found is not None
    assert found.name == "9"
    assert found.share == pytest.approx(0.02)


def test_a_rare_class_changes_the_metric_once_and_says_so():
    plain = yes_no(8)
    found = judged(plain, "auto")
    assert found.task.metric == "pr_auc"
    (note,) = found.notes
    assert note.startswith("only 8.0 % of the training labels are fraud, so the model is selected")
    assert "selected by PR-AUC of fraud, and answers at the threshold with the best F1" in note
    assert note.count(". ") == 0
    assert judged(found, "auto") is found
    assert judged(plain, None) is plain
    assert judged(yes_no(40), "auto").task.metric == "roc_auc"
    assert judged(plain, "mcc").task.metric == "mcc"
    assert [chooses_threshold(plain, name) for name in (None, "auto", "f1")] == [False, True, True]
    assert not chooses_threshold(yes_no(40), "auto")


def test_pr_auc_names_its_class_also_where_another_is_rarer():
    data = yes_no(30)
    assert judged(data, "pr_auc").notes == ("PR-AUC is that of fraud.",)
    splits = {**data.splits, "test": yes_no(80).train}
    (note,) = judged(replace(data, splits=splits), "pr_auc").notes
    assert note == "PR-AUC is that of fraud (in test of ok, which is rarer there)."
    y = torch.tensor([[0.0, 1], [1, 0], [0, 0]]).repeat(20, 1)
    several = labelled(y, Task("binary", 2, "roc_auc"))
    assert judged(several, "pr_auc").notes == (
        "PR-AUC is that of the rarer class of every target.",
    )


@pytest.mark.parametrize("metric", ["auto", "f1"])
def test_with_too_few_labels_answers_are_yes_as_often_as_in_training_and_say_so(metric):
    few = yes_no(5)
    notes = judged(few, metric).notes
    assert notes[-1].startswith(
        "the validation data have only 5 labels of a class and choosing a threshold takes 6, so it "
        "is the one above which 5.0 % of the validation rows are answered by fraud"
    )
    assert not any("answers at the threshold" in note for note in notes)
    assert few.val.y is not None
    logits = torch.linspace(-3, -1, 100).view(-1, 1)
    shares = training_shares(few)
    assert shares == (pytest.approx(0.05),)
    (cut,) = best_cuts(logits, few.val.y, few.task, shares)
    assert int((logits > cut).sum()) == 5
    assert best_cuts(logits, few.val.y, few.task) == (0.0,)
    assert best_cuts(logits, yes_no(6).val.y, few.task) != (0.0,)


@pytest.mark.parametrize(
    ("share", "rows", "above"), [(0.08, 40, 3), (0.01, 5, 1), (0.99, 5, 4), (0.5, 8, 4)]
)
def test_some_rows_are_answered_by_yes_and_some_by_no(share, rows, above):
    torch.manual_seed(0)
    logits, none = torch.randn(rows, 1) - 9, torch.full((rows, 1), NAN)
    (cut,) = best_cuts(logits, none, YES_NO, (share,))
    assert int((logits > cut).sum()) == above
    assert best_cuts(logits, none, YES_NO, (0.0,)) == (0.0,)  # never seen in training
    assert best_cuts(logits[:1], none[:1], YES_NO, (share,)) == (0.0,)


def test_a_metric_that_validation_labels_do_not_allow_is_not_taken():
    data = yes_no(8)
    val = replace(data.val, y=torch.zeros(100, 1))
    data = replace(data, splits={"train": data.train, "val": val})
    assert judged(data, "auto").task.metric == "roc_auc"


def test_a_metric_of_another_kind_of_task_is_refused():
    with pytest.raises(InputError, match="binary task cannot be scored by rmse"):
        judged(yes_no(8), "rmse")


def test_balanced_weights_are_those_of_sklearn():
    y = torch.tensor([0] * 5 + [1] * 3 + [2] * 12 + [-1] * 4)
    data = labelled(y, Task("multiclass", 3))
    known = y[y >= 0].numpy()
    expected = compute_class_weight("balanced", classes=np.arange(3), y=known)
    np.testing.assert_allclose(class_weights(data, "balanced")[0], expected, rtol=1e-6)
    found = weighted(data, "balanced").train.label_weight
    assert found is not None
    assert float(found[y >= 0].mean()) == pytest.approx(1)


def test_targets_are_balanced_one_by_one_and_missing_labels_do_not_count():
    y = torch.tensor([[1, 1], [0, NAN], [0, 0], [0, 0], [NAN, 0]])
    data = labelled(y, Task("binary", 2, "roc_auc"))
    torch.testing.assert_close(
        class_weights(data, "balanced"), torch.tensor([[4 / 6, 2], [4 / 6, 2]])
    )
    weights = weighted(data, {"0": 1, "1": 3}).train.label_weight
    assert weights is not None
    assert float(weights[0, 0] / weights[1, 0]) == pytest.approx(3)
    assert float(weights[~y.isnan()].mean()) == pytest.approx(1)


def test_at_node_level_only_nodes_in_the_mask_are_counted():
    graphs = tiny_nodes.graphs(mask=True)
    data = Dataset("nodes", tiny_nodes.TASK, {"train": graphs, "val": graphs})
    y, mask = graphs.node_y, graphs.mask
    assert y is not None
    assert mask is not None
    expected = compute_class_weight("balanced", classes=np.arange(3), y=y[mask].numpy())
    np.testing.assert_allclose(class_weights(data, "balanced")[0], expected, rtol=1e-6)
    found = weighted(data, "balanced").train.node_label_weight
    assert found is not None
    assert float(found[mask].mean()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"ok": 1, "fraud": -1}, "weight of class fraud must be a positive number, got -1"),
        ({"ok": 1, "fraud": NAN}, "weight of class fraud must be a positive number, got nan"),
        ({"ok": 1, "fraud": None}, "weight of class fraud must be a positive number, got None"),
        ({"ok": 1, "fraud": math.inf}, "weight of class fraud must be a positive number, got inf"),
        ({"ok": 1}, "class fraud has no weight; give one for every class"),
        ({"ok": 1, "fraud": 2, "theft": 3}, "class theft, which is none of the classes: ok, fraud"),
        ("even", "class weights must be 'balanced', or one number per class"),
    ],
)
def test_wrong_class_weights_get_one_sentence(weights, message):
    with pytest.raises(InputError, match=message):
        weighted(yes_no(8), weights)


def test_class_weights_are_refused_for_numbers():
    data = labelled(torch.randn(10, 1), Task("regression", 1, "rmse"))
    with pytest.raises(InputError, match="class weights are for classes"):
        weighted(data, "balanced")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight has shape \[2\], expected one number for each of 3 graphs"),
        ([1, -1, 1], "sample_weight of graph 1 is -1.0"),
        ([1, 1, NAN], "sample_weight of graph 2 is nan"),
        ([1, math.inf, 1], "sample_weight of graph 1 is inf"),
        ([0, 0, 0], "all of sample_weight is 0"),
        (["a", 1, 1], "sample_weight must hold numbers"),
    ],
)
def test_wrong_sample_weights_get_one_sentence(weights, message):
    with pytest.raises(InputError, match=message):
        check_sample_weight(weights, 3, "graph")


@pytest.mark.parametrize("kind", ["multiclass", "binary", "regression"])
def test_a_label_of_weight_two_counts_as_two_labels(kind):
    task = {
        "multiclass": Task("multiclass", 3),
        "binary": Task("binary", 2, "roc_auc"),
        "regression": Task("regression", 2, "rmse"),
    }[kind]
    logits = torch.randn(4, task.outputs)
    y = torch.tensor([0, 2, 1, 1]) if kind == "multiclass" else torch.tensor([[0.0, 1]] * 4)
    twice = label_loss(logits[[0, 0, 1, 2, 3]], y[[0, 0, 1, 2, 3]], task)
    weight = torch.ones_like(y, dtype=torch.float)
    weight[0] = 2
    loss = label_loss(logits, y, task, weight=weight)
    torch.testing.assert_close(loss * 4, twice * 5)


def test_weights_go_with_the_graphs_into_batches():
    graphs = with_sample_weight(tiny.motifs(2), [0, 1, 2, 3, 4, 5], "graph")
    batch = graphs.batch([5, 0])
    assert batch.label_weight is not None
    assert batch.label_weight.tolist() == [5, 0]
    logits = torch.randn(2, 3)
    expected = label_loss(logits[:1], batch.labels[:1], tiny.CLASSES) * 5 / 2
    torch.testing.assert_close(task_loss(logits, batch, tiny.CLASSES), expected)


@pytest.mark.parametrize("metric", ["f1", "mcc", "balanced_accuracy", "accuracy", "pr_auc"])
def test_no_other_threshold_is_better(metric):
    torch.manual_seed(0)
    task = Task("binary", 2, metric)
    y = (torch.rand(120, 2) < 0.15).float()
    logits = (torch.randn(120, 2) + 1.2 * y).mul(2).round() / 2  # with ties
    y[torch.rand(120, 2) < 0.1] = NAN
    cuts = best_cuts(logits, y, task)
    score = METRICS[METRICS[metric].threshold_by].function
    for column, cut in enumerate(cuts):
        known = ~y[:, column].isnan()
        values, labels = logits[known, column : column + 1].double(), y[known, column : column + 1]
        steps = sorted(set(values.flatten().tolist()))
        every = [score(values - (a + b) / 2, labels, task) for a, b in pairwise(steps)]
        assert score(values - cut, labels, task) == max(every)


def test_labels_of_one_class_leave_the_threshold_at_one_half():
    assert best_cuts(torch.randn(9, 1), torch.zeros(9, 1), YES_NO) == (0.0,)


@pytest.mark.parametrize("kind", ["nodes", "graphs"])
def test_a_file_with_eight_percent_of_fraud_is_not_answered_by_ok_alone(kind, tmp_path):
    if kind == "nodes":
        files = rare.node_tables(tmp_path)
        recipe = file_recipe("nodes", files, {}, epochs=60)
    else:
        files = (rare.json_graphs(tmp_path / "graphs.jsonl", 1000),)
        recipe = file_recipe("graphs", files, {}, epochs=4)
    done = run(recipe, 0, out=tmp_path / "run", report=False)
    assert any("% of the training labels are fraud" in note for note in done.result["notes"])
    assert done.result["metric"] == "pr_auc"
    (cut,) = done.model.calibration.cut
    model = load_model(tmp_path / "run")
    assert model.calibration == done.model.calibration
    out = tmp_path / "out.csv"
    predict_files(model, files, out)
    rows = list(csv.DictReader(out.open()))
    answers = Counter((row["label"], row["prediction"]) for row in rows)
    found = answers["fraud", "fraud"]
    assert found > 0
    # More of the alarms are true than by chance.
    assert found / (found + answers["ok", "fraud"]) > 2 * rare.SHARE
    (threshold,) = model.thresholds
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert f"above a probability of {threshold:.3g}, chosen on validation data" in card
    for row in rows:  # class 1 is ok
        assert (row["prediction"] == "ok") == (float(row["probability_ok"]) > threshold)
    test = done.dataset.test
    logits = model.predict(test).logits
    y = test.labels(model.task.level)
    assert y is not None
    if test.mask is not None:
        logits, y = logits[test.mask], y[test.mask]
    expected = METRICS["f1"].function(logits - cut, y, model.task)
    assert done.result["metrics"]["test"]["f1"] == pytest.approx(expected)
