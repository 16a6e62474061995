"""One line per graph in words that need no paper, and a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tiny
from gsina.explain.evidence import of_page
from gsina.explain.evidence.measure import faithfulness
from gsina.explain.evidence.of_page import page_evidence
from gsina.explain.evidence.words import graph_lines, run_line, table
from gsina.explain.report import page
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec
from gsina.ops.budget import Budget
from page_cases import data_of


def model(task: Task = tiny.CLASSES, method: str = "gsina", backbone: str = "gin") -> Model:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 0, {"hidden_channels": 8})
    made = Architecture.of(method, {}, spec)
    return Model(made.build(task).eval(), task, made)


def lines(graphs: PackedGraphs, **given: object) -> list[dict[str, object]]:
    made = model()
    found = faithfulness(made, graphs, made.explain(graphs), ways=("delete",), **given)
    return graph_lines(found, graphs, edge_word="bond")


def test_a_line_says_its_own_numbers() -> None:
    graphs = tiny.ragged(undirected=True)
    line = lines(graphs)[5]
    assert (line["marked"], line["edges"]) == (60, 120)
    before, without, only = (f"{line[name]:.2f}" for name in ("before", "without", "only"))
    random = f"{line['random_without']:.2f}, {line['random_only']:.2f}."
    words = str(line["words"])
    assert words.startswith("Without the marked bonds (60 of 120) the probability ")
    assert f"from {before} to {without}; with only them it is {only}." in words
    assert words.endswith(f"A random choice of as many: {random}")


def test_graphs_without_a_choice_get_a_sentence_of_their_own() -> None:
    found = lines(tiny.ragged(undirected=True))
    assert found[1] == {"words": "There are no bonds, so nothing is marked."}
    assert found[2] == {"words": "There is a single bond, so there is nothing to choose."}
    whole = lines(tiny.ragged(undirected=True), budget=Budget(share=1.0))
    assert whole[0]["words"] == ("All 5 bonds are marked, so there is nothing to compare with.")
    one = lines(tiny.ragged(undirected=True), budget=Budget(count=1))[0]
    assert "Without the marked bond (1 of 5)" in str(one["words"])
    assert "with only that one it is" in str(one["words"])


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_lines_of_several_targets_name_them(kind: str) -> None:
    task = Task(kind, 4, "roc_auc" if kind == "binary" else "scaled_rmse")
    graphs = tiny.ragged(undirected=True)
    made = replace(model(task), target_names=("a", "b", "c", "d"))
    found = faithfulness(made, graphs, made.explain(graphs), ways=("delete",))
    what = "probability of the answers" if kind == "binary" else "prediction"
    words = str(graph_lines(found, graphs)[5]["words"])
    assert f"(60 of 120) the mean {what} over a, b, c and 1 more " in words


def beside_trees() -> tuple[Model, PackedGraphs]:
    """A model whose trees always say c, and graphs with features for these."""
    graphs = replace(tiny.ragged(undirected=True), graph_attr=torch.zeros(len(tiny.ragged()), 1))
    spec = NetworkSpec("gin", tiny.FEATURES, 0, {"hidden_channels": 8}, graph_channels=1)
    made = Architecture.of("gsina", {}, spec, trees=(1, 1, 0))
    beside = Model(made.build(tiny.CLASSES).eval(), tiny.CLASSES, made, class_names=("a", "b", "c"))
    beside.method.trees.base.copy_(torch.tensor([0.0, 0.0, 50.0]))  # type: ignore[union-attr]
    return beside, graphs


def test_beside_trees_python_measures_the_network_alone_and_says_so() -> None:
    beside, graphs = beside_trees()
    explanations = beside.explain(graphs)
    found = faithfulness(beside, graphs, explanations).summary()
    alone = faithfulness(beside.network_alone(), graphs, explanations).summary()
    assert found == pytest.approx(alone, nan_ok=True)
    assert found["unfaithfulness"] > 0  # trees would keep every answer
    assert explanations[0].about == "the network alone, which is 50 % of the answer beside trees"
    assert explanations[0].target.tolist() == [2]  # the answer is that of all
    assert "<p>The weights are about the network alone" in explanations[5]._repr_html_()
    assert "<p>" not in beside.network_alone().explain(graphs)[5]._repr_html_()


def test_pages_say_how_often_the_network_contradicts_the_model(tmp_path: Path) -> None:
    beside, graphs = beside_trees()
    said = beside.network_alone().predict(graphs).logits.argmax(1)
    others = int((said != 2).sum())
    assert others > 0
    names = list(map(str, range(len(graphs))))
    page(tmp_path / "p.html", beside, graphs, beside.predict(graphs), names, "p", [])
    notes = " ".join(data_of(tmp_path / "p.html")["notes"])
    assert "50 % of every answer is that of trees" in notes
    assert f"In {others} of the {len(graphs)} graphs here the network alone gives another" in notes


def test_beside_trees_lines_are_about_the_network_and_its_own_answer() -> None:
    beside, graphs = beside_trees()
    found = page_evidence(beside, graphs, beside.predict(graphs))
    assert found is not None
    alone = beside.network_alone().predict(graphs).logits.argmax(1)
    assert f"the network's probability of {'abc'[alone[5]]} " in found.lines[5]["words"]


@pytest.mark.parametrize("kind", ["multiclass", "regression"])
def test_tables_and_sentences_of_a_run(kind: str) -> None:
    task = tiny.CLASSES if kind == "multiclass" else Task("regression", 1, "rmse")
    made, graphs = model(task), tiny.ragged()
    found = faithfulness(made, graphs, made.explain(graphs))
    head, *rows = table(found)
    assert head == ["", "explanation", "random"]
    assert all(len(row) == 3 for row in rows)
    labels = " ".join(row[0] for row in rows)
    assert ("fidelity+" in labels) == (kind == "multiclass")
    assert "ROC-AUC against the truth" in labels
    said = run_line(found)
    assert ("% of the answers change" in said) == (kind == "multiclass")
    assert ("the prediction moves by" in said) == (kind == "regression")
    few = graphs[[1, 2]]
    assert run_line(faithfulness(made, few, made.explain(few), ways=("delete",))) == ""


def test_pages_of_nodes_get_the_lines_of_their_nodes() -> None:
    made = model(Task("multiclass", 3, level="node"), backbone="gcn")
    graphs = tiny.ragged()[[5]]
    nodes = torch.tensor([3, 17])
    found = page_evidence(made, graphs, made.predict(graphs), rows=nodes)
    assert found is not None
    assert len(found.lines) == 2
    sure = made.predict(graphs).logits.softmax(-1).amax(-1)[nodes]
    assert [line["before"] for line in found.lines] == pytest.approx(sure.tolist(), abs=1e-6)


def test_pages_without_weights_have_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    made, graphs = model(method="erm"), tiny.ragged()
    assert page_evidence(made, graphs, made.predict(graphs)) is None
    edgeless = tiny.ragged()[[1]]
    gsina = model()
    assert page_evidence(gsina, edgeless, gsina.predict(edgeless)) is None
    monkeypatch.setattr(of_page, "LARGEST", 100)
    assert page_evidence(gsina, graphs, gsina.predict(graphs)) is None
