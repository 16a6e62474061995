"""Post-hoc explainers: batches as single graphs, a planted signal, and a model left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import explain
from torch_geometric.nn import GINConv, MessagePassing

import tiny
from gsina import metrics
from gsina.explainers.frozen import FrozenModel
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.explainers.graphmask import AmortisedGraphMask, GraphMask
from gsina.explainers.pg_explainer import BatchedPGExplainer, PGExplainer
from gsina.explainers.registry import (
    EXPLAINERS,
    Explainer,
    explain_split,
    make_explainer,
    sample_graphs,
)
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import ERM, ERMConfig, build_method
from gsina.nn.predictor import NetworkSpec, Predictor

QUICK: dict[str, Explainer] = {
    "gnnexplainer": GNNExplainer(steps=4, batch_size=3),
    "pgexplainer": PGExplainer(epochs=1, batch_size=3),
    "graphmask": GraphMask(epochs=1, batch_size=3),
}


def model(backbone: str = "gin", task: Task = tiny.CLASSES) -> ERM:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 16})
    return ERM.build(spec, task, ERMConfig()).eval()


# --- Batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [tiny.CLASSES, Task("binary", 2), Task("regression", 1, "rmse")])
def test_gnn_explainer_on_a_batch_is_pygs_own_on_each_graph(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = tiny.ragged()[[0, 2, 4, 5, 6]]
    erm, steps = model(task=task), 12
    normal = torch.randn(graphs.edge_index.size(1))
    taken = 0

    def next_normal(size: int, **_: Any) -> Tensor:
        nonlocal taken
        taken += size
        return normal[taken - size : taken].clone()

    monkeypatch.setattr(torch, "randn", next_normal)
    ours = explain_split(erm, graphs, GNNExplainer(steps=steps))
    taken, alone = 0, []
    frozen = FrozenModel(erm)
    for number in range(len(graphs)):
        one = graphs.batch([number])
        target = frozen.with_own_labels(one).labels
        if task.kind == "binary":
            target = target.view(-1)  # as PyG has it
        algorithm = explain.GNNExplainer(epochs=steps, lr=0.01)
        frozen.connect(algorithm)
        found = algorithm(frozen, one.x, one.edge_index, target=target, graphs=one)
        alone.append(found.edge_mask)
    torch.testing.assert_close(ours, torch.cat(alone), atol=2e-4, rtol=1e-3)
    assert ours.std() > 0.01


def test_loss_of_pg_explainer_on_a_batch_is_the_mean_of_pygs_own() -> None:
    graphs = tiny.ragged()[[0, 2, 4, 5, 6]]
    frozen = FrozenModel(model())
    batch = frozen.with_own_labels(tiny.whole(graphs))
    ours = BatchedPGExplainer(frozen, {}, epochs=1)
    pygs = explain.PGExplainer(epochs=1)
    frozen.connect(pygs)
    mask, logits = torch.randn(batch.num_edges), frozen.run(batch)
    each = [
        pygs._loss(
            logits[number : number + 1],
            batch.labels[number : number + 1],
            mask[batch.edge_graph == number],
        )
        for number in range(len(graphs))
    ]
    torch.testing.assert_close(ours._loss(logits, batch, mask), torch.stack(each).mean())


def test_own_coefficients_do_not_change_pygs() -> None:
    before = dict(explain.PGExplainer.coeffs)
    BatchedPGExplainer(FrozenModel(model()), {"edge_size": 7.0}, epochs=1)
    assert explain.PGExplainer.coeffs == before


@pytest.mark.parametrize("backbone", ["gin", "pna", "spmotifnet"])
def test_gates_of_graphmask_change_messages_and_nothing_else(backbone: str) -> None:
    batch = tiny.whole(tiny.motifs(2))
    frozen = FrozenModel(model(backbone))
    plain = frozen.run(batch)
    gates = AmortisedGraphMask(frozen, batch)
    torch.testing.assert_close(frozen.run(batch), plain)
    for layer in gates.layers:
        layer.message_scale = torch.ones(batch.num_edges)
        layer.message_replacement = torch.full((layer.latest_messages.size(1),), 9.0)
    torch.testing.assert_close(frozen.run(batch), plain)
    for layer in gates.layers:
        layer.message_scale = torch.zeros(batch.num_edges)
        layer.message_replacement = torch.zeros(layer.latest_messages.size(1))
    closed = frozen.run(batch)
    assert not torch.allclose(closed, plain)
    if backbone != "pna":  # there the aggregate of no message is not that of zero messages
        edgeless = replace(
            batch,
            edge_index=batch.edge_index[:, :0],
            edge_graph=batch.edge_graph[:0],
            edge_attr=None if batch.edge_attr is None else batch.edge_attr[:0],
        )
        torch.testing.assert_close(FrozenModel(model(backbone)).run(edgeless), closed)


# --- A planted signal ------------------------------------------------------------------------


class Passes(nn.Module):
    """Node states are the sum of what the neighbours send: their features."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = GINConv(nn.Identity())

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        states: Tensor = self.layer(x, edge_index)
        return states - x


def planted() -> tuple[ERM, PackedGraphs]:
    """A model that counts marks, and stars with one or three marked leaves among nine.

    It says 1 where three marked leaves send their mark to the centre; these edges are the truth.
    """
    torch.manual_seed(0)
    stars = []
    for number in range(40):
        star = tiny.graph(10, [(leaf, 0) for leaf in range(1, 10)])
        leaves = 1 + torch.randperm(9)[: 3 if number % 2 else 1]
        star.x[:, 0] = 0
        star.x[leaves, 0] = 2
        star.edge_truth = star.x[1:, 0] > 0
        stars.append(star)
    head = nn.Linear(tiny.FEATURES, 2)
    with torch.no_grad():
        head.weight.zero_()[:, 0] = torch.tensor([-1.0, 1.0])
        head.bias.copy_(torch.tensor([4.0, -4.0]))
    erm = ERM(Predictor(Passes(), head, "sum"), Task("multiclass", 2))
    return erm.eval(), PackedGraphs.from_pyg(stars)


@pytest.mark.parametrize(
    "explainer",
    [
        GNNExplainer(steps=60, learning_rate=0.1),
        PGExplainer(epochs=60, learning_rate=0.01, size=0.3, batch_size=10),
        GraphMask(epochs=40, scaling=1.0, batch_size=10),
    ],
    ids=list(EXPLAINERS),
)
def test_edges_that_decide_are_found(explainer: Explainer) -> None:
    erm, graphs = planted()
    assert graphs.edge_truth is not None
    scores = explain_split(erm, graphs, explainer, train=graphs)
    says_one = erm(tiny.whole(graphs)).logits.argmax(1) == 1
    assert int(says_one.sum()) == 20
    chosen = says_one[torch.repeat_interleave(graphs.edge_ptr.diff())]
    assert metrics.explanation_auc(scores[chosen], graphs.edge_truth[chosen]) > 0.95


# --- Promises --------------------------------------------------------------------------------


@pytest.mark.parametrize("backbone", ["gin", "pna", "spmotifnet"])
@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_every_edge_is_scored_and_the_model_left_alone(name: str, backbone: str) -> None:
    graphs = tiny.ragged()
    erm = model(backbone).train()
    before = {key: value.clone() for key, value in erm.state_dict().items()}
    state = torch.get_rng_state()
    scores = explain_split(erm, graphs, QUICK[name], train=graphs, seed=3)
    assert scores.shape == (graphs.edge_index.size(1),)
    assert bool(((scores >= 0) & (scores <= 1)).all())
    assert scores.std() > 0
    assert torch.equal(state, torch.get_rng_state())
    assert erm.training
    assert all(parameter.requires_grad for parameter in erm.parameters())
    assert all(parameter.grad is None for parameter in erm.parameters())
    assert {key: value.tolist() for key, value in erm.state_dict().items()} == {
        key: value.tolist() for key, value in before.items()
    }
    layers = [layer for layer in erm.modules() if isinstance(layer, MessagePassing)]
    assert not any(layer.explain for layer in layers)
    again = explain_split(erm, graphs, QUICK[name], train=graphs, seed=3)
    assert torch.equal(scores, again)
    other = explain_split(erm, graphs, QUICK[name], train=graphs, seed=4)
    assert not torch.equal(scores, other)


@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_labels_and_truth_are_not_used(name: str) -> None:
    graphs = tiny.motifs(2)
    blind = replace(graphs, y=None, edge_truth=None, node_truth=None)
    scores = [explain_split(model(), g, QUICK[name], train=g) for g in (graphs, blind)]
    assert torch.equal(*scores)


@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_both_directions_of_an_edge_share_a_score(name: str) -> None:
    graphs = tiny.ragged(undirected=True)
    scores = explain_split(model(), graphs, QUICK[name], train=graphs)
    batch = tiny.whole(graphs)
    assert batch.reverse is not None
    torch.testing.assert_close(scores, scores[batch.reverse])


@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_graphs_without_edges_are_no_trouble(name: str) -> None:
    graphs = tiny.ragged()
    edgeless = graphs[[1, 3]]
    scores = explain_split(model(), edgeless, QUICK[name], train=graphs)
    assert scores.shape == (0,)


@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_progress_ends_at_the_end(name: str) -> None:
    graphs, seen = tiny.ragged(), list[tuple[int, int]]()
    explain_split(
        model(), graphs, QUICK[name], train=graphs, progress=lambda *step: seen.append(step)
    )
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == seen[-1][1]


def test_a_sample_is_in_order_and_repeatable() -> None:
    graphs = tiny.motifs(5)
    some = sample_graphs(graphs, 4, seed=1)
    assert len(some) == 4
    assert some.y is not None
    assert bool((some.y.diff() >= 0).all())  # the classes are stored one after the other
    assert torch.equal(some.x, sample_graphs(graphs, 4, seed=1).x)
    assert not torch.equal(some.node_ptr, sample_graphs(graphs, 4, seed=2).node_ptr)
    assert sample_graphs(graphs, 99) is graphs
    scores = explain_split(model(), graphs, QUICK["gnnexplainer"], limit=4, seed=1)
    assert scores.numel() == some.edge_index.size(1)


@pytest.mark.parametrize(
    "method", ["gsina", "gsat", "dir", "cigav1", "asap", "gib", "sugar", "gala", "cal"]
)
def test_methods_of_all_kinds_are_explained(method: str) -> None:
    graphs = tiny.ragged()
    torch.manual_seed(0)
    made = build_method(method, NetworkSpec("gin", tiny.FEATURES, 1), tiny.CLASSES, {}).eval()
    scores = explain_split(made, graphs, QUICK["gnnexplainer"])
    assert scores.shape == (graphs.edge_index.size(1),)
    assert float(scores.std()) > 0


def test_sums_without_messages_are_explained() -> None:
    graphs = tiny.ragged()
    spec = NetworkSpec("gcn", tiny.FEATURES, 0, {"hidden_channels": 16})
    plain = ERM.build(spec, tiny.CLASSES, ERMConfig()).eval()
    batch = tiny.whole(graphs)
    torch.testing.assert_close(FrozenModel(plain).run(batch), plain(batch).logits)
    assert float(explain_split(plain, graphs, QUICK["gnnexplainer"]).std()) > 0


def test_what_cannot_be_explained_is_said() -> None:
    graphs = tiny.motifs(1)
    with pytest.raises(ValueError, match="unknown explainer 'gnnexplaner'; did you mean"):
        explain_split(model(), graphs, "gnnexplaner")
    for name in ("pgexplainer", "graphmask"):
        with pytest.raises(ValueError, match="learns from training graphs, and got none"):
            explain_split(model(), graphs, name)
        with pytest.raises(ValueError, match="graphs without any edge; pass train="):
            explain_split(model(), graphs, name, train=tiny.ragged()[[1]])
    with pytest.raises(ValueError, match="limit must be at least 1"):
        explain_split(model(), graphs, "gnnexplainer", limit=0)
    with pytest.raises(ValueError, match="without graphs"):
        explain_split(model(), graphs[[]], "gnnexplainer")


def test_settings_in_the_name() -> None:
    made = make_explainer("gnnexplainer,steps=500,learning_rate=0.1")
    assert made == GNNExplainer(steps=500, learning_rate=0.1)
    with pytest.raises(ValueError, match=r"unknown setting of gnnexplainer 'step'.*'steps'"):
        make_explainer("gnnexplainer,step=5")
    with pytest.raises(ValueError, match="unknown explainer"):
        make_explainer("gnn,steps=5")
