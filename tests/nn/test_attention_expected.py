"""Weights in evaluation that make up for the noise of training."""

from __future__ import annotations

import math

import pytest
import torch

from attention_cases import H, example, run
from gsina.errors import InputError
from gsina.methods import GSINAConfig
from gsina.nn.attention import GraphSinkhornAttention

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")


@torch.no_grad()
@pytest.mark.parametrize("ratio", [0.2, 0.5])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_they_are_nearly_the_mean_of_noisy_ones(noise: float, ratio: float) -> None:
    batch, h = example()
    torch.manual_seed(1)
    module = GraphSinkhornAttention(H, ratio, noise=noise, scorer="plain", expected=True).train()
    mean = torch.stack([run(module, batch, h).edge for _ in range(2000)]).mean(0)
    found = run(module.eval(), batch, h).edge
    module.expected = False
    sharp = run(module, batch, h).edge
    error, before = ((weights - mean).abs() for weights in (found, sharp))
    assert float(error.max()) < 0.06
    assert float(error.mean()) < 0.35 * float(before.mean())
    for graph in range(batch.num_graphs):
        weights = found[batch.edge_graph == graph]
        if len(weights):
            assert float(weights.double().mean()) == pytest.approx(ratio, abs=1e-6)


def test_the_temperature_of_evaluation() -> None:
    plain = GraphSinkhornAttention(H, temperature=0.7)
    assert plain.evaluation_temperature == 0.7
    made = GraphSinkhornAttention(H, temperature=0.7, noise=2.0, expected=True)
    assert made.temperature == 0.7
    assert made.evaluation_temperature == pytest.approx(math.sqrt(0.49 + math.pi**3 / 3))
    made.noise = 0.0
    assert made.evaluation_temperature == pytest.approx(0.7)


def test_training_does_not_change() -> None:
    batch, h = example()
    found = []
    for expected in (False, True):
        torch.manual_seed(1)
        module = GraphSinkhornAttention(H, expected=expected).train()
        found.append(run(module, batch, h).edge)
    assert torch.equal(*found)


@pytest.mark.parametrize("other", [{"regulariser": "quadratic"}, {"transport": "padded"}])
def test_only_for_the_entropic_and_exact_one(other: dict[str, str]) -> None:
    with pytest.raises(InputError, match="expected=True is for the entropic regulariser"):
        GraphSinkhornAttention(H, expected=True, **other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected=True is for the entropic regulariser"):
        GSINAConfig(expected=True, **other)  # type: ignore[arg-type]
