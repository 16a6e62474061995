"""The page without a browser: its solver under node, its data and its texts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch

import page_cases
import tiny
from gsina.explain.page import PageGraph, page_graphs, write_page
from gsina.explain.page.molecule import draw_molecule
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.uncertainty.calibration import Calibration
from gsina.molecules.packing import pack_smiles
from gsina.nn import GraphSinkhornAttention
from gsina.ops.budget import Budget
from gsina.training.evaluate import Predictions
from page_cases import data_of

HALF = Budget(share=0.5)
SOLVER = files("gsina.explain.page").joinpath("solver.js")
RUN = """
const { REGULARISERS, shareOf, atDual, nodeWeights } = require(process.argv[1]);
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map((given) => {
  const { scores, copies, temperature, guess, ends, nodes, how } = given;
  const ratio = given.ratio ?? shareOf(given.budget, scores.length, true);
  const edge = new Float64Array(scores.length), node = new Float64Array(nodes || 0);
  const { solve, weight } = REGULARISERS[given.regulariser ?? "entropic"];
  const lambda = solve(scores, copies, ratio, temperature, edge, guess ?? NaN);
  if (ends) nodeWeights(ends, copies, edge, ratio, how, node);
  const known = ratio < 1 ? lambda : Infinity, out = new Float64Array(scores.length);
  const again = atDual(scores, known, temperature, out, weight);
  return { edge: Array.from(edge), node: Array.from(node), again: Array.from(again) };
})));
"""


def solve_in_node(cases: list[dict[str, Any]]) -> list[dict[str, list[float]]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, which is not installed")
    done = subprocess.run(
        [node, "-e", RUN, str(SOLVER)], input=json.dumps(cases), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, list[float]]] = json.loads(done.stdout)
    return found


def plain(graphs: PackedGraphs, logits: torch.Tensor, task: Task, **given: Any) -> list[PageGraph]:
    names = [f"g{number}" for number in range(len(graphs))]
    predictions = Predictions(logits, None, None, None)
    return page_graphs(graphs, predictions, task, **{"names": names, **given})


@pytest.mark.parametrize("regulariser", ["entropic", "quadratic"])
def test_the_solver_agrees_with_python(regulariser: str) -> None:
    cases = [case | {"regulariser": regulariser} for case in page_cases.problems()]
    for case, found in zip(cases, solve_in_node(cases), strict=True):
        right = pytest.approx(page_cases.expected(case).tolist(), abs=1e-6, rel=0)
        assert found["edge"] == right, case
        assert found["again"] == right, case  # from the dual alone


@pytest.mark.parametrize("guess", [-1e6, -30.0, 0.0, 30.0, 1e6])
@pytest.mark.parametrize("regulariser", ["entropic", "quadratic"])
def test_a_first_guess_changes_nothing(guess: float, regulariser: str) -> None:
    cases = [case | {"regulariser": regulariser} for case in page_cases.problems()]
    for case, found in zip(
        cases, solve_in_node([c | {"guess": guess} for c in cases]), strict=True
    ):
        right = page_cases.expected(case)
        assert found["edge"] == pytest.approx(right.tolist(), abs=1e-6, rel=0), case


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("how", ["max", "mean"])
@pytest.mark.parametrize("kept", [{"ratio": 0.3}, {"budget": 3.5}], ids=str)
def test_the_page_has_the_weights_of_the_model(
    kept: dict[str, float], undirected: bool, how: Any
) -> None:
    graphs = tiny.ragged(undirected=undirected)
    batch = tiny.whole(graphs)
    attention = GraphSinkhornAttention(tiny.FEATURES, **kept, temperature=0.7, node=how).eval()
    edge, node, scores = attention(
        batch.x, batch.edge_index, batch.node_graph, edge_groups=batch.edge_groups
    )
    predictions = Predictions(torch.randn(len(graphs), 3), edge.detach(), node, scores)
    pages = page_graphs(graphs, predictions, tiny.CLASSES, names=["a"] * len(graphs))
    cases = [
        {
            "scores": page.scores.tolist(),
            "copies": page.copies.tolist(),
            **kept,
            "temperature": 0.7,
            "ends": page.edges.T.flatten().tolist(),
            "nodes": len(page.positions),
            "how": how,
        }
        for page in pages
    ]
    for number, (page, found) in enumerate(zip(pages, solve_in_node(cases), strict=True)):
        rows = slice(*graphs.edge_ptr[number : number + 2].tolist())
        weight = dict(
            zip(map(tuple, graphs.edge_index[:, rows].T.tolist()), edge[rows], strict=True)
        )
        for pair, value in zip(page.edges.T.tolist(), found["edge"], strict=True):
            assert value == pytest.approx(float(weight[tuple(pair)].detach()), abs=1e-6)
        nodes = slice(*graphs.node_ptr[number : number + 2].tolist())
        assert found["node"] == pytest.approx(node[nodes].tolist(), abs=1e-6)
        assert int(page.copies.sum()) == rows.stop - rows.start


def test_pairs_keep_parallel_edges_loops_and_truth() -> None:
    ends = torch.tensor([[0, 1, 0, 1, 2, 1], [1, 0, 1, 0, 2, 2]])
    truth = torch.tensor([False, True, False, False, True, False])
    graphs = PackedGraphs(
        torch.ones(3, 1), ends, torch.tensor([0, 3]), torch.tensor([0, 6]), edge_truth=truth
    )
    scores = torch.tensor([1.0, 3.0, 5.0, 5.0, 7.0, 9.0])
    (page,) = page_graphs(
        graphs, Predictions(torch.zeros(1, 3), scores, None, scores), tiny.CLASSES, names=["a"]
    )
    assert page.edges.T.tolist() == [[0, 1], [0, 1], [2, 2], [1, 2]]
    assert page.copies.tolist() == [2, 2, 1, 1]
    assert page.scores is not None
    assert page.scores.tolist() == [2.0, 5.0, 7.0, 9.0]
    assert page.edge_truth is not None
    assert page.edge_truth.tolist() == [True, False, True, False]


def test_weights_without_scores_keep_their_order() -> None:
    graphs = tiny.ragged()
    edge = torch.rand(graphs.edge_index.size(1))
    predictions = Predictions(torch.zeros(len(graphs), 3), edge, None, None)
    pages = page_graphs(graphs, predictions, tiny.CLASSES, names=["a"] * len(graphs))
    scores = torch.cat([page.scores for page in pages if page.scores is not None])
    assert torch.equal(scores.argsort(), edge.argsort())


def test_classes_in_words() -> None:
    graphs = tiny.ragged()[:3]
    logits = torch.tensor([[2.0, 0, 0], [0, 0, 3.0], [0, 0, 0.5]])
    graphs = replace(graphs, y=torch.tensor([0, 1, -1]))
    pages = plain(graphs, logits, tiny.CLASSES, class_names=("low", "mid", "high"))
    assert [page.predicted for page in pages] == ["low", "high", "high"]
    assert [page.truth for page in pages] == ["low", "mid", ""]
    assert [page.right for page in pages] == [True, False, None]
    assert pages[1].confidence == pytest.approx(float(logits[1].softmax(0)[2]))
    assert pages[0].scores is None


def test_binary_labels_in_words() -> None:
    graphs = replace(tiny.ragged()[:3], y=torch.tensor([[1.0], [0.0], [torch.nan]]))
    pages = plain(graphs, torch.tensor([[2.0], [2.0], [-1.0]]), Task("binary", 1, "roc_auc"))
    assert [page.predicted for page in pages] == ["1", "1", "0"]
    assert [page.right for page in pages] == [True, False, None]
    assert pages[2].confidence == pytest.approx(1 - float(torch.tensor(-1.0).sigmoid()))
    assert sum(pages[0].probabilities) == pytest.approx(1)


def test_several_targets_in_words() -> None:
    y = torch.tensor([[1.0, torch.nan], [0.0, 0.0], [torch.nan, torch.nan]])
    pages = plain(
        replace(tiny.ragged()[:3], y=y),
        torch.tensor([[2.0, 2.0], [2.0, -2.0], [-1.0, -1.0]]),
        Task("binary", 2, "roc_auc"),
        target_names=("liver", "heart"),
    )
    assert [page.predicted for page in pages] == ["liver, heart", "liver", "none"]
    assert [page.truth for page in pages] == ["liver (1 known)", "none", ""]
    assert [str(page.target_truth) for page in pages[:2]] == ["(1.0, nan)", "(0.0, 0.0)"]
    assert [page.right for page in pages] == [True, False, None]
    assert len(pages[0].values) == 2


def test_a_missing_label_is_no_negative(tmp_path: Path) -> None:
    y = torch.tensor([[0.0, torch.nan, torch.nan], [torch.nan, torch.nan, torch.nan]])
    graphs = replace(tiny.ragged()[:2], y=y)
    task = Task("binary", 3, "roc_auc")
    pages = plain(graphs, torch.tensor([[-2.0, 2.0, 2.0], [2.0, -2.0, -2.0]]), task)
    assert [page.truth for page in pages] == ["none of 1 known", ""]
    assert [page.right for page in pages] == [True, None]
    write_page(tmp_path / "a.html", pages, title="a", budget=HALF)
    found = [entry["targetTruth"] for entry in data_of(tmp_path / "a.html")["graphs"]]
    assert found == [[0.0, None, None], [None, None, None]]
    (page, _) = plain(replace(graphs, y=None), torch.zeros(2, 3), task)
    assert page.target_truth == ()


def test_figures_in_words() -> None:
    graphs = replace(tiny.ragged()[:2], y=torch.tensor([[1.5], [torch.nan]]))
    pages = plain(graphs, torch.tensor([[1.23456], [-2.0]]), Task("regression", 1, "rmse"))
    assert [page.predicted for page in pages] == ["1.235", "-2"]
    assert [page.truth for page in pages] == ["1.5", ""]
    assert [page.right for page in pages] == [None, None]


def test_nodes_in_words() -> None:
    graphs = tiny.ragged()[:1]
    y = torch.tensor([0, 1, 2, 0, -1])
    graphs = replace(graphs, y=None, node_y=y, mask=torch.tensor([1, 1, 1, 0, 1]).bool())
    logits = torch.nn.functional.one_hot(torch.tensor([0, 1, 0, 1, 1]), 3).float()
    (page,) = plain(graphs, logits, replace(tiny.CLASSES, level="node"))
    assert page.predicted == "2 of 3 nodes right"


def test_molecules_are_drawn_as_chemists_do(tmp_path: Path) -> None:
    smiles = ["CC(=O)[O-]", "c1ccccc1C#N", "C", "[Mg+2]", "C[C@H](O)F"]
    graphs = pack_smiles(smiles, jobs=1).graphs
    pages = plain(graphs, torch.zeros(5, 3), tiny.CLASSES, smiles=smiles)
    assert pages[0].node_labels == ("C", "C", "O", "O⁻")
    assert pages[3].node_labels == ("Mg²⁺",)
    write_page(tmp_path / "a.html", pages, title="a", budget=HALF)
    drawn = [graph["drawing"] for graph in data_of(tmp_path / "a.html")["graphs"]]
    text = ["".join(letter[1] for letter in one["letters"]) for one in drawn]
    assert text == ["OO-", "N", "CH4", "Mg2+", "OHF"]
    lines = Counter(owner for kind, owner, *_ in drawn[1]["strokes"])
    assert sorted(lines.values()) == [1, 1, 1, 1, 2, 2, 2, 3]  # the ring has no dashes
    assert {kind for kind, *_ in drawn[4]["strokes"]} == {0, 2}  # lines and a wedge
    # Lines end where the atoms without letters are placed.
    places = data_of(tmp_path / "a.html")["graphs"][1]["places"]
    single = next(stroke for stroke in drawn[1]["strokes"] if lines[stroke[1]] == 1)
    at = {tuple(places[i : i + 2]) for i in range(0, len(places), 2)}
    assert any(abs(x - single[2]) + abs(y - single[3]) <= 2 for x, y in at)


def test_a_string_of_another_molecule_leaves_the_general_layout() -> None:
    graphs = pack_smiles(["CCO", "CCO", "CCO"], jobs=1).graphs
    pages = plain(graphs, torch.zeros(3, 3), tiny.CLASSES, smiles=["CCCC", "<script>", "C.CO"])
    assert [page.node_labels for page in pages] == [(), (), ()]
    assert all(page.positions.isfinite().all() for page in pages)
    assert draw_molecule("no molecule") is None
    assert draw_molecule("C" * 801) is None  # as any graph, before it takes minutes


NASTY = "</script><script>alert(1)</script><!-- & \u2028 😀 é"


def test_all_text_comes_through_as_it_is(tmp_path: Path) -> None:
    graphs = page_cases.cycles(2, name=NASTY, predicted=NASTY, node_labels=(NASTY,) * 8)
    page = tmp_path / "page.html"
    write_page(
        page,
        graphs,
        title=NASTY,
        budget=HALF,
        summary=[(NASTY, NASTY)],
        scores_table=[(NASTY,)],
        comparison_table=[(NASTY,)],
        verdict=NASTY,
        pictures=[("<svg></svg>", NASTY)],
        notes=[NASTY],
    )
    text = page.read_text(encoding="utf-8")
    assert len(re.findall("<script", text)) == 2
    assert "\u2028" not in text.split('id="data">')[1]
    data = data_of(page)
    assert (
        data["title"] == data["summary"][0][1] == data["table"][0][0] == data["notes"][0] == NASTY
    )
    assert data["comparison"][0][0] == data["verdict"] == NASTY
    assert data["graphs"][0]["name"] == data["graphs"][1]["labels"][7] == NASTY


def test_scores_keep_their_digits(tmp_path: Path) -> None:
    write_page(tmp_path / "a.html", single := page_cases.cycles(3), title="a", budget=HALF)
    data = data_of(tmp_path / "a.html")
    assert data["single"]
    for graph, entry in zip(single, data["graphs"], strict=True):
        assert torch.equal(torch.tensor(entry["scores"]), graph.scores)
    double = page_cases.cycles(1, scores=torch.randn(8, dtype=torch.float64))
    write_page(tmp_path / "b.html", double, title="b", budget=HALF)
    data = data_of(tmp_path / "b.html")
    assert not data["single"]
    assert data["graphs"][0]["scores"] == double[0].scores.tolist()


def test_a_page_knows_what_is_kept(tmp_path: Path) -> None:
    for budget in (Budget(share=0.3), Budget(count=8)):
        write_page(tmp_path / "a.html", page_cases.cycles(1), title="a", budget=budget)
        assert Budget(**data_of(tmp_path / "a.html")["budget"]) == budget


def test_a_page_asks_for_nothing(tmp_path: Path) -> None:
    write_page(tmp_path / "a.html", page_cases.cycles(1), title="a", budget=HALF)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//\w+\.|@import|url\(", text)
    assert "default-src 'none'" in text


def test_the_extremes_of_a_page(tmp_path: Path) -> None:
    write_page(tmp_path / "none.html", [], title="none", budget=Budget(share=1.0))
    assert data_of(tmp_path / "none.html")["graphs"] == []
    empty = PageGraph(
        "", torch.zeros(0, 2), torch.zeros(2, 0).long(), torch.zeros(0), torch.ones(0)
    )
    lonely = replace(empty, positions=torch.ones(3, 2), values=(float("nan"), 1.0))
    write_page(tmp_path / "a.html", [empty, lonely], title="a", budget=HALF)
    assert data_of(tmp_path / "a.html")["graphs"][1]["places"] == [0] * 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": torch.zeros(3)}, r"scores must have the shape \[8\]"),
        ({"scores": torch.full((8,), torch.nan)}, "must be finite"),
        ({"positions": torch.zeros(8, 3)}, r"positions must have the shape \[N, 2\]"),
        ({"positions": torch.zeros(4, 2)}, r"must lie in 0 .. 3, got 0 to 7"),
        ({"node_labels": ("a",)}, "node_labels of 'graph 0' has 1 entries; expected 8"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        page_cases.cycles(1, **given)


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for settings, message in (
        ({"temperature": 0.0}, "temperature"),
        ({"node": "maximum"}, "node attention"),
    ):
        with pytest.raises(ValueError, match=message):
            write_page(tmp_path / "a.html", [], title="a", budget=HALF, **settings)
    assert not list(tmp_path.iterdir())


def test_names_and_predictions_must_fit() -> None:
    graphs = tiny.ragged()
    with pytest.raises(ValueError, match="got 1 names for 7 graphs"):
        plain(graphs, torch.zeros(7, 3), tiny.CLASSES, names=["a"])
    with pytest.raises(ValueError, match="got 2 class_names, expected 3"):
        plain(graphs, torch.zeros(7, 3), tiny.CLASSES, class_names=("a", "b"))
    with pytest.raises(ValueError, match="these very graphs"):
        plain(graphs[:3], torch.zeros(7, 3), tiny.CLASSES)
    wrong = Predictions(torch.zeros(7, 3), torch.zeros(2), None, torch.zeros(2))
    with pytest.raises(ValueError, match="these very graphs"):
        page_graphs(graphs, wrong, tiny.CLASSES, names=["a"] * 7)


def test_answers_are_made_at_the_threshold_of_the_model():
    graphs = replace(tiny.ragged()[[0, 2]], y=torch.tensor([[1.0], [0.0]]))
    logits, task = torch.tensor([[-1.0], [-3.0]]), Task("binary", 1, "roc_auc")
    low = Calibration(temperature=(2.0,), cut=(-2.0,))
    first, second = plain(graphs, logits, task, class_names=("ok", "fraud"), calibration=low)
    assert (first.predicted, second.predicted) == ("fraud", "ok")
    assert (first.right, second.right) == (True, True)
    share = float(torch.tensor(-0.5).sigmoid())
    assert first.probabilities == pytest.approx((1 - share, share))
    assert first.confidence == pytest.approx(share)
    usual, _ = plain(graphs, logits, task, class_names=("ok", "fraud"))
    assert usual.predicted == "ok"
