"""Faithfulness: PyG's metrics on the same input, planted signals, and the baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.explain import Explainer, ModelConfig, fidelity, unfaithfulness
from torch_geometric.explain.metric import characterization_score, fidelity_curve_auc

import tiny
from gsina.explain import GSINAExplainer, faithfulness
from gsina.explain.evidence.baseline import deal_edges
from gsina.explain.evidence.measure import characterisation, curve_area
from gsina.explainers.explanation import Explanation
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec
from gsina.ops.budget import Budget


def model(method: str = "gsina", task: Task = tiny.CLASSES, backbone: str = "gin") -> Model:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 0, {"hidden_channels": 8})
    made = Architecture.of(method, {}, spec)
    return Model(made.build(task).eval(), task, made)


# --- As PyG has it -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gsina", "gsat", "dir", "erm"])
def test_masks_as_weights_are_pygs_metrics(method: str) -> None:
    made, graphs = model(method), tiny.ragged(undirected=True)
    made.method.double()  # PyG's own rounding in single precision is above 1e-6
    graphs = replace(graphs, x=graphs.x.double())
    how = GNNExplainer(steps=2) if method == "erm" else None
    explanations = made.explain(graphs, how)
    found = faithfulness(made, graphs, explanations, ways=("zero",), shares=())
    asked = Explainer(
        made.as_pyg(),
        GSINAExplainer(made, how),
        explanation_type="model",
        edge_mask_type="object",
        model_config=ModelConfig("multiclass_classification", "graph", "raw"),
    )
    for number, one in enumerate(explanations):
        one._model_args = []
        if one.num_edges:
            plus, minus = fidelity(asked, one)
            assert float(found.explained.fidelity_plus[number]) == plus
            assert float(found.explained.fidelity_minus[number]) == minus
            ours = float(found.explained.unfaithfulness[number])
            assert ours == pytest.approx(unfaithfulness(asked, one), abs=1e-6)


def test_characterisation_and_the_curve_are_pygs() -> None:
    plus, minus = torch.tensor([0.2, 0.5, 0.9]), torch.tensor([0.6, 0.3, 0.1])
    for one, other in zip(plus.tolist(), minus.tolist(), strict=True):
        theirs = float(characterization_score(torch.tensor(one), torch.tensor(other)))
        assert characterisation(one, other) == pytest.approx(theirs, abs=1e-6)
    shares = torch.tensor([0.1, 0.3, 0.9])
    area = curve_area(torch.stack([plus, minus]), shares.tolist())
    assert area == pytest.approx(float(fidelity_curve_auc(plus, minus, shares)), abs=1e-6)
    assert characterisation(0.0, 0.5) == 0
    assert curve_area(torch.tensor([[0.5, 0.5], [1.0, 0.0]]), (0.1, 0.2)) != area  # NaN
    assert torch.tensor(curve_area(torch.ones(2, 3), (0.1, 0.2, 0.3))).isnan()


# --- Planted ----------------------------------------------------------------------------------


class CountsTrue(Method):
    """Answers 1 if more than half of the edges that it is given in training's truth are there."""

    def __init__(self) -> None:
        super().__init__(Task("multiclass", 2))
        self.unused = nn.Linear(1, 1)

    def forward(self, batch: Batch) -> Output:
        """One logit grows with the number of edges between nodes with the feature 1."""
        hot = (batch.x[batch.edge_index] > 0.5).all(0).all(-1).float()
        count = batch.edge_groups.sum(hot)
        return Output(torch.stack([torch.full_like(count, 3.0), 2 * count], dim=-1))


def planted(copies: int = 12) -> tuple[Model, PackedGraphs]:
    """Graphs with a path of 3 hot edges in a ring of cold ones, and a model that counts them."""
    ring = torch.arange(12)
    edges = torch.stack([ring, (ring + 1) % 12])
    x = torch.zeros(12, 1)
    x[:4] = 1
    truth = torch.zeros(12, dtype=torch.bool)
    truth[:3] = True
    one = PackedGraphs(
        x,
        edges,
        torch.tensor([0, 12]),
        torch.tensor([0, 12]),
        edge_truth=truth,
    )
    graphs = PackedGraphs.join([one] * copies)
    made = Architecture("erm", {}, "gin", {}, 1, 0)
    return Model(CountsTrue(), Task("multiclass", 2), made), graphs


def test_the_true_part_is_sufficient_and_necessary_and_a_random_one_is_not() -> None:
    made, graphs = planted()
    right = graphs.edge_truth.float()
    kept = Budget(count=3)
    found = faithfulness(made, graphs, right, budget=kept, ways=("delete", "replace"))
    best, random = found.summary(), found.summary(random=True)
    assert best["kept_alone_delete"] == best["changed_without_delete"] == 1
    assert best["kept_alone_replace"] == 1
    assert best["sufficiency_delete"] == pytest.approx(1, abs=1e-6)
    assert best["necessity_delete"] > 0.9
    assert random["necessity_delete"] < 0.7 * best["necessity_delete"]
    assert random["kept_alone_delete"] < 0.5
    assert best["roc_auc"] == best["average_precision"] == 1
    assert best["precision_at_5"] == pytest.approx(3 / 5)
    assert best["pieces"] == 1 < random["pieces"]
    wrong = faithfulness(made, graphs, 1 - right, budget=kept, ways=("delete",)).summary()
    assert wrong["kept_alone_delete"] == wrong["changed_without_delete"] == 0
    assert wrong["roc_auc"] == 0
    curves = [one.removed["delete"].curve for one in (found.explained, found.random)]
    assert float(curves[0][0].sum()) > float(curves[1][0].sum())  # fidelity+
    assert float(curves[0][1].sum()) < float(curves[1][1].sum())  # fidelity-


def test_stability_tells_a_rule_from_a_die() -> None:
    made, graphs = planted()

    def by_rule(some: PackedGraphs) -> Tensor:
        owner = torch.repeat_interleave(some.edge_ptr.diff())
        ends = some.x[some.edge_index + some.node_ptr[owner]]
        return ends.sum((0, 2)) + 1e-3 * torch.arange(ends.size(1)).sin()

    def by_die(some: PackedGraphs) -> Tensor:
        return torch.rand(some.edge_index.size(1))

    kept = Budget(count=3)
    scores = {}
    for again in (by_rule, by_die):
        found = faithfulness(
            made, graphs, again(graphs), budget=kept, ways=("delete",), again=again
        ).summary()
        scores[again] = found
    assert scores[by_rule]["stable_relabelling"] == 1
    assert scores[by_rule]["stable_noise"] == 1
    assert scores[by_die]["stable_relabelling"] < 0.5


def test_random_explanations_have_the_same_weights_in_every_graph() -> None:
    graphs = tiny.ragged(undirected=True)
    start = graphs.edge_ptr[:-1].repeat_interleave(graphs.edge_ptr.diff())
    weights = torch.rand(graphs.edge_index.size(1))
    weights = (weights + weights[graphs.reverse + start]) / 2
    dealt = deal_edges(weights, graphs, torch.Generator().manual_seed(0))
    assert not torch.equal(dealt, weights)
    assert torch.equal(dealt, dealt[graphs.reverse + start])
    for number in range(len(graphs)):
        rows = graphs.rows_of(number)["edge"]
        assert torch.equal(dealt[rows].sort().values, weights[rows].sort().values)


# --- Kinds of answers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task", [tiny.CLASSES, Task("binary", 1), Task("binary", 4), Task("regression", 1, "rmse")]
)
def test_every_kind_of_answer(task: Task) -> None:
    made, graphs = model(task=task), tiny.ragged()
    found = faithfulness(made, graphs, made.explain(graphs), shares=(0.2, 0.5))
    said = found.summary()
    assert found.sure.shape == (len(graphs),)
    for way in ("zero", "delete", "replace"):
        rest = found.explained.removed[way]
        assert bool(rest.only.isfinite().all())
        numbers = task.kind == "regression"
        assert (f"kept_alone_{way}" in said) != numbers
        assert (f"moved_without_{way}" in said) == numbers
    if task.kind != "regression":
        assert 0 < float(found.explained.unfaithfulness.mean()) < 1


def test_nodes() -> None:
    made = model(task=Task("multiclass", 3, level="node"), backbone="gcn")
    graphs = tiny.ragged()[[5]]
    found = faithfulness(made, graphs, made.explain(graphs))
    assert found.sure.shape == (40,)
    masked = replace(graphs, mask=torch.arange(40) < 10)
    assert int(faithfulness(made, masked, made.explain(masked)).counted.sum()) == 10


# --- Bad input ---------------------------------------------------------------------------------


def test_explanations_of_other_graphs_are_refused() -> None:
    made, graphs = model(), tiny.ragged()
    explanations: list[Explanation] = made.explain(graphs)
    wrong: list[tuple[Any, str]] = [
        (explanations[:-1], "got 6 explanations for 7 graphs"),
        (explanations[::-1], "explanation 0 is not one of graph 0, with its 5 nodes and 5 edges"),
        # The same edges between other atoms.
        (made.explain(replace(graphs, x=graphs.x + 1)), "explanation 0 is not one of graph 0"),
        (torch.rand(3), r"got \[3\] weights for graphs with"),
    ]
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            faithfulness(made, graphs, given)
    other = Architecture.of("gsina", {}, NetworkSpec("gin", 2))
    narrow = Model(other.build(tiny.CLASSES), tiny.CLASSES, other)
    with pytest.raises(ValueError, match="have 4 node features, but the model was trained on 2"):
        faithfulness(narrow, graphs, explanations)


def test_graphs_without_a_choice_do_not_count() -> None:
    made, graphs = model(), tiny.ragged()
    found = faithfulness(made, graphs, made.explain(graphs), ways=("delete",))
    assert found.counted.tolist() == [True, False, False, False, True, True, True]
    few = graphs[[1, 2]]
    none = faithfulness(made, few, made.explain(few), ways=("delete",)).summary()
    assert torch.tensor(none["fidelity_plus"]).isnan()
