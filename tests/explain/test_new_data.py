"""Pages of new data: models without attention are explained afterwards, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tiny
from gsina.explain import new_data
from gsina.explain.new_data import explained
from gsina.models.model import Architecture, Model
from gsina.nn.predictor import NetworkSpec


def model(method: str) -> Model:
    torch.manual_seed(0)
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
    architecture = Architecture.of(method, {}, spec)
    return Model(architecture.build(tiny.CLASSES).eval(), tiny.CLASSES, architecture)


@pytest.mark.parametrize("method", ["erm", "irm"])
def test_plain_networks_are_explained_afterwards(method: str) -> None:
    plain, graphs = model(method), tiny.motifs(2)
    found = plain.predict(graphs)
    assert found.edge is None
    shown = explained(plain, graphs, found)
    assert shown.edge is not None
    assert shown.edge.shape == (graphs.edge_index.size(1),)
    assert 0 <= float(shown.edge.min()) < float(shown.edge.max()) <= 1
    assert torch.equal(shown.logits, found.logits)
    assert torch.equal(plain.predict(graphs).logits, found.logits)  # the model is left alone


def test_attention_is_an_explanation_already() -> None:
    attending, graphs = model("gsina"), tiny.motifs(2)
    found = attending.predict(graphs)
    assert explained(attending, graphs, found) is found


def test_networks_that_cannot_be_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("edges are not used")

    monkeypatch.setattr(new_data, "explain_split", refuse)
    plain, graphs = model("erm"), tiny.motifs(2)
    found = plain.predict(graphs)
    assert explained(plain, graphs, found) is found


def test_the_page_says_whose_weights_it_shows(gsina, tmp_path: Path) -> None:
    lines = [
        {"nodes": [[float(i % 2), 1.0]] * size, "edges": [[j, j + 1] for j in range(size - 1)]}
        | {"label": i % 2}
        for i, size in enumerate([4, 5, 6] * 8)
    ]
    (tmp_path / "g.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ("--method", "erm", "--split", "random", "--epochs", 1, "--out", "run")
    done = gsina("train", "g.jsonl", *options)
    assert done.exit_code == 0, done.output
    done = gsina("explain", "run", "g.jsonl", "--top", 3, "-o", "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"explainer":"GNNExplainer"' in page
    assert "The weights are those of GNNExplainer" in page
