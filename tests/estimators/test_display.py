"""Estimators in notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from estimator_cases import FEW, shapes
from gsina import GraphClassifier, GraphRegressor


class Checked(HTMLParser):
    """Collects text, and refuses tags that do not match or that load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag in ("div", "b", "table", "tr", "th", "td", "details", "summary")
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def texts(estimator) -> list[str]:
    page = Checked()
    page.feed(estimator._repr_html_())
    assert page.open == []
    return page.text


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
    assert any(f"ROC-AUC {100 * best:.1f} %" in text for text in found)
    assert len(model._repr_html_()) < 8000
    model.save(tmp_path)
    assert "<ring>, <star>" in texts(GraphClassifier.load(tmp_path))


def test_numbers():
    graphs, _ = shapes(12)
    model = GraphRegressor(**FEW).fit(graphs, [float(graph.num_nodes) for graph in graphs])
    assert any(text.startswith("loss") and "RMSE" in text for text in texts(model))


@pytest.mark.parametrize("count", [12])
def test_many_classes_are_not_all_named(count):
    graphs, _ = shapes(count * 2)
    model = GraphClassifier(**FEW).fit(graphs, [f"c{i % count:02}" for i in range(count * 2)])
    assert any(text.endswith("c07 and 4 more") for text in texts(model))
