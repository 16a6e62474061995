"""Every method explains in PyG's type, and PyG's own explainers work on every model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.explain import (
    AttentionExplainer,
    CaptumExplainer,
    Explainer,
    ExplainerAlgorithm,
    GNNExplainer,
    ModelConfig,
    PGExplainer,
)
from torch_geometric.nn import GATConv

import tiny
from gsina.explainers.explanation import Explanation
from gsina.explainers.gnn_explainer import GNNExplainer as OurGNNExplainer
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.model import Model, Scale
from gsina.models.uncertainty.calibration import Calibration
from gsina.nn.predictor import NetworkSpec

QUICK = OurGNNExplainer(steps=3)
NODES = Task("multiclass", 3, level="node")


def model(
    method: str = "gsina", task: Task = tiny.CLASSES, backbone: str = "gin", **more: Any
) -> Model:
    torch.manual_seed(0)
    edges = 1 if backbone == "gin" and task.level == "graph" else 0
    spec = NetworkSpec(backbone, tiny.FEATURES, edges, {"hidden_channels": 8})
    made = Architecture.of(method, {}, spec)
    return Model(made.build(task).eval(), task, made, **more)


def node_graph() -> Data:
    torch.manual_seed(1)
    ring = torch.arange(30)
    edges = torch.stack([ring, (ring + 1) % 30])
    return Data(
        x=torch.randn(30, tiny.FEATURES),
        edge_index=torch.cat([edges, edges.flip(0)], 1),
        y=torch.arange(30) % 3,
    )


# --- Ours ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        *("gsina", "gsat", "dir", "cigav1", "gib", "erm", "asap", "sugar"),
        *("gmt-lin", "gmt-sam", "gala", "grea", "prune", "cal", "disc"),
    ],
)
def test_every_method_explains(method: str) -> None:
    graphs = tiny.ragged(undirected=True)
    made = model(method)
    explainer = QUICK if method in ("erm", "asap") else None
    found = made.explain(graphs, explainer)
    logits = made.predict(graphs).logits
    assert len(found) == len(graphs)
    for number, one in enumerate(found):
        assert isinstance(one, Explanation)
        assert one.validate()
        assert one.edge_mask.shape == (one.num_edges,)
        assert torch.equal(one.prediction[0], logits[number])
        assert int(one.target) == int(logits[number].argmax())
        assert one.edge_truth.shape == one.edge_mask.shape
        assert one.y.tolist() == [int(graphs.y[number])]
    whose = {one.explainer for one in found}
    assert whose == {
        {"dir": "cut", "cigav1": "cut", "erm": "GNNExplainer", "asap": "GNNExplainer"}.get(
            method, "attention"
        )
    }


def test_a_cut_is_the_part_that_the_method_predicts_from() -> None:
    made = model("dir")
    graphs = tiny.motifs(2)
    for one in made.explain(graphs):
        part = one.get_explanation_subgraph()
        assert part.num_edges == -(-one.num_edges // 4)  # a quarter, rounded up
    weights = model("gsina").explain(graphs)[0]
    assert float(weights.edge_mask.mean()) == pytest.approx(0.5, abs=1e-5)
    assert weights.node_mask.shape == (weights.num_nodes, 1)


def test_one_graph_gives_one_explanation_and_a_list_gives_a_list() -> None:
    made, graphs = model(), tiny.ragged().to_pyg()
    one = made.explain(graphs[0])
    assert isinstance(one, Explanation)
    for several in ([graphs[0]], Batch.from_data_list(graphs[:1]), tiny.ragged()[[0]]):
        found = made.explain(several)
        assert isinstance(found, list)
        torch.testing.assert_close(found[0].edge_mask, one.edge_mask)


def test_graphs_without_edges_and_with_one() -> None:
    graphs = tiny.ragged()[[1, 2, 3]]
    for made in (model(), model("erm")):
        none, single, alone = made.explain(graphs, QUICK if made.method.config is None else None)
        assert none.edge_mask.numel() == alone.edge_mask.numel() == 0
        assert single.edge_mask.shape == (1,)
        assert none.validate()
        assert single.top(0.1).get_explanation_subgraph().num_edges <= 1


def test_features_of_the_wrong_width_are_said_in_one_sentence() -> None:
    data = Data(x=torch.randn(3, 7), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match="have 7 node features, but the model was trained on 4"):
        model().explain(data)


@pytest.mark.parametrize("method", ["gsina", "erm"])
def test_nodes(method: str) -> None:
    made, data = model(method, NODES, "gcn"), node_graph()
    whole = made.explain(data, QUICK if method == "erm" else None)
    assert whole.prediction.shape == (30, 3)
    assert whole.target.tolist() == made.predict(data).logits.argmax(-1).tolist()
    assert whole.get("index") is None
    assert whole.explainer == ("GNNExplainer" if method == "erm" else "attention")
    one = made.explain(data, QUICK if method == "erm" else None, index=7)
    seen = one.edge_mask > 0
    assert one.index.tolist() == [7]
    assert 0 < int(seen.sum()) < data.num_edges
    steps = (data.edge_index[:, seen] - 7).abs()
    assert int(steps.max()) <= (2 if method == "erm" else 4)  # its layers
    with pytest.raises(ValueError, match=r"index must hold nodes between 0 and 29, got \[99\]"):
        made.explain(data, QUICK, index=[99])
    for odd in ("a", [True, False], [0.5]):
        with pytest.raises(ValueError, match="index must be the number of a node, or several"):
            made.explain(data, QUICK, index=odd)
    with pytest.raises(ValueError, match=r"got index=3.*predicts graphs; leave it out"):
        model().explain(tiny.ragged()[[0]], index=3)


# --- PyG's -----------------------------------------------------------------------------------


def asked(made: Model, algorithm: ExplainerAlgorithm, **more: Any) -> Explainer:
    modes = {"multiclass": "multiclass_classification", "binary": "binary_classification"}
    config = {
        "mode": modes.get(made.task.kind, "regression"),
        "task_level": made.task.level,
        "return_type": "raw",
    }
    usual = {"explanation_type": "model", "edge_mask_type": "object"}
    return Explainer(made.as_pyg(), algorithm, model_config=config, **(usual | more))


def inputs(graphs: Any) -> tuple[tuple[Tensor, Tensor], dict[str, Tensor]]:
    data = Batch.from_data_list(graphs.to_pyg())
    return (data.x, data.edge_index), {"batch": data.batch, "edge_attr": data.edge_attr}


@pytest.mark.parametrize("kind", ["multiclass", "regression"])
def test_as_pyg_says_what_the_model_says(kind: str) -> None:
    scaling = {"node": {"mean": [1.0] * 4, "scale": [2.0] * 4}}
    more: dict[str, Any] = {"featuriser": {"kind": "tensors", "version": 1, "scaling": scaling}}
    task = tiny.CLASSES
    if kind == "regression":
        task, more["scale"] = Task("regression", 1, "rmse"), Scale((5.0,), (3.0,))
    made, graphs = model(task=task, **more), tiny.ragged()
    network = made.as_pyg()
    args, given = inputs(graphs)
    torch.testing.assert_close(network(*args, **given), made.predict(graphs).logits)
    assert not any(one.requires_grad for one in network.parameters())


def test_as_pyg_gives_probabilities_to_captum() -> None:
    """PyG's wrapper of captum refuses logits of one yes-or-no output."""
    graphs = tiny.ragged()
    made = model(task=Task("binary", 1), calibration=Calibration(temperature=(2.0,)))
    args, given = inputs(graphs)
    logits = made.predict(graphs).logits
    torch.testing.assert_close(made.as_pyg("probs")(*args, **given), made.probabilities(logits))
    torch.testing.assert_close(made.as_pyg()(*args, **given), logits)
    with pytest.raises(ValueError, match="unknown kind of output 'prob'"):
        made.as_pyg("prob")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="predicts numbers, which have no probabilities"):
        model(task=Task("regression", 1, "rmse")).as_pyg("probs")
    pytest.importorskip("captum")
    config = ModelConfig("binary_classification", "graph", "probs")
    explainer = Explainer(
        made.as_pyg("probs"),
        CaptumExplainer("IntegratedGradients"),
        explanation_type="model",
        model_config=config,
        edge_mask_type="object",
        node_mask_type="attributes",
    )
    assert explainer(*args, **given).edge_mask.shape == (args[1].size(1),)


@pytest.mark.parametrize(
    ("method", "algorithm"),
    [
        *((method, "gnn") for method in ("gsina", "erm", "gsat", "dir")),
        *((method, "captum") for method in ("gsina", "erm", "gsat", "dir")),
        # These look into layers, which have to work on the whole graph.
        *((method, "pg") for method in ("gsina", "erm", "gsat")),
        *((method, "attention") for method in ("gsina", "erm", "gsat")),
    ],
)
def test_pygs_explainers_on_graphs(method: str, algorithm: str) -> None:
    graphs = tiny.ragged()[[0, 4, 6]]
    backbone = "gat" if algorithm == "attention" else "gin"
    made = model(method, backbone=backbone)
    before = made.predict(graphs).logits
    args, given = inputs(graphs)
    if backbone == "gat":
        del given["edge_attr"]
    explainer = {
        "gnn": lambda: asked(made, GNNExplainer(epochs=3), node_mask_type="attributes"),
        "pg": lambda: asked(made, PGExplainer(epochs=1), explanation_type="phenomenon"),
        "attention": lambda: asked(made, AttentionExplainer()),
        "captum": lambda: (
            pytest.importorskip("captum") and asked(made, CaptumExplainer("IntegratedGradients"))
        ),
    }[algorithm]()
    target = None
    if algorithm == "pg":
        target = made.predict(graphs).logits.argmax(-1)
        explainer.algorithm.train(0, explainer.model, *args, target=target, **given)
    found = explainer(*args, target=target, **given)
    assert found.validate_masks()
    assert found.edge_mask.shape == (args[1].size(1),)
    assert torch.equal(made.predict(graphs).logits, before)  # the model is left alone


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat"])
def test_pygs_explainers_on_nodes(backbone: str) -> None:
    GATConv(2, 2)  # then PyG has written code for it, which its subclasses must not take over
    data, seen = node_graph(), {}
    for method in ("erm", "gsina"):
        explainer = asked(model(method, NODES, backbone), GNNExplainer(epochs=3))
        seen[method] = int((explainer(data.x, data.edge_index, index=4).edge_mask > 0).sum())
    assert 0 < seen["erm"] < data.num_edges
    assert seen["gsina"] == data.num_edges  # its weights are shared out over the whole graph


def test_a_node_sees_as_far_as_its_layers_reach() -> None:
    """GPR-GNN makes ten hops in one layer."""
    made, path = model("erm", NODES, "gprgnn"), torch.arange(20)
    data = Data(
        x=torch.randn(20, tiny.FEATURES),
        edge_index=torch.stack([path[1:], path[:-1]]),
    )
    moved = []
    for node in (10, 11):
        other = data.clone()
        other.x[node] += 10
        change = made.predict(other).logits[0] - made.predict(data).logits[0]
        moved.append(bool(change.abs().max() > 0))
    assert moved == [True, False]
    found = made.explain(data, QUICK, index=0)
    assert int(data.edge_index[0, found.edge_mask > 0].max()) == 10


def test_a_mask_on_categories_is_refused() -> None:
    spec = NetworkSpec("ogb-gin", (5, 3), (2,), {"hidden_channels": 8})
    made = Architecture.of("gsina", {}, spec)
    whole = Model(made.build(tiny.CLASSES).eval(), tiny.CLASSES, made).as_pyg()
    x, edges = torch.zeros(2, 2, dtype=torch.long), torch.tensor([[0, 1], [1, 0]])
    kinds = torch.zeros(2, 1, dtype=torch.long)
    assert whole(x, edges, edge_attr=kinds).shape == (1, 3)
    with pytest.raises(ValueError, match="categories, which a mask cannot multiply"):
        whole(0.5 * x, edges, edge_attr=kinds)
