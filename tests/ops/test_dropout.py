"""Dropout from random bytes: its statistics, its scale, its seeds."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gsina.ops.dropout import dropout


def share_of_zeros(p: float, size: int = 400_000, seed: int = 0) -> float:
    torch.manual_seed(seed)
    return float((dropout(torch.ones(size), p) == 0).double().mean())


@pytest.mark.parametrize("p", [0.5, 0.3, 0.1, 0.25, 1 / 256, 0.9, 0.999])
def test_zeros_are_as_frequent_as_asked(p: float) -> None:
    # Five standard deviations of the binomial distribution: one failure in two million seeds.
    bound = 5 * math.sqrt(p * (1 - p) / 400_000)
    for seed in range(3):
        assert abs(share_of_zeros(p, seed=seed) - p) < bound


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_elements_are_independent(p: float) -> None:
    torch.manual_seed(0)
    kept = (dropout(torch.ones(1_000_000), p) != 0).double() - (1 - p)
    for lag in (1, 2, 3, 4, 7, 8, 16, 64):  # bytes of one word, neighbouring words
        correlation = float((kept[lag:] * kept[:-lag]).mean()) / (p * (1 - p))
        assert abs(correlation) < 5e-3
    # Every place within a word is dropped equally often.
    by_place = kept[: 8 * 125_000].view(-1, 8).mean(0)
    assert float(by_place.abs().max()) < 5 * math.sqrt(p * (1 - p) / 125_000)


@pytest.mark.parametrize("p", [0.5, 0.3, 0.1, 1e-7, 1 - 1e-7])
def test_the_scale_makes_the_expectation_exact(p: float) -> None:
    torch.manual_seed(0)
    values = dropout(torch.ones(200_000, dtype=torch.float64), p).unique().tolist()
    scale = max(values)
    assert set(values) <= {0.0, scale}
    really = 1 - 1 / scale  # the probability for which this scale is right
    assert abs(really - p) <= 2**-16 if p > 0.999 else abs(really - p) <= 2**-17
    levels = 256 if (p * 256).is_integer() else 65536
    assert really * levels == pytest.approx(round(really * levels), abs=1e-6)


def test_powers_of_two_are_exact() -> None:
    torch.manual_seed(0)
    assert dropout(torch.ones(1000), 0.5).unique().tolist() == [0.0, 2.0]
    assert dropout(torch.ones(1000), 0.75).unique().tolist() == [0.0, 4.0]


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_same_seed_same_mask(p: float) -> None:
    def draw(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return dropout(torch.ones(1000), p)

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    torch.manual_seed(1)
    assert not torch.equal(dropout(torch.ones(1000), p), dropout(torch.ones(1000), p))


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_the_gradient_is_the_mask(p: float) -> None:
    x = torch.randn(37, 5, requires_grad=True)
    y = dropout(x, p)
    upstream = torch.randn(37, 5)
    y.backward(upstream)
    kept = y.detach() != 0
    scale = float(y.detach()[kept][0] / x.detach()[kept][0])
    assert x.grad is not None
    torch.testing.assert_close(x.grad, upstream * kept * scale)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (7, 3), (5, 1, 3), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("p", [0.5, 0.3])
def test_any_shape_and_type(shape: tuple[int, ...], dtype: torch.dtype, p: float) -> None:
    y = dropout(torch.ones(shape, dtype=dtype), p)
    assert y.shape == shape
    assert y.dtype == dtype
    assert bool(((y == 0) | (y > 1)).all())


def test_a_transposed_tensor() -> None:
    torch.manual_seed(0)
    x = torch.arange(1.0, 7.0).view(2, 3).T
    y = dropout(x, 0.5)
    assert bool(((y == 0) | (y == 2 * x)).all())


def test_nothing_happens_in_evaluation_or_without_probability() -> None:
    x = torch.randn(10)
    state = torch.get_rng_state()
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, math.nan])
def test_bad_probability(p: float) -> None:
    with pytest.raises(ValueError, match=r"dropout probability must lie in \[0, 1\), got"):
        dropout(torch.ones(3), p)
