"""GIB: the states, the bound, the two optimisers and a resumed run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import tiny
from gsina.methods.base import Method
from gsina.methods.extracting.gib import GIB, GIBConfig, information_bound
from gsina.nn.predictor import NetworkSpec
from gsina.ops.connectivity import node_connectivity_loss
from gsina.ops.groups import Groups
from gsina.training import Settings, fit, make_selection, seed_everything


def model(backbone: str = "gin", **options: Any) -> GIB:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 1)
    return GIB.build(spec, tiny.CLASSES, GIBConfig(**{"inner_steps": 3, **options}))


def copies(gib: GIB) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in gib.named_parameters()}


@pytest.mark.parametrize("backbone", ["gin", "pna"])
def test_states_graph_by_graph(backbone: str) -> None:
    gib = model(backbone).eval()
    graphs = tiny.ragged()
    batch = tiny.whole(graphs)
    output, states = gib(batch), gib._squeeze(batch)
    assert output.attention is not None
    assert output.attention.node is not None
    for number in range(len(graphs)):
        one = graphs.batch([number])
        h = gib.network(one.x, one.edge_index, one.edge_attr)
        first, last = gib.assign[0], gib.assign[2]
        p = last(torch.tanh(first(h))).softmax(1)[:, 0]
        subgraph = (p.unsqueeze(1) * h).sum(0)  # the first row of S^T H
        if backbone == "pna":
            subgraph = subgraph / p.sum()
        torch.testing.assert_close(states.subgraph[number], subgraph)
        torch.testing.assert_close(states.graph[number], h.mean(0))
        torch.testing.assert_close(output.attention.node[batch.node_graph == number], p)
        torch.testing.assert_close(
            output.attention.edge[batch.edge_graph == number],
            p[one.edge_index[0]] * p[one.edge_index[1]],
        )
        torch.testing.assert_close(output.logits[number], gib.classifier(subgraph))


def test_losses_written_out() -> None:
    gib = model(information=0.2, connectivity=5.0).eval()
    batch = tiny.whole(tiny.motifs(1)).to("cpu")
    states = gib._squeeze(batch)
    torch.manual_seed(3)
    terms = gib.loss(batch)
    torch.manual_seed(3)
    bound = information_bound(gib.estimator, states.graph, states.subgraph)
    edges = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    apart = node_connectivity_loss(states.membership, batch.edge_index, edges)
    expected = {
        "prediction": F.cross_entropy(gib(batch).logits, batch.labels),
        "information": 0.2 * bound,
        "connectivity": 5 * apart.mean(),
    }
    assert terms.keys() == expected.keys()
    for name, term in terms.items():
        torch.testing.assert_close(term, expected[name], msg=name)


def test_sums_and_whole_graphs_as_in_the_ciga_benchmark() -> None:
    gib = model("ogb-gcn", pooling="sum", classify_graphs=True, hidden=2, estimator_hidden=4).eval()
    assert [gib.assign[0].out_features, gib.classifier[0].out_features] == [64, 64]
    assert gib.estimator[0].out_features == 128
    batch = tiny.whole(tiny.motifs(2))
    h = gib.network(batch.x, batch.edge_index, batch.edge_attr)
    shares = gib.assign(h).softmax(1)
    states = gib._squeeze(batch)
    for number in range(batch.num_graphs):
        inside = batch.node_graph == number
        rows = shares[inside].T @ h[inside]  # S^T H
        torch.testing.assert_close(states.subgraph[number], rows[0])
        torch.testing.assert_close(states.graph[number], rows.mean(0))
    both = gib.classifier(torch.cat([states.subgraph, states.graph]))
    expected = F.cross_entropy(both, batch.labels.repeat(2))
    torch.testing.assert_close(gib.loss(batch)["prediction"], expected)


@pytest.mark.parametrize(("patience", "calls"), [(0, 20), (5, 5)])
def test_the_inner_loop_ends_when_the_bound_does_not_grow(
    patience: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gib = model(inner_steps=20, inner_patience=patience)
    seen = []

    def falling(estimator: Any, graph: Tensor, subgraph: Tensor) -> Tensor:
        seen.append(0)
        return -len(seen) + 0 * estimator(torch.cat([graph, subgraph], dim=1)).sum()

    monkeypatch.setattr("gsina.methods.extracting.gib.information_bound", falling)
    gib._train_estimator(torch.randn(4, 64), torch.randn(4, 64))
    assert len(seen) == calls


def test_the_bound_written_out_for_two_graphs() -> None:
    torch.manual_seed(0)
    estimator = torch.nn.Linear(4, 1)
    graph, subgraph = torch.randn(2, 2), torch.randn(2, 2)

    def f(i: int, j: int) -> Tensor:
        return estimator(torch.cat([graph[i], subgraph[j]]))

    expected = (f(0, 0) + f(1, 1)) / 2 - torch.log((f(1, 0).exp() + f(0, 1).exp()) / 2)
    found = information_bound(estimator, graph, subgraph)
    torch.testing.assert_close(found, expected.squeeze())
    assert float(information_bound(estimator, graph[:1], subgraph[:1])) == 0


def test_the_bound_is_finite_for_large_values() -> None:
    estimator = torch.nn.Linear(4, 1)
    assert information_bound(estimator, 1e6 * torch.randn(5, 2), torch.randn(5, 2)).isfinite()


def test_the_inner_loop_finds_the_information_of_gaussians() -> None:
    gib = model(inner_steps=300, inner_learning_rate=1e-2)
    channels = gib.network.out_channels
    assert isinstance(channels, int)
    correlation = 0.9
    graph = torch.zeros(512, channels)
    noise = torch.randn(512)
    graph[:, 0] = torch.randn(512)
    related, unrelated = torch.zeros_like(graph), torch.zeros_like(graph)
    related[:, 0] = correlation * graph[:, 0] + math.sqrt(1 - correlation**2) * noise
    unrelated[:, 0] = noise
    gib._train_estimator(graph, related)
    found = float(information_bound(gib.estimator, graph, related).detach())
    assert found == pytest.approx(-0.5 * math.log(1 - correlation**2), abs=0.25)  # 0.83
    gib._train_estimator(graph, unrelated)
    assert abs(float(information_bound(gib.estimator, graph, unrelated).detach())) < 0.2


def test_only_the_inner_loop_trains_the_estimator() -> None:
    for inner_steps in (0, 2):
        gib = model(inner_steps=inner_steps)
        before = copies(gib)
        optimiser = torch.optim.Adam(gib.parameters(), 1e-2, weight_decay=0.1)
        gib.step(tiny.whole(tiny.motifs(2)), optimiser)
        for name, value in gib.named_parameters():
            inner = name.startswith("estimator")
            assert torch.equal(value, before[name]) == (inner and inner_steps == 0), name
            assert (value.grad is None) == inner, name


def test_the_model_works_against_the_estimator() -> None:
    batch = tiny.whole(tiny.motifs(8))
    found = {}
    for information in (0.0, 5.0):
        gib = model(information=information, inner_steps=50, inner_learning_rate=1e-2).eval()
        states = gib._squeeze(batch)
        gib._train_estimator(states.graph.detach(), states.subgraph.detach())
        optimiser = torch.optim.Adam(gib.parameters(), 1e-3)
        for _ in range(10):
            Method.step(gib, batch, optimiser)  # without the inner loop
        states = gib._squeeze(batch)
        bound = information_bound(gib.estimator, states.graph, states.subgraph)
        found[information] = float(bound.detach())
    assert found[5.0] < found[0.0] - 0.5


def test_the_information_does_not_teach_the_state_of_the_whole_graph() -> None:
    gib = model(information=1.0)
    batch = tiny.whole(tiny.motifs(2))
    states = gib._squeeze(batch)
    graph = states.graph.detach().requires_grad_()
    subgraph = states.subgraph.detach().requires_grad_()
    terms = gib._losses(states._replace(graph=graph, subgraph=subgraph), batch)
    terms["information"].backward()
    assert graph.grad is None
    assert subgraph.grad is not None
    assert subgraph.grad.abs().sum() > 0


def test_learns_beside_its_information_loss() -> None:
    torch.manual_seed(0)
    gib = model(dropout=0.0)
    batch = tiny.whole(tiny.motifs(8))
    optimiser = torch.optim.Adam(gib.parameters(), 1e-2)
    losses = [float(gib.step(batch, optimiser)["prediction"]) for _ in range(40)]
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("undirected", [False, True])
def test_trains_on_graphs_of_all_sizes(undirected: bool) -> None:
    gib = model()
    optimiser = torch.optim.Adam(gib.parameters(), 1e-2)
    graphs = tiny.ragged(undirected=undirected)
    for batch in (tiny.whole(graphs), graphs.batch([0]), graphs.batch([1, 3])):
        assert all(term.isfinite() for term in gib.step(batch, optimiser).values())


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    dataset = tiny.dataset(4)

    def train(epochs: int, name: str) -> dict[str, Tensor]:
        seed_everything(0)
        gib = model()
        selection = make_selection("latest-best", None, 0)
        settings = Settings(epochs=epochs, batch_size=5)
        fit(gib, dataset, settings, selection, seed=0, out=tmp_path / name, resume=True)
        return copies(gib)

    whole = train(3, "whole")
    train(1, "parts")
    resumed = train(3, "parts")
    for name, value in whole.items():
        assert torch.equal(value, resumed[name]), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"information": -0.1}, "information must be 0 or more, got -0.1"),
        ({"inner_steps": -1}, "inner_steps must be 0 or more, got -1"),
        ({"inner_learning_rate": 0.0}, "inner_learning_rate must be above 0, got 0.0"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GIBConfig(**options)
