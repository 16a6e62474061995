"""Pages of new data: models without attention are explained afterwards, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gsina.explainers import weights


def test_networks_that_cannot_be_masked_get_a_page_without_weights(
    monkeypatch: pytest.MonkeyPatch, gsina, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("edges are not used")

    monkeypatch.setattr(weights, "explain_split", refuse)
    trained(gsina, tmp_path)
    done = gsina("explain", "run", "g.jsonl", "--top", 3, "-o", "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"explainer":""' in page


def trained(gsina, tmp_path: Path) -> None:
    lines = [
        {"nodes": [[float(i % 2), 1.0]] * size, "edges": [[j, j + 1] for j in range(size - 1)]}
        | {"label": i % 2}
        for i, size in enumerate([4, 5, 6] * 8)
    ]
    (tmp_path / "g.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ("--method", "erm", "--split", "random", "--epochs", 1, "--out", "run")
    done = gsina("train", "g.jsonl", *options)
    assert done.exit_code == 0, done.output


def test_the_page_says_whose_weights_it_shows(gsina, tmp_path: Path) -> None:
    trained(gsina, tmp_path)
    done = gsina("explain", "run", "g.jsonl", "--top", 3, "-o", "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"explainer":"GNNExplainer"' in page
    assert "The weights are those of GNNExplainer" in page
