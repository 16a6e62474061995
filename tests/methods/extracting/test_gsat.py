"""GSAT: its prior, its information loss, its sampling."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import tiny
from gsina.methods import GSAT, GSATConfig
from gsina.nn.predictor import NetworkSpec


def gsat(**options: Any) -> GSAT:
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})
    return GSAT.build(spec, tiny.CLASSES, GSATConfig(**options))


def information(method: GSAT, alpha: float, epoch: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """The information loss if every edge were sampled as ``alpha``."""

    def sample(scores: Tensor) -> Tensor:
        return torch.full_like(scores, alpha)

    monkeypatch.setattr(method, "_sample", sample)
    return float(method.loss(tiny.whole(tiny.ragged()), epoch)["information"])


def test_the_prior_falls_in_steps() -> None:
    config = GSATConfig()
    priors = [config.prior(epoch) for epoch in (0, 9, 10, 19, 20, 21, 99)]
    assert priors == pytest.approx([0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.7])


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, 20),
        ({"interval": 60}, 120),
        ({"interval": 20, "final_ratio": 0.5}, 80),
        ({"interval": 3}, 11),
        ({"final_ratio": 0.9}, 11),
        ({"final_ratio": 0.75, "interval": 30}, 60),
    ],
)
def test_first_eligible_epoch(options: dict[str, Any], first: int) -> None:
    """Beyond epoch 10, and the prior has arrived."""
    config = GSATConfig(**options)
    assert config.first_eligible_epoch == first
    arrived = (e for e in range(11, 300) if config.prior(e) == pytest.approx(config.final_ratio))
    assert next(arrived) == first


@pytest.mark.parametrize(("epoch", "prior"), [(0, 0.9), (10, 0.8), (50, 0.7)])
def test_no_information_at_the_prior(
    epoch: int, prior: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = gsat()
    assert information(method, prior, epoch, monkeypatch) == pytest.approx(0, abs=3e-6)
    for alpha in (0.05, prior - 0.1, prior + 0.05):
        divergence = alpha * math.log(alpha / prior)
        divergence += (1 - alpha) * math.log((1 - alpha) / (1 - prior))
        assert divergence > 0
        found = information(method, alpha, epoch, monkeypatch)
        assert found == pytest.approx(divergence, abs=2e-5)


def test_the_coefficient_scales_the_information(monkeypatch: pytest.MonkeyPatch) -> None:
    once = information(gsat(), 0.3, 0, monkeypatch)
    assert information(gsat(information=0.1), 0.3, 0, monkeypatch) == pytest.approx(once / 10)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_saturated_attention_has_finite_information(
    alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert math.isfinite(information(gsat(), alpha, 0, monkeypatch))


def test_sampling() -> None:
    """At temperature 1 the sample exceeds 1/2 with probability sigmoid(a)."""
    method = gsat()
    scores = torch.full((100_000,), 0.8)
    assert torch.equal(method.eval()._sample(scores), scores.sigmoid())
    torch.manual_seed(0)
    sample = method.train()._sample(scores)
    assert float((sample > 0.5).float().mean()) == pytest.approx(1 / (1 + math.exp(-0.8)), abs=0.01)
    assert float(sample.std()) > 0.2
    cold = gsat(temperature=0.01).train()._sample(scores)
    assert float(((cold < 0.01) | (cold > 0.99)).float().mean()) > 0.95


def test_directions_are_averaged_after_the_information_loss() -> None:
    batch = tiny.whole(tiny.ragged(undirected=True))
    torch.manual_seed(0)
    output, alpha = gsat().train()._predict(batch)
    assert output.attention is not None
    assert batch.reverse is not None
    edge = output.attention.edge
    torch.testing.assert_close(edge, (alpha + alpha[batch.reverse]) / 2)
    assert torch.equal(edge, edge[batch.reverse])
    assert not torch.equal(alpha, alpha[batch.reverse])


def test_one_network_and_no_node_attention() -> None:
    method = GSAT.build(NetworkSpec("gin", 4, 1), tiny.CLASSES, GSATConfig())
    assert sum(p.numel() for p in method.parameters()) == 25_859 + 49_537
    output = method(tiny.whole(tiny.motifs(2)))
    assert output.attention is not None
    assert output.attention.node is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"final_ratio": 1.0}, "final_ratio must lie between 0 and 1, got 1"),
        ({"start_ratio": 0.0}, "start_ratio must lie between 0 and 1"),
        ({"interval": 0}, "interval must be above 0"),
        ({"decay": 0.0}, "decay must be above 0"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"scorer": "norm"}, "did you mean 'normed'"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GSATConfig(**options)
