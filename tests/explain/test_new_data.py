"""Pages of new data: models without attention are explained afterwards, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gsina.explainers import weights
from page_cases import data_of


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


def trained(gsina, tmp_path: Path, method: str = "erm") -> None:
    lines = [
        {"nodes": [[float(i % 2), 1.0]] * size, "edges": [[j, j + 1] for j in range(size - 1)]}
        | {"label": i % 2}
        for i, size in enumerate([14, 15, 16] * 8)
    ]
    (tmp_path / "g.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ("--method", method, "--split", "random", "--epochs", 1, "--out", "run")
    done = gsina("train", "g.jsonl", *options)
    assert done.exit_code == 0, done.output


def test_the_page_says_whose_weights_it_shows(gsina, tmp_path: Path) -> None:
    trained(gsina, tmp_path)
    done = gsina("explain", "run", "g.jsonl", "--top", 3, "-o", "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"explainer":"GNNExplainer"' in page
    assert "The weights are those of GNNExplainer" in page


def test_every_graph_has_a_line_that_says_how_far_to_believe_it(gsina, tmp_path: Path) -> None:
    trained(gsina, tmp_path, "gsina")
    done = gsina("explain", "run", "g.jsonl", "--top", 3, "-o", "page.html", "--certify", 0.5)
    assert done.exit_code == 0, done.output
    assert done.output.count("Without the marked edge") == 3
    assert "certified: " in done.output
    assert "at least 50 of 100 new graphs of the same kind" in done.output
    assert "edges deleted: without it the answer changes" in done.output
    data = data_of(tmp_path / "page.html")
    for graph in data["graphs"]:
        assert graph["faithfulness"]["words"].startswith("Without the marked edge")
        assert 0 <= graph["faithfulness"]["randomOnly"] <= 1
    assert data["evidence"][0] == ["", "explanation", "random"]
    assert "weights put to 0" not in done.output  # the other ways are on the page alone
    assert "two other ways to take edges away are in the table of the page" in done.output
    ways = {row[0].partition(":")[0] for row in data["evidence"][1:]}
    assert {"edges deleted", "weights put to 0", "edges replaced"} <= ways
    promised = next(value for name, value in data["summary"] if name == "certified")
    assert promised.startswith(f"{100 * data['certified']['share']:.0f} % of the edges")
    assert {"certified", "faithful"} <= {name for name, _ in data["summary"]}


def test_bad_input_is_answered_in_one_sentence(gsina, tmp_path: Path) -> None:
    trained(gsina, tmp_path, "gsina")
    done = gsina("explain", "run", "g.jsonl", "-o", "page.html", "--certify", 0.99)
    assert done.exit_code == 2
    assert "validation graphs, but a confidence of 0.99 needs at least 99" in said(done)
    done = gsina("explain", "run/model", "g.jsonl", "-o", "page.html", "--certify", 0.5)
    assert "is a model without its run" in said(done)
    done = gsina("explain", "run", "g.jsonl", "-o", "page.csv")
    assert done.exit_code == 2
    assert "--out must end in .html, got page.csv." in said(done)
    (tmp_path / "wide.jsonl").write_text('{"nodes": [[1.0, 2.0, 3.0]], "edges": []}')
    done = gsina("explain", "run", "wide.jsonl", "-o", "page.html")
    assert done.exit_code == 2
    assert said(done).count("error: ") == 1
    weights = tmp_path / "run" / "model" / "model.safetensors"
    assert weights.is_file()
    weights.write_bytes(weights.read_bytes()[:100])
    done = gsina("explain", "run", "g.jsonl", "-o", "page.html")
    assert done.exit_code == 2
    assert said(done).count("error: ") == 1
    assert not (tmp_path / "page.html").exists()


def test_graphs_without_edges_and_with_one_are_shown(gsina, tmp_path: Path) -> None:
    trained(gsina, tmp_path, "gsina")
    few = [
        {"nodes": [[0.0, 1.0]] * 2, "edges": []},
        {"nodes": [[0.0, 1.0]] * 2, "edges": [[0, 1]]},
    ]
    (tmp_path / "few.jsonl").write_text("\n".join(map(json.dumps, few)))
    done = gsina("explain", "run", "few.jsonl", "-o", "page.html")
    assert done.exit_code == 0, done.output
    assert "There are no edges, so nothing is marked." in done.output
    assert "There is a single edge, so there is nothing to choose." in done.output


def said(done) -> str:
    """All that a command said, on one line."""
    return " ".join(done.output.split())


def test_models_of_nodes_without_attention_are_explained_too(gsina, tmp_path: Path) -> None:
    rows = "\n".join(f"n{i},{'ab'[i % 2]},{i % 3},{i % 5}" for i in range(40))
    (tmp_path / "nodes.csv").write_text(f"id,label,one,two\n{rows}\n")
    edges = "\n".join(f"n{i},n{(i + step) % 40}" for i in range(40) for step in (1, 7))
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}\n")
    files = ("--nodes", "nodes.csv", "--edges", "edges.csv")
    done = gsina("train", *files, "--method", "erm", "--epochs", 1, "--out", "run")
    assert done.exit_code == 0, done.output
    done = gsina("explain", "run", *files, "--top", 2, "-o", "page.html")
    assert done.exit_code == 0, done.output
    assert done.output.count("Without the marked edges (40 of 80)") == 2
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"explainer":"GNNExplainer"' in page
