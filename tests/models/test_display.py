"""Models in notebooks."""

from __future__ import annotations

from dataclasses import replace

import tiny
from gsina import GraphClassifier
from gsina.models.display import scores_html
from html_texts import texts


def test_a_model_shows_its_data_and_scores() -> None:
    few = {"hidden_channels": 8, "num_layers": 2, "epochs": 1, "batch_size": 16}
    model = GraphClassifier(**few).fit(tiny.dataset(4)).model_
    model = replace(model, metrics={"test": {"accuracy": 0.25, "loss": None}})
    found = texts(model)
    assert "gsina on gin" in found
    assert {"reads", "classes", "test", "accuracy", "25.0 %", "-"} <= set(found)
    assert repr(model).startswith("Model(gsina on gin, trained on ")
    assert len(repr(model)) < 120


def test_no_scores_are_no_table() -> None:
    assert scores_html({}) == ""
