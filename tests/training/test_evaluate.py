"""Evaluation: order, mode, and the metrics that apply."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

import tiny
import tiny_nodes
from gsina import metrics
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import GSINA, GSINAConfig, build_method, label_loss
from gsina.methods.base import Output
from gsina.nn.predictor import NetworkSpec
from gsina.training import evaluate, predict, score
from gsina.training.evaluate import evaluation_size, rank_edges

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})


def gsina(**options: object) -> GSINA:
    torch.manual_seed(0)
    return GSINA.build(SPEC, tiny.CLASSES, GSINAConfig(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "batch_size"),
    [("graph", 1), ("graph", 2), ("graph", 3), ("graph", 100), ("batch", 100)],
)
def test_everything_is_in_the_order_of_the_split(scope: str, batch_size: int) -> None:
    graphs, method = tiny.ragged(), gsina(scope=scope)
    found = predict(method, graphs, batch_size)
    whole = method.eval()(tiny.whole(graphs))
    for part, expected in (
        (found.logits, whole.logits),
        (found.edge, whole.attention.edge),
        (found.node, whole.attention.node),
        (found.scores, whole.attention.scores),
    ):
        assert part is not None
        assert not part.requires_grad
        torch.testing.assert_close(part, expected.detach(), atol=2e-5, rtol=2e-5)


def test_company_does_not_give_labels_away() -> None:
    """A file that is sorted by class would make batches of one class."""
    graphs = tiny.ragged()
    company: list[list[float]] = []

    class Spy(GSINA):
        def forward(self, batch: Batch) -> Output:
            company.append(batch.x[:, 0].tolist())
            return super().forward(batch)

    marked = replace(graphs, x=graphs.x.clone())
    marked.x[:, 0] = torch.repeat_interleave(graphs.node_ptr.diff()).float()
    for scope, expected in (("graph", True), ("batch", False)):
        company.clear()
        method = Spy.build(SPEC, tiny.CLASSES, GSINAConfig(scope=scope))  # type: ignore[arg-type]
        first = predict(method, marked, 3)
        assert (company[0] == sorted(company[0]) and max(company[0]) <= 2) == expected
        again = predict(method, marked, 3)
        assert torch.equal(first.logits, again.logits)


def test_nodes_of_shuffled_graphs_are_put_back() -> None:
    graphs = tiny_nodes.graphs(4)
    spec = NetworkSpec("gcn", graphs.num_features, 0, {"hidden_channels": 8})
    method = GSINA.build(spec, tiny_nodes.TASK, GSINAConfig(scope="batch"))
    found = predict(method, graphs, len(graphs))
    whole = method.eval()(tiny.whole(graphs))
    torch.testing.assert_close(found.logits, whole.logits.detach(), atol=2e-5, rtol=2e-5)


def test_edges_of_equal_weight_are_ranked_by_their_scores() -> None:
    one = torch.zeros(6, dtype=torch.long)
    scores = torch.tensor([30.0, -1.0, 50.0, 20.0, -1.0, 20.0])
    edge = torch.sigmoid(scores)
    assert edge[0] == edge[2] == edge[3] == 1
    assert rank_edges(edge, scores, one).tolist() == [2, 0, 3, 1, 0, 1]
    assert rank_edges(torch.ones(3), scores[[0, 2, 3]], one[:3]).tolist() == [1, 2, 0]
    rounded = torch.tensor([1.0, 1.0, 0.2])  # GSINA's at a low temperature
    assert rank_edges(rounded, torch.tensor([2.0, 1.0, 0.5]), one[:3]).tolist() == [2, 1, 0]
    ones = torch.ones(3)  # GSINA's at r = 1: no edge is preferred, whatever the scores are
    assert rank_edges(ones, torch.tensor([0.3, -0.2, 1.0]), one[:3]).tolist() == [0, 0, 0]
    unknown = torch.tensor([1.0, torch.nan])
    assert rank_edges(unknown, torch.zeros(2), one[:2]).isnan().tolist() == [False, True]
    weights = torch.tensor([0.1, 0.9, 0.5])  # scores of other graphs need not be in their order
    found = rank_edges(weights, torch.tensor([5.0, 1.0, 2.0]), torch.arange(3))
    assert found.tolist() == [0, 2, 1]
    assert rank_edges(torch.zeros(0), torch.zeros(0), one[:0]).tolist() == []


def test_a_saturated_attention_is_scored_by_what_it_prefers() -> None:
    graphs = tiny.motifs(2)
    assert graphs.edge_truth is not None
    found = predict(gsina(), graphs)
    scores = 100.0 + graphs.edge_truth.float()
    saturated = replace(found, edge=torch.ones_like(scores), scores=scores)
    assert score(saturated, graphs, tiny.CLASSES)["explanation_auc"] == 1
    blind = replace(saturated, scores=None)
    assert score(blind, graphs, tiny.CLASSES)["explanation_auc"] == 0.5


def test_larger_batches_only_where_they_change_nothing() -> None:
    assert evaluation_size(gsina(), 32) == 128
    assert evaluation_size(gsina(scope="batch"), 32) == 32


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_put_back(training: bool) -> None:
    method = gsina().train(training)
    predict(method, tiny.ragged())
    assert method.training is training
    wrong = replace(tiny.ragged(), x=torch.zeros(70, 9))
    with pytest.raises(ValueError, match="expected 4 features in a row, got 9"):
        predict(method, wrong)
    assert method.training is training


def test_no_attention_no_explanation() -> None:
    method = build_method("erm", SPEC, tiny.CLASSES, {})
    found = predict(method, tiny.ragged())
    assert (found.edge, found.node, found.scores) == (None, None, None)
    assert score(found, tiny.ragged(), tiny.CLASSES).keys() == {"loss", "accuracy", "f1"}


def test_scores_are_the_metrics() -> None:
    graphs, method = tiny.motifs(4), gsina()
    found = predict(method, graphs)
    scores = score(found, graphs, tiny.CLASSES)
    assert graphs.y is not None
    assert scores["loss"] == pytest.approx(float(label_loss(found.logits, graphs.y, tiny.CLASSES)))
    assert scores["accuracy"] == metrics.accuracy(found.logits, graphs.y, tiny.CLASSES)
    edge_graph = tiny.whole(graphs).edge_graph
    assert found.edge is not None
    assert graphs.edge_truth is not None
    expected = metrics.precision_at_k(found.edge, graphs.edge_truth, edge_graph, 5)
    assert scores["precision_at_5"] == expected
    assert scores["explanation_auc"] == metrics.explanation_auc(found.edge, graphs.edge_truth)
    expected = metrics.explanation_auc_per_graph(found.edge, graphs.edge_truth, edge_graph)
    assert scores["explanation_auc_per_graph"] == expected
    assert evaluate(method, graphs, tiny.CLASSES) == scores
    hidden = replace(graphs, edge_truth=None)
    assert score(found, hidden, tiny.CLASSES).keys() == {"loss", "accuracy", "f1"}


@pytest.mark.parametrize("batch_size", [2, 100])
def test_the_loss_is_the_mean_over_the_labels_that_are_there(batch_size: int) -> None:
    """Not the mean over batches, which weighs a label by how many its batch lacks."""
    graphs = tiny.ragged()
    y = torch.tensor([0, -1, 2, -1, -1, 1, 0])
    graphs = replace(graphs, y=y)
    method = gsina()
    logits = predict(method, graphs).logits
    expected = torch.nn.functional.cross_entropy(logits[y != -1], y[y != -1])
    found = evaluate(method, graphs, tiny.CLASSES, batch_size)["loss"]
    assert found == pytest.approx(float(expected), rel=1e-5)


def test_binary_and_regression_tasks() -> None:
    graphs = tiny.ragged()
    for task, names in (
        (Task("binary", 2, "roc_auc"), ["loss", "roc_auc", "accuracy"]),
        (Task("regression", 2, "rmse"), ["loss", "rmse", "r2"]),
        (Task("binary", 2), ["loss", "accuracy", "roc_auc"]),
    ):
        method = build_method("erm", SPEC, task, {})
        labelled = replace(graphs, y=torch.ones(7, 2))
        found = evaluate(method, labelled, task)
        assert list(found) == names  # also the order, which goes into result files
        assert math.isnan(found.get("roc_auc", math.nan))  # all labels are 1


def test_splits_that_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="no labels to score against"):
        evaluate(gsina(), replace(tiny.ragged(), y=None), tiny.CLASSES)
    nothing: PackedGraphs = tiny.ragged()[[]]
    with pytest.raises(ValueError, match="a split without graphs"):
        evaluate(gsina(), nothing, tiny.CLASSES)
