"""Pages of parts of one graph show the weights that the model gives in the whole of it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import page_cases
import tiny_nodes
from gsina import soft_top_r
from gsina.explain.new_data import explain_files
from gsina.explain.page.whole_graph import condense
from gsina.explain.report import node_page, page
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.models.predict import predict_files
from gsina.nn.predictor import NetworkSpec
from page_cases import data_of

Open = Callable[..., Any]
RATIO, TAU = 0.3, 0.7
NAMES = [f"acc-{node}" for node in range(60)]


def make_model(method: str = "gsina", **options: Any) -> Model:
    torch.manual_seed(0)
    spec = NetworkSpec("gin", tiny_nodes.FEATURES, 0, {})
    options = options or ({"ratio": RATIO, "temperature": TAU} if method == "gsina" else {})
    architecture = Architecture.of(method, options, spec)
    task = replace(tiny_nodes.TASK, level="graph" if method == "gsat" else "node")
    return Model(
        architecture.build(task).eval(),
        task,
        architecture,
        featuriser={"kind": "nodes", "version": 1},
        class_names=("0", "1", "2"),
    )


def write(path: Path, model: Model) -> dict[str, Any]:
    node_page(path, model, tiny_nodes.graphs(), torch.tensor([3, 17, 40]), NAMES, "data", [])
    return data_of(path)


def pairs_of(
    data: dict[str, Any], model: Model, ratio: float, tau: float, regulariser: Any = "entropic"
) -> list[list[float]]:
    """The weights of every drawn pair, from the whole graph."""
    graphs = tiny_nodes.graphs()
    scores = model.predict(graphs).scores
    assert scores is not None
    weights = soft_top_r(scores.double(), ratio, temperature=tau, regulariser=regulariser).tolist()
    of = dict(zip(map(tuple, graphs.edge_index.T.tolist()), weights, strict=True))
    found = []
    for graph in data["graphs"]:
        nodes = [NAMES.index(name) for name in graph["labels"]]
        ends = [nodes[end] for end in graph["ends"]]
        found.append([of[pair] for pair in zip(ends[::2], ends[1::2], strict=True)])
    return found


def test_the_page_holds_the_weights_of_the_model(tmp_path: Path) -> None:
    model = make_model()
    data = write(tmp_path / "a.html", model)
    for graph, right in zip(data["graphs"], pairs_of(data, model, RATIO, TAU), strict=True):
        assert graph["own"] == pytest.approx(right, abs=1e-4)
    assert sum(data["whole"]["counts"]) == tiny_nodes.graphs().edge_index.size(1)
    assert "whole graph" in " ".join(data["notes"])
    assert data["title"] == "data: what the model looks at"
    assert data["budget"] == {"share": RATIO, "count": None}


def test_a_budget_in_edges_is_one_of_the_whole_graph(tmp_path: Path) -> None:
    model, graphs = make_model(budget=8), tiny_nodes.graphs()
    data = write(tmp_path / "a.html", model)
    edges = {tuple(sorted(pair)) for pair in graphs.edge_index.T.tolist()}
    assert data["whole"]["edges"] == len(edges)
    assert data["budget"] == {"share": None, "count": 8}
    for graph, right in zip(data["graphs"], pairs_of(data, model, 8 / len(edges), 1), strict=True):
        assert graph["own"] == pytest.approx(right, abs=1e-4)


def test_a_page_knows_the_regulariser_of_its_model(tmp_path: Path) -> None:
    model = make_model(ratio=RATIO, temperature=TAU, regulariser="quadratic")
    data = write(tmp_path / "a.html", model)
    assert data["regulariser"] == "quadratic"
    right = pairs_of(data, model, RATIO, TAU, "quadratic")
    for graph, weights in zip(data["graphs"], right, strict=True):
        assert graph["own"] == pytest.approx(weights, abs=1e-4)


def test_a_method_without_attention_has_no_words_about_weights(tmp_path: Path) -> None:
    data = write(tmp_path / "a.html", make_model("erm"))
    assert not any("weight" in note or "slider" in note for note in data["notes"])
    assert data["whole"] is None
    assert data["title"] == "data: what the model predicts"


@pytest.mark.parametrize(
    ("method", "options", "stored"),
    [
        ("gsat", {}, True),
        ("gsina", {"scope": "batch"}, True),
        ("gsina", {"solver": "sinkhorn"}, True),
        ("gsina", {"transport": "padded"}, True),
        ("gsina", {"ratio": 0.4}, False),
        ("gsina", {"regulariser": "quadratic"}, False),
    ],
)
def test_whole_graphs_store_weights_that_the_page_cannot_find(
    tmp_path: Path, method: str, options: dict[str, Any], stored: bool
) -> None:
    model = make_model(method, **options)
    model = replace(model, task=replace(model.task, level="graph"))
    graphs = replace(tiny_nodes.graphs(2, 12), y=torch.tensor([0, 1]))
    method_of_graphs = model.architecture.build(model.task).eval()
    model = replace(model, method=method_of_graphs)
    found = model.predict(graphs)
    page(tmp_path / "a.html", model, graphs, found, ["a", "b"], "data", [])
    data = data_of(tmp_path / "a.html")
    assert any("until a slider is moved" in note for note in data["notes"]) is stored
    assert found.edge is not None
    for graph in data["graphs"]:
        assert ("own" in graph) is stored
        for weight in graph.get("own", ()):
            assert float((found.edge - weight).abs().min()) < 1e-4


@pytest.mark.parametrize("count", [900, 60_000])
def test_a_few_thousand_scores_stand_for_all(count: int) -> None:
    scores = torch.randn(count, generator=torch.Generator().manual_seed(0))
    values, counts = condense(scores)
    assert len(values) == min(count, 5000)
    assert int(counts.sum()) == count
    for ratio in (0.01, 0.5, 0.99):
        for tau in (0.01, 1.0, 100.0):
            _, right = soft_top_r(scores, ratio, temperature=tau, return_diagnostics=True)
            _, near = soft_top_r(
                values.repeat_interleave(counts), ratio, temperature=tau, return_diagnostics=True
            )
            # At a steep curve a dual that is off by 0.1 moves the threshold by a thousandth.
            assert float(right.dual - near.dual) == pytest.approx(0, abs=0.2 if tau < 1 else 1e-3)


def test_a_file_of_tensors_is_explained(tmp_path: Path) -> None:
    model, graphs = make_model(), tiny_nodes.graphs()
    tensors = {"x": graphs.x, "edge_index": graphs.edge_index, "y": graphs.node_y}
    torch.save(tensors, tmp_path / "g.pt")
    done = explain_files(model, [tmp_path / "g.pt"], tmp_path / "a.html", top=4)
    assert done.rows == 60
    data = data_of(tmp_path / "a.html")
    assert len(data["graphs"]) == 4
    # The weights of `gsina predict --attention` for the same edges.
    predict_files(model, [tmp_path / "g.pt"], tmp_path / "out.csv", with_attention=True)
    with (tmp_path / "out-edges.csv").open() as file:
        of = {(row["source"], row["target"]): float(row["weight"]) for row in csv.DictReader(file)}
    for graph in data["graphs"]:
        ends = [graph["labels"][end] for end in graph["ends"]]
        for pair, weight in zip(zip(ends[::2], ends[1::2], strict=True), graph["own"], strict=True):
            assert weight == pytest.approx(of[pair], abs=1e-3)
    # Labels are not needed.
    torch.save({"x": graphs.x, "edge_index": graphs.edge_index}, tmp_path / "h.pt")
    explain_files(model, [tmp_path / "h.pt"], tmp_path / "b.html", top=4)
    assert data_of(tmp_path / "b.html")["graphs"] == data["graphs"]
    with pytest.raises(ValueError, match="give one such file"):
        explain_files(model, [tmp_path / "g.pt", tmp_path / "g.pt"], tmp_path / "c.html")


@pytest.mark.browser
def test_the_browser_shows_them_and_solves_over_the_whole_graph(
    browser: Any, tmp_path: Path
) -> None:
    model, path = make_model(), tmp_path / "a.html"
    data = write(path, model)
    shown = browser.new_page()
    shown.goto(path.as_uri())

    def assert_weights(ratio: float, tau: float) -> None:
        page_cases.settle(shown)
        for number, right in enumerate(pairs_of(data, model, ratio, tau)):
            found = shown.evaluate("number => gsina.weights(number)", number)
            assert found == pytest.approx(right, abs=1e-4)

    assert_weights(RATIO, TAU)
    best = max(pairs_of(data, model, RATIO, TAU)[0])
    assert f" {best:.2f}" in shown.locator("#words-0").inner_text()
    assert shown.locator("#reset").is_disabled()
    assert "the model\u2019s own weights" in shown.locator("#sliders").inner_text()
    assert "over the whole graph it is r" in shown.locator("#density-text").inner_text()
    assert shown.locator("#count").inner_text() == "3 nodes"
    shown.locator("#ratio").fill("0.6")
    assert_weights(0.6, TAU)
    assert "not the model\u2019s" in shown.locator("#sliders").inner_text()
    shown.locator("#tau").fill("-1")
    assert_weights(0.6, 0.1)
    shown.locator("#ratio").fill("1")
    assert_weights(1.0, 0.1)
    shown.locator("#reset").click()
    assert_weights(RATIO, TAU)
    shown.close()


@pytest.mark.browser
def test_without_attention_the_large_view_has_no_sliders(show: Open) -> None:
    page = show(page_cases.cycles(2, scores=None))
    page.locator(".open").first.click()
    assert page.locator("#large").is_visible()
    assert not page.locator("#sliders").is_visible()
