"""GSINA trained on hard subgraphs, and predictions that are means over draws."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tiny
from gsina.methods import GSINA, GSINAConfig
from gsina.nn.predictor import NetworkSpec
from gsina.training.evaluate import predict

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})


def make(**settings: Any) -> GSINA:
    torch.manual_seed(0)
    return GSINA.build(SPEC, tiny.CLASSES, GSINAConfig(**settings))


def test_training_on_hard_subgraphs_reaches_every_part() -> None:
    model, batch = make(hard=True, ratio=0.4), tiny.whole(tiny.motifs(4))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        assert bool(model.step(batch, optimiser)["prediction"].isfinite())
    for part in (model.extractor, model.attention, model.predictor):
        assert any(p.grad is not None and bool(p.grad.any()) for p in part.parameters())
    edge = model(batch).attention.edge
    assert bool(((edge == 0) | (edge == 1)).all())
    soft = model.eval()(batch).attention.edge
    assert bool(((soft > 0) & (soft < 1)).any())


@pytest.mark.parametrize("hard", [False, True])
def test_logits_are_the_mean_over_draws(hard: bool) -> None:
    model = make(hard=hard, test_draws=3).eval()
    batch = tiny.whole(tiny.ragged(undirected=True))
    with torch.no_grad():
        output = model(batch)
        _, soft, drawn = model._attend(batch, 3)
        expected = torch.stack([model.predictor(batch, one) for one in drawn]).mean(0)
        plain = model.predictor(batch, soft)
    torch.testing.assert_close(output.logits, expected)
    assert not torch.allclose(output.logits, plain)
    torch.testing.assert_close(output.attention.edge, soft.edge)  # reported without noise


@pytest.mark.parametrize("hard", [False, True])
def test_predictions_over_draws_do_not_depend_on_the_batch(hard: bool) -> None:
    model, graphs = make(hard=hard, test_draws=4), tiny.ragged(undirected=True)
    assert model.batch_invariant
    together, alone, again = (predict(model, graphs, size).logits for size in (7, 1, 7))
    torch.testing.assert_close(together, alone)
    assert torch.equal(together, again)


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="test_draws must be 0 or more"):
        GSINAConfig(test_draws=-1)
    with pytest.raises(ValueError, match="all draws would be the same"):
        GSINAConfig(test_draws=3, noise=0.0)
    GSINAConfig(test_draws=3, noise=0.0, hard=True)
