"""Estimators in notebooks."""

from __future__ import annotations

import pytest

from estimator_cases import FEW, shapes
from gsina import GraphClassifier, GraphRegressor
from html_texts import texts


def test_settings_before_the_fit_and_their_changes_in_bold():
    model = GraphClassifier(ratio=0.3, backbone="<script>alert(1)</script>")
    found = texts(model)
    assert found[:2] == ["GraphClassifier", " (not fitted)"]
    assert "<script>alert(1)</script>" in found
    assert "<b>0.3</b>" in model._repr_html_()
    assert "<b>100</b>" not in model._repr_html_()
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()


def test_data_and_scores_after_the_fit(tmp_path):
    graphs, labels = shapes(20)
    model = GraphClassifier(**FEW).fit(graphs, [f"<{label}>" for label in labels])
    found = texts(model)
    assert found[:2] == ["GraphClassifier", " (fitted)"]
    assert "18 training, 2 validation" in found
    assert "<ring>, <star>" in found
    best = model.history_[model.model_.training["best_epoch"]]["val"]["roc_auc"]
    assert {"ROC-AUC", f"{100 * best:.1f} %"} <= set(found)
    assert len(model._repr_html_()) < 8000
    model.save(tmp_path)
    assert "<ring>, <star>" in texts(GraphClassifier.load(tmp_path))


def test_numbers():
    graphs, _ = shapes(12)
    model = GraphRegressor(**FEW).fit(graphs, [float(graph.num_nodes) for graph in graphs])
    assert {"loss", "RMSE"} <= set(texts(model))


@pytest.mark.parametrize("count", [12])
def test_many_classes_are_not_all_named(count):
    graphs, _ = shapes(count * 2)
    model = GraphClassifier(**FEW).fit(graphs, [f"c{i % count:02}" for i in range(count * 2)])
    assert any(text.endswith("c07 and 4 more") for text in texts(model))
