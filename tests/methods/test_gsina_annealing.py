"""A temperature that changes in training, and is part of what is saved."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import tiny
from gsina import soft_top_r
from gsina.methods import GSINA, GSINAConfig
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})
COOLING: dict[str, Any] = {"temperature": 2.0, "final_temperature": 0.5, "anneal_epochs": 4}


def make(**settings: Any) -> GSINA:
    torch.manual_seed(0)
    return GSINA.build(SPEC, tiny.CLASSES, GSINAConfig(**settings))


def test_the_schedule_is_geometric_and_ends() -> None:
    config = GSINAConfig(**COOLING)
    found = [config.temperature_at(epoch) for epoch in range(7)]
    assert found == pytest.approx([2.0, 2**0.5, 1.0, 0.5**0.5, 0.5, 0.5, 0.5])
    assert (found[0], found[4], found[6]) == (2.0, 0.5, 0.5)
    assert GSINAConfig(temperature=3.0).temperature_at(9) == 3.0
    assert GSINAConfig(temperature=1.0, final_temperature=4.0).temperature_at(10) == 2.0  # up


@pytest.mark.parametrize("hard", [False, True])
def test_training_moves_the_temperature_and_evaluation_keeps_it(hard: bool) -> None:
    model, batch = make(**COOLING, hard=hard), tiny.whole(tiny.motifs(3))
    optimiser = torch.optim.Adam(model.parameters())
    model.step(batch, optimiser, 3)
    assert model.attention.temperature == pytest.approx(0.5**0.5)
    model.eval()
    found = model(batch).attention
    right = soft_top_r(found.scores, 0.5, batch.edge_graph, temperature=0.5**0.5)
    torch.testing.assert_close(found.edge, right)
    model.loss(batch, 0)  # in evaluation: looking does not heat it up
    assert model.attention.temperature == pytest.approx(0.5**0.5)


def test_it_travels_with_the_weights() -> None:
    model, batch = make(**COOLING), tiny.whole(tiny.motifs(3))
    model.loss(batch, 2)
    other = make(**COOLING)
    other.load_state_dict(model.state_dict())
    assert other.attention.temperature == model.attention.temperature == pytest.approx(1.0)
    model.eval()
    other.eval()
    assert torch.equal(model(batch).logits, other(batch).logits)
    assert copy.deepcopy(model).attention.temperature == pytest.approx(1.0)


def test_without_annealing_the_state_is_as_it_was() -> None:
    model = make(temperature=2.0)
    assert not any("temperature" in name for name in model.state_dict())
    before = set(make(**COOLING).state_dict()) - set(model.state_dict())
    assert before == {"attention.saved_temperature"}
    model.loss(tiny.whole(tiny.motifs(3)), 7)
    assert model.attention.temperature == 2.0


@pytest.mark.parametrize("wrong", [{"final_temperature": 0.0}, {"anneal_epochs": 0}])
def test_what_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GSINAConfig(**wrong)
