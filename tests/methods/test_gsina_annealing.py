"""A temperature that changes in training and is saved, and a ratio that only training widens."""

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


NARROWING: dict[str, Any] = {"ratio": 0.2, "initial_ratio": 0.8, "anneal_epochs": 3}


def test_the_ratio_goes_down_in_equal_steps() -> None:
    config = GSINAConfig(**NARROWING)
    shares = [config.budget_at(epoch).share for epoch in range(5)]
    assert shares == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.2])
    assert GSINAConfig(budget=4).budget_at(3).count == 4
    narrowing = GSINAConfig(budget=4, initial_budget=10, anneal_epochs=3)
    counts = [narrowing.budget_at(epoch).count for epoch in range(5)]
    assert counts == pytest.approx([10, 8, 6, 4, 4])


def test_training_has_the_ratio_of_its_epoch_and_evaluation_the_last() -> None:
    model, batch = make(**NARROWING, noise=0.0), tiny.whole(tiny.motifs(3))
    found: list[float] = []
    attend = model.attention.forward

    def spy(*arguments: Any, **named: Any) -> Any:
        attention = attend(*arguments, **named)
        found.append(float(attention.edge.detach().mean()))
        return attention

    model.attention.forward = spy  # type: ignore[method-assign]
    for epoch in (0, 2, 9):
        model.train().loss(batch, epoch)
    model(batch)  # outside of the loss there is no epoch
    model.eval().loss(batch, 0)
    assert found == pytest.approx([0.8, 0.4, 0.2, 0.2, 0.2], abs=1e-5)
    assert set(model.state_dict()) == set(make().state_dict())


def test_a_share_beside_a_number_of_edges_is_refused() -> None:
    with pytest.raises(ValueError, match="initial_ratio"):
        GSINAConfig(budget=4, initial_ratio=0.8)
    with pytest.raises(ValueError, match=r"initial_budget=9 beside r = 0.5"):
        GSINAConfig(initial_budget=9)
    with pytest.raises(ValueError, match="ratio must lie in"):
        GSINAConfig(initial_ratio=1.5)
