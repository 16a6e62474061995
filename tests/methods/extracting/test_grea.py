"""GREA: every rationale in every environment, its size, and whose turn it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.task import Task
from gsina.methods import build_method, label_loss
from gsina.methods.extracting.grea import GREA, GREAConfig
from gsina.nn.predictor import NetworkSpec, Predictor

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16, "dropout": 0.0})


def make(task: Task = tiny.CLASSES, **options: Any) -> GREA:
    torch.manual_seed(0)
    method = build_method("grea", SPEC, task, options)
    assert isinstance(method, GREA)
    return method


def test_every_rationale_in_every_environment() -> None:
    """The loss of all pairs is that of a loop over them, with the rationale's label."""
    batch = tiny.whole(tiny.ragged())
    method = make()
    rationale, environment = torch.randn(2, 7, 16)
    losses = [
        label_loss(method.predictor.logits(rationale[i : i + 1] + environment[j]), y, tiny.CLASSES)
        for i, y in enumerate(batch.labels.split(1))
        for j in range(7)
    ]
    found = method._replace(rationale, environment, batch)
    torch.testing.assert_close(found, torch.stack(losses).mean())


def test_rationale_and_environment_are_the_graph() -> None:
    batch, method = tiny.whole(tiny.ragged()), make().eval()
    states = method.predictor.embed(batch)
    chance = method._separate(batch)
    both = method._pool(states, chance, batch) + method._pool(states, 1 - chance, batch)
    torch.testing.assert_close(both, method.predictor.represent(batch))
    output = method(batch)
    source, target = batch.edge_index
    torch.testing.assert_close(output.attention.edge, chance[source] * chance[target])
    torch.testing.assert_close(
        output.logits, method.predictor.logits(method._pool(states, chance, batch))
    )


def test_the_rationale_takes_on_its_size() -> None:
    batch = tiny.whole(tiny.motifs(4))
    for size in (0.2, 0.7):
        method = make(size=size, size_penalty=20.0, cycle=1)
        optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
        before = method.train().loss(batch)["size"].item()
        for _ in range(60):
            method.step(batch, optimiser)
        assert method.loss(batch)["size"].item() < before / 2
        share = float(method.eval()(batch).attention.node.mean())
        assert share == pytest.approx(size, abs=0.12)


def test_separator_and_predictor_take_turns() -> None:
    graphs = tiny.motifs(2)
    method = make(separator_epochs=1, cycle=3)
    optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
    for epoch in range(5):
        before = {key: value.detach().clone() for key, value in method.named_parameters()}
        method.step(tiny.whole(method.train().prepare(graphs, epoch)), optimiser, epoch)
        moved = {
            key.split(".")[0]
            for key, value in method.named_parameters()
            if not torch.equal(value, before[key])
        }
        assert moved == ({"separator", "scorer"} if epoch % 3 == 0 else {"predictor"})


def test_refused() -> None:
    with pytest.raises(ValueError, match="4 epochs of the separator in a cycle of 4"):
        GREAConfig(separator_epochs=4)
    network = SPEC.network()
    with pytest.raises(ValueError, match="GREA needs a predictor with a readout and a head"):
        GREA(network, 16, Predictor(network), tiny.CLASSES, GREAConfig())
