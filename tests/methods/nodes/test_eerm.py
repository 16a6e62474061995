"""EERM: its draws, their probability, the edited graph, and what it minimises."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
import torch

import tiny_nodes
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.methods.nodes.eerm import EERM, Editors, EERMConfig, View, flip_edges
from gsina.nn.predictor import NetworkSpec


def model(**options: Any) -> EERM:
    torch.manual_seed(0)
    spec = NetworkSpec("gcn", tiny_nodes.FEATURES, 0, {"hidden_channels": 8})
    method = build_method("eerm", spec, tiny_nodes.TASK, options)
    assert isinstance(method, EERM)
    return method


def small() -> Batch:
    """Two graphs, of four nodes and of one."""
    return Batch(
        x=torch.randn(5, 2),
        edge_index=torch.tensor([[0, 1, 2, 4], [1, 2, 0, 4]]),
        node_graph=torch.tensor([0, 0, 0, 0, 1]),
        edge_graph=torch.tensor([0, 0, 0, 1]),
        num_graphs=2,
    )


@pytest.mark.parametrize("candidates", [None, 2])
def test_candidates_are_other_nodes_of_the_same_graph(candidates: int | None) -> None:
    batch = small()
    editors = Editors(batch, EERMConfig(edits=2, candidates=candidates))
    width = candidates or 3
    assert editors.logits.shape == (3, 5, width)
    assert not bool(editors.valid[4].any())  # a node alone in its graph has none
    for node in range(4):
        found = editors.candidates[node].tolist()
        assert len(set(found)) == width
        assert set(found) <= {0, 1, 2, 3} - {node}


def test_probability_of_draws_without_replacement_sums_to_one() -> None:
    batch = replace(small(), x=torch.randn(4, 2), node_graph=torch.zeros(4, dtype=torch.long))
    batch = replace(batch, edge_index=batch.edge_index[:, :3], num_graphs=1)
    editors = Editors(batch, EERMConfig(views=2, edits=2))
    editors.logits[0] = torch.tensor([0.3, -1.0, 2.0])  # the same at all four nodes
    total = 0.0
    for draw in permutations(range(3), 2):
        view = View(torch.tensor([draw] * 4), torch.empty(0))
        total += float((editors.log_probability(0, view) / 4).exp())
    assert float(total) == pytest.approx(1)


def test_draws_follow_the_probability() -> None:
    """The editor's preference shows in what it draws: one axis for both."""
    batch = tiny_nodes.dataset().train.batch([0])
    torch.manual_seed(0)
    editors = Editors(batch, EERMConfig(edits=1))
    editors.logits[0] = 0.0
    editors.logits[0, :, 7] = 4.0
    share = (editors.draw(0).chosen == 7).float().mean()
    expected = torch.softmax(editors.logits[0, 0], 0)[7]
    assert float(share) == pytest.approx(float(expected), abs=0.15)
    editors.logits.requires_grad_()
    view = editors.draw(0)
    (grad,) = torch.autograd.grad(editors.log_probability(0, view), [editors.logits])
    drawn = torch.zeros_like(grad[0]).scatter_(1, view.chosen, 1.0)
    expected = drawn - torch.softmax(editors.logits[0], 1)
    torch.testing.assert_close(grad[0], expected)
    assert bool((grad[1:] == 0).all())


def test_flips_remove_what_is_there_and_add_what_is_not() -> None:
    batch = small()
    nodes = batch.num_nodes
    flips = torch.tensor([0 * nodes + 3, 1 * nodes + 0, 2 * nodes + 0]).sort().values
    edited = flip_edges(batch, flips)
    pairs = sorted(map(tuple, edited.edge_index.T.tolist()))
    assert pairs == [(0, 2), (1, 2), (2, 0), (3, 0), (4, 4)]  # 0 -> 1 went
    assert edited.edge_graph.tolist() == [0, 0, 0, 0, 1]
    again = flip_edges(edited, flips)
    expected = sorted(map(tuple, batch.edge_index.T.tolist()))
    assert sorted(map(tuple, again.edge_index.T.tolist())) == expected
    assert edited.reverse is None


def test_loss_is_variance_and_mean() -> None:
    method = model(views=4, edits=1, beta=2.0, editor_steps=0)
    batch = tiny_nodes.dataset().train.batch([0])
    seen: list[torch.Tensor] = []
    plain = method._loss_of
    method._loss_of = lambda *a: seen.append(plain(*a)) or seen[-1]  # type: ignore[method-assign, func-returns-value]
    terms = method.loss(batch)
    losses = torch.stack(seen)
    assert losses.numel() == 4
    torch.testing.assert_close(terms["variance"], losses.var())
    torch.testing.assert_close(terms["mean"], 2 * losses.mean())
    assert len(set(losses.tolist())) == 4  # four different views


def test_editors_learn_and_the_network_does_not_notice() -> None:
    method = model(views=2, edits=1, editor_steps=3, editor_learning_rate=0.1)
    batch = tiny_nodes.dataset().train.batch([0])
    editors = Editors(batch, method.config)
    before = editors.logits.clone()
    state = {name: value.clone() for name, value in method.state_dict().items()}
    method.train()._teach(editors, batch)
    assert float((editors.logits - before).abs().max()) > 0.1
    assert not editors.logits.requires_grad
    assert all(torch.equal(value, state[name]) for name, value in method.state_dict().items())
    assert all(parameter.grad is None for parameter in method.parameters())


def test_beta_grows() -> None:
    config = EERMConfig(beta=3.0, final_beta=30.0, growth_epochs=200)
    assert [config.beta_at(epoch) for epoch in (0, 100, 200, 500)] == [3.0, 16.5, 30.0, 30.0]
    assert EERMConfig(beta=3.0).beta_at(150) == 3.0


def test_learns_and_predicts_from_the_graph_as_it_is() -> None:
    method = model(views=2, edits=1)
    batch = tiny_nodes.dataset().train.batch([0])
    optimiser = torch.optim.Adam(method.parameters(), lr=0.02)
    first = sum(method.step(batch, optimiser).values())
    for epoch in range(40):
        last = sum(method.step(batch, optimiser, epoch).values())
    assert float(last) < 0.8 * float(first)
    method.eval()
    assert torch.equal(method(batch).logits, method.predictor(batch))


def test_refusals_say_what_to_do() -> None:
    batch = tiny_nodes.dataset().train.batch([0])
    many = Batch(
        x=torch.zeros(30_000, 1),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        node_graph=torch.zeros(30_000, dtype=torch.long),
        edge_graph=torch.empty(0, dtype=torch.long),
        num_graphs=1,
    )
    text = r"3 editors of 30,000 nodes .* take 10\.1 GiB .* more than max_gib = 2; set candidates"
    with pytest.raises(ValueError, match=text):
        Editors(many, EERMConfig())
    assert Editors(many, EERMConfig(candidates=5)).logits.shape == (3, 30_000, 5)
    with pytest.raises(ValueError, match="cannot make up their features"):
        Editors(replace(batch, edge_attr=torch.ones(batch.num_edges, 1)), EERMConfig())
    with pytest.raises(ValueError, match="2 views or more, got views = 1"):
        EERMConfig(views=1)
    with pytest.raises(ValueError, match="chooses 5 of its candidates at a node, got only 3"):
        EERMConfig(candidates=3)
    spec = NetworkSpec("gcn", 4)
    with pytest.raises(
        ValueError, match="method eerm edits the neighbourhoods of nodes and cannot"
    ):
        build_method("eerm", spec, Task("multiclass", 3), {})
