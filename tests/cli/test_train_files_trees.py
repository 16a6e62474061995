"""Trees beside the network for graphs that are no molecules, by default."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from gsina.runs.trained import load_model


def graphs(path: Path, count: int = 200) -> Path:
    """Cycles of marked nodes, and paths; sizes differ."""
    lines = []
    for number in range(count):
        size, closed = 4 + number % 5, number % 2
        edges = [[i, i + 1] for i in range(size - 1)] + [[0, size - 1]] * closed
        nodes = [[float(i % 3 == 0), 0.1 * i] for i in range(size)]
        lines.append(json.dumps({"nodes": nodes, "edges": edges, "label": "ab"[closed]}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_trees_of_plain_graphs_are_trained_and_travel(gsina, tmp_path):
    graphs(tmp_path / "g.jsonl")
    common = ("--split", "random", "--epochs", 2, "--no-baseline")
    done = gsina("train", "g.jsonl", *common, "--out", "run")
    assert done.exit_code == 0, done.output
    assert "boosted trees read descriptors of whole graphs, the network the graph alone" in (
        " ".join(done.output.split())
    )
    done = gsina("predict", "run", "g.jsonl", "-o", "out.csv")
    assert done.exit_code == 0, done.output
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == ["a", "b"] * 100  # degrees tell them apart
    assert load_model(tmp_path / "run").architecture.trees is not None
    done = gsina("explain", "run", "g.jsonl", "--top", 2, "-o", "page.html")
    assert done.exit_code == 0, done.output
    assert "the network's probability of " in " ".join(done.output.split())
    done = gsina("train", "g.jsonl", *common, "--no-trees", "--out", "plain")
    assert done.exit_code == 0, done.output
    assert load_model(tmp_path / "plain").architecture.trees is None


def test_trees_are_not_for_nodes(gsina, tmp_path):
    nodes = ["id,label,x", *(f"{i},{i % 2},{i}" for i in range(30))]
    edges = ["source,target", *(f"{i},{i + 1}" for i in range(29))]
    (tmp_path / "n.csv").write_text("\n".join(nodes))
    (tmp_path / "e.csv").write_text("\n".join(edges))
    files = ("--nodes", "n.csv", "--edges", "e.csv")
    done = gsina("train", *files, "--trees", "--epochs", 1, "--out", "run")
    assert done.exit_code == 2
    assert "boosted trees are for whole graphs, and this predicts nodes" in done.stderr
    assert not (tmp_path / "run").exists()
