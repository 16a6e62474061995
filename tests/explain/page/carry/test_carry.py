"""The network in the page answers as the model does."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import network_cases
import tiny
from gsina.errors import InputError
from gsina.explain.page import page_graphs, write_page
from gsina.explain.page.carry import carry
from gsina.explain.page.carry.store import pack
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.trees import WithTrees
from gsina.models.model import Model, Scale
from gsina.models.uncertainty.calibration import Calibration
from gsina.ops.budget import Budget
from network_cases import in_node, make_model, molecules
from page_cases import data_of

BACKBONES: dict[str, dict[str, Any]] = {
    "gin": {},
    "gin max": {"readout": "max"},
    "gin mean": {"readout": "mean"},
    "gcn": {},
    "gcn normal": {"normalise": True},
    "sage": {},
    "ogb-gin": {},
    "ogb-gin virtual": {"virtual_node": True, "head": "mlp", "readout": "sum"},
}
METHODS: dict[str, dict[str, Any]] = {
    "erm": {},
    "irm": {},
    "gsat": {},
    "gsat plain": {"scorer": "plain"},
    "gsat node": {"attention": "node"},
    "gsina": {},
    "gsina budget": {"budget": 4, "scorer": "plain"},
    "gsina mean": {"node": "mean", "scorer": "narrow", "temperature": 0.2, "ratio": 0.3},
    "gsina none": {"node": "none", "predict_from": "embedding"},
    "gsina quadratic": {"regulariser": "quadratic", "predictor_layers": 1},
    "gsina whole": {"ratio": 1.0},
}


def assert_agrees(
    path: Path, model: Model, graphs: PackedGraphs, near: float = 1e-5
) -> dict[str, Any]:
    """The page has the logits of the model, and its attention as double precision gives it.

    In single precision weights of edges whose scores are nearly equal are rounded more coarsely.
    """
    data = network_cases.write(path, model, graphs)
    assert data["network"] is not None, data["notes"]
    found = in_node(data)
    logits = torch.tensor([one["logits"] for one in found], dtype=torch.double)
    answers = model.predict(graphs).logits
    assert float((logits - answers).abs().max()) < near * max(1, float(answers.abs().max()))
    right = replace(model, method=copy.deepcopy(model.method).double()).predict(graphs)
    assert float((logits - right.logits).abs().max()) < near
    if right.edge is None:
        assert all(one["edge"] is None for one in found)
        return data
    edges, nodes = [], []
    for one, entry in zip(found, data["graphs"], strict=True):
        copies = entry.get("copies", 1)
        each = copies if isinstance(copies, list) else [copies] * len(one["edge"])
        for weight, times in zip(one["edge"], each, strict=True):
            edges += [weight] * times
        nodes += one["node"] or []
    # The two directions of an edge need not follow each other in the graph.
    assert sorted(edges) == pytest.approx(sorted(right.edge.tolist()), abs=near)
    if right.node is not None:
        assert nodes == pytest.approx(right.node.tolist(), abs=near)
    return data


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_method_on_every_backbone(method: str, backbone: str, tmp_path: Path) -> None:
    graphs = molecules() if "gin" in backbone else tiny.ragged()
    made = make_model(
        method.split()[0],
        backbone.split()[0],
        graphs,
        settings=METHODS[method],
        options=BACKBONES[backbone],
    )
    assert_agrees(tmp_path / "page.html", made, graphs)


def with_features(graphs: PackedGraphs) -> PackedGraphs:
    torch.manual_seed(3)
    return replace(graphs, graph_attr=torch.randn(len(graphs), 6))


@pytest.mark.parametrize("method", ["erm", "gsat", "gsina"])
@pytest.mark.parametrize("backbone", ["gin", "ogb-gin"])
def test_without_edge_features_and_with_those_of_graphs(
    method: str, backbone: str, tmp_path: Path
) -> None:
    graphs = with_features(tiny.ragged(undirected=True))
    made = make_model(method, backbone, graphs, edges=False)
    data = assert_agrees(tmp_path / "page.html", made, graphs)
    assert data["network"]["fixed"]
    numbers = tiny.ragged(undirected=True)  # edge features that differ in the two directions
    made = make_model(method, backbone, numbers)
    data = assert_agrees(tmp_path / "page.html", made, numbers)
    assert any("back" in graph["input"] for graph in data["graphs"])


@pytest.mark.parametrize("method", ["erm", "gsat", "gsina"])
def test_an_ensemble_answers_by_its_mean(method: str, tmp_path: Path) -> None:
    graphs = with_features(molecules())
    for task in (
        tiny.CLASSES,
        Task("binary", 1),
        Task("binary", 3),
        Task("regression", 2, metric="rmse"),
    ):
        made = make_model(method, "gin", graphs, task, members=3)
        assert_agrees(tmp_path / "page.html", made, graphs)


@pytest.mark.parametrize("members", [1, 2])
def test_trees_keep_their_half_of_the_answer(members: int, tmp_path: Path) -> None:
    graphs = with_features(molecules())
    for task in (tiny.CLASSES, Task("binary", 2), Task("regression", 2, metric="rmse")):
        scale = Scale((10.0, -3.0), (2.5, 0.1)) if task.kind == "regression" else None
        made = make_model(
            "gsina", "gin", graphs, task, members=members, trees=(4, 3, 1), scale=scale
        )
        assert isinstance(made.method, WithTrees)
        torch.manual_seed(5)
        trees = made.method.trees
        trees.value.copy_(torch.randn(trees.value.shape))
        trees.base.copy_(torch.randn(trees.base.shape))
        trees.output.copy_(torch.arange(4) % task.outputs)
        trees.left[:, 0], trees.right[:, 0] = 1, 2
        trees.left[:, 1:] = trees.right[:, 1:] = torch.tensor([1, 2])
        data = assert_agrees(tmp_path / "page.html", made, graphs)
        assert data["network"]["trees"]
        assert not data["network"]["fixed"]


def test_units_of_features_and_targets(tmp_path: Path) -> None:
    graphs = replace(tiny.ragged(), y=None)
    scaling = {
        "node": {"mean": [1.0, -2.0, 0.5, 0.1], "scale": [2.0, 0.5, 3.0, 1.0]},
        "edge": {"mean": [0.25], "scale": [4.0]},
    }
    made = make_model(
        "gsina",
        "gin",
        graphs,
        Task("regression", 2, metric="rmse"),
        featuriser={"kind": "tensors", "version": 1, "scaling": scaling},
        scale=Scale((10.0, -3.0), (2.5, 0.1)),
        target_names=("a", "b"),
    )
    data = assert_agrees(tmp_path / "page.html", made, graphs)
    first = in_node(data)[0]
    assert first["values"] == pytest.approx(data["graphs"][0]["values"], rel=1e-4)
    assert first["predicted"].split()[::2] == ["a", "b"]


CALIBRATED: list[tuple[Task, dict[str, Any]]] = [
    (tiny.CLASSES, {"temperature": (2.0,), "offset": (0.5, 0.0, -1.0)}),
    (Task("binary", 1), {"temperature": (0.5,), "cut": (0.05,)}),
    (Task("binary", 5), {"temperature": (2.0, 1.0, 0.5, 1.0, 3.0), "cut": (0.1,) * 5}),
    (Task("regression", 1, metric="rmse"), {}),
]


@pytest.mark.parametrize(("task", "calibration"), CALIBRATED)
def test_answers_in_words_are_those_of_python(
    task: Task, calibration: dict[str, Any], tmp_path: Path
) -> None:
    graphs = molecules()
    made = make_model("gsina", "gin", graphs, task, calibration=Calibration(**calibration))
    data = assert_agrees(tmp_path / "page.html", made, graphs)
    for found, right in zip(in_node(data), data["graphs"], strict=True):
        assert found["predicted"] == right["predicted"]
        for name in ("confidence", "probabilities", "values"):
            assert (name in found) == (name in right)
            if name in right:
                assert found[name] == pytest.approx(right[name], rel=1e-4, abs=1e-6)


def test_rounded_numbers_take_half_the_room_and_move_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = molecules()
    made = make_model("gsina", "gin", graphs)
    whole = network_cases.write(tmp_path / "page.html", made, graphs)["network"]["store"]
    assert whole["bits"] == 32
    monkeypatch.setattr(carry, "__defaults__", (int(0.7 * len(whole["numbers"])),))
    data = assert_agrees(tmp_path / "page.html", made, graphs, near=1e-2)
    assert data["network"]["store"]["bits"] == 16
    assert len(data["network"]["store"]["numbers"]) <= 0.51 * len(whole["numbers"])


REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("gsina", "gin", {"scope": "batch"}, "shares its budget out over a batch"),
    ("gsina", "gin", {"solver": "sinkhorn"}, "makes Sinkhorn sweeps"),
    ("gsina", "gin", {"transport": "padded"}, "pads its transport"),
    ("gsina", "gin", {"test_draws": 2}, "averages over noisy draws"),
    ("gsina", "spmotifnet", {}, "SPMotifNet is not one of gin, gcn, sage and ogb-gin"),
    ("dir", "gin", {}, "its method DIR is not known to the page"),
]


@pytest.mark.parametrize(("method", "backbone", "settings", "reason"), REFUSED)
def test_what_cannot_be_carried_says_so_and_is_shown(
    method: str, backbone: str, settings: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    graphs = tiny.ragged()
    made = make_model(method, backbone, graphs, settings=settings)
    data = network_cases.write(tmp_path / "page.html", made, graphs)
    assert data["network"] is None
    assert len(data["graphs"]) == len(graphs)
    (note,) = [note for note in data["notes"] if "changed graph" in note]
    assert reason in note
    assert note.endswith(".")


def test_answers_about_nodes_are_not_carried() -> None:
    graphs = tiny.ragged()
    made = make_model("erm", "gcn", graphs, Task("multiclass", 3, level="node"))
    with pytest.raises(InputError, match="depends on more of the graph than is drawn"):
        carry(made, graphs)


def test_a_network_that_is_too_large_is_left_out() -> None:
    graphs = molecules()
    made = make_model("erm", "gin", graphs)
    with pytest.raises(InputError, match=r"take 0\.\d MB, more than the 0\.0 MB that a page has"):
        carry(made, graphs, room=1000)


def test_features_of_the_first_graphs_are_there_if_those_of_all_do_not_fit(tmp_path: Path) -> None:
    graphs = molecules()
    made = make_model("erm", "gin", graphs)
    whole = carry(made, graphs)
    assert whole.graphs == len(graphs)
    room = len(whole.network["store"]["numbers"]) // 2 + 700
    part = carry(made, graphs, room=room)
    assert 0 < part.graphs < len(graphs)
    assert part.network["store"]["bits"] == 16
    shown = page_graphs(graphs, made.predict(graphs), made.task, names=network_cases.SMILES)
    write_page(tmp_path / "a.html", shown, title="a", budget=Budget(share=0.5), carried=part)
    there = ["input" in graph for graph in data_of(tmp_path / "a.html")["graphs"]]
    assert there == [number < part.graphs for number in range(len(graphs))]


def test_whole_numbers_are_written_as_they_are() -> None:
    assert pack(torch.tensor([[1.0, 0.0], [0.0, 27.0]])) == [1, 0, 0, 27]
    assert pack(torch.tensor([[3, 4]])) == [3, 4]
    assert isinstance(pack(torch.tensor([[0.5]])), str)
    assert isinstance(pack(torch.tensor([[1e6]])), str)
    assert isinstance(pack(torch.tensor([[float("nan")]])), str)
