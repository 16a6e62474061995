"""The weights: their mean, their limits, and every kind of group."""

from __future__ import annotations

import doctest
import math

import pytest
import torch
from torch import Tensor

from gsina import soft_top_r
from transport_problems import RATIOS, TEMPERATURES, families, mean_errors, ragged, random

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")

BARS = {torch.float32: 1e-6, torch.float64: 1e-12}


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mean_is_the_ratio(dtype: torch.dtype, temperature: float) -> None:
    scores, index, groups = ragged((1, 2, 3, 10, 500))
    for ratio in RATIOS:
        weights = soft_top_r(scores.to(dtype), ratio, index, temperature=temperature)
        assert weights.dtype == dtype
        assert weights.min() >= 0
        assert weights.max() <= 1
        assert max(mean_errors(weights, ratio, index, groups)) < BARS[dtype]


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_ratio_per_group_holds_in_its_group(dtype: torch.dtype, temperature: float) -> None:
    scores, index, filled = ragged((1, 2, 3, 10, 500))
    index, groups = 2 * index, 2 * filled  # every second group is empty
    cycle = torch.tensor([*RATIOS, 1.0, 1e-6, 1 - 1e-9], dtype=torch.float64)
    ratio = cycle[(torch.arange(groups) * 7 // 2) % len(cycle)]
    weights = soft_top_r(scores.to(dtype), ratio, index, temperature=temperature, num_groups=groups)
    everything = ratio[index] == 1
    assert 0 < int(everything.sum()) < len(scores)
    assert bool((weights[everything] == 1).all())
    for group in range(0, groups, 2):
        part = weights[index == group]
        assert mean_errors(part, float(ratio[group]), None, 1)[0] < BARS[dtype]
        alone = soft_top_r(
            scores[index == group].to(dtype), float(ratio[group]), temperature=temperature
        )
        torch.testing.assert_close(part, alone, atol=BARS[dtype], rtol=0)


@pytest.mark.parametrize("family", range(len(families(1))))
def test_mean_of_a_million(family: int) -> None:
    scores = families(1_000_000)[family]
    one_group = torch.zeros(scores.numel(), dtype=torch.long)
    dtype, index = [(torch.float64, None), (torch.float64, one_group), (torch.float32, None)][
        family % 3
    ]
    temperature, ratio = TEMPERATURES[family % 5], (0.001, 0.3, 0.7, 0.999)[family % 4]
    weights = soft_top_r(scores.to(dtype), ratio, index, temperature=temperature)
    assert mean_errors(weights, ratio, index, 1)[0] < BARS[dtype]


@pytest.mark.parametrize("ratio", [0.3, 0.999])
def test_equal_weights_add_up_in_a_large_group(ratio: float) -> None:
    # Adding equal numbers one after the other rounds the same way each time: 1e-11 here.
    scores, index = torch.ones(1_000_000, dtype=torch.float64), torch.zeros(1_000_000).long()
    weights, found = soft_top_r(scores, ratio, index, return_diagnostics=True)
    assert mean_errors(weights, ratio, index, 1)[0] < 1e-13
    assert float(found.residual) < 1e-13
    assert found.iterations <= 4


def test_scores_far_beyond_the_temperature() -> None:
    scores, index, groups = ragged((1, 2, 3, 10, 500))
    for ratio in RATIOS:
        weights = soft_top_r(scores, ratio, index, temperature=1e-5)
        assert max(mean_errors(weights, ratio, index, groups)) < 1e-12


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    scores = (100 * random(5000)).to(dtype).requires_grad_()
    index = torch.arange(5000) % 7
    weights = soft_top_r(scores, 0.3, index, temperature=0.5)
    assert weights.dtype == torch.float32
    assert max(mean_errors(weights.detach(), 0.3, index, 7)) < 1e-6
    assert torch.equal(weights, soft_top_r(scores.float(), 0.3, index, temperature=0.5))
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.dtype == dtype
    assert scores.grad.abs().max() > 0


def test_at_ratio_one_every_weight_is_exactly_one() -> None:
    for solver in ("exact", "sinkhorn"):
        scores, index, _ = ragged((1, 2, 10))
        scores.requires_grad_()
        weights = soft_top_r(scores, 1, index, temperature=0.01, solver=solver)
        assert torch.equal(weights, torch.ones_like(scores))
        (gradient,) = torch.autograd.grad(weights.sum(), scores)
        assert torch.equal(gradient, torch.zeros_like(scores))


def test_a_ratio_for_every_group() -> None:
    scores, index = random(60), torch.arange(60) % 4
    ratio = torch.tensor([0.1, 1.0, 0.5, 0.9])
    for solver in ("exact", "sinkhorn"):
        weights = soft_top_r(scores, ratio, index, solver=solver, iterations=60)
        for group in range(4):
            alone = soft_top_r(scores[index == group], float(ratio[group]))
            torch.testing.assert_close(weights[index == group], alone, atol=1e-7, rtol=0)
        assert torch.equal(weights[index == 1], torch.ones(15, dtype=torch.float64))


def test_an_extreme_ratio_survives_float32() -> None:
    for ratio in (1e-60, 1e-9, 1 - 1e-12):
        weights = soft_top_r(random(50, dtype=torch.float32), ratio)
        assert bool(weights.isfinite().all())
        assert float(weights.double().mean()) == pytest.approx(ratio, abs=1e-7)


def test_the_ratio_is_not_rounded_to_float32() -> None:
    weights = soft_top_r(random(50_000, dtype=torch.float32), 0.9)
    assert mean_errors(weights, 0.9, None, 1)[0] < 5e-9  # 0.9 itself is off by 2.4e-8


def test_one_element_and_equal_elements_get_the_ratio() -> None:
    alone = soft_top_r(torch.tensor([-1e4, 3.0, 1e4]), 0.3, torch.arange(3), temperature=0.01)
    tied = soft_top_r(torch.full((9,), 77.7), 0.3, temperature=0.01)
    for weights in (alone, tied):
        torch.testing.assert_close(weights, torch.full_like(weights, 0.3))


def test_empty_groups_change_nothing() -> None:
    scores = random(30)
    index = torch.arange(30) % 3
    weights = soft_top_r(scores, 0.4, index)
    for solver in ("exact", "sinkhorn"):
        dense = soft_top_r(scores, 0.4, index, solver=solver, iterations=60)
        sparse = soft_top_r(scores, 0.4, 2 * index + 1, num_groups=9, solver=solver, iterations=60)
        torch.testing.assert_close(sparse, dense, atol=1e-14, rtol=0)
    torch.testing.assert_close(dense, weights, atol=1e-9, rtol=0)


@pytest.mark.parametrize("num_groups", [None, 0, 4])
@pytest.mark.parametrize("solver", ["exact", "sinkhorn"])
def test_no_elements_at_all(solver: str, num_groups: int | None) -> None:
    scores = torch.zeros(0, requires_grad=True)
    index = torch.zeros(0, dtype=torch.long)
    weights = soft_top_r(scores, 0.5, index, num_groups=num_groups, solver=solver)
    assert weights.shape == (0,)
    assert soft_top_r(scores, 0.5, solver=solver).shape == (0,)
    weights.sum().backward()


def test_the_index_need_not_be_sorted() -> None:
    scores, index, groups = ragged((1, 3, 50))
    order = torch.randperm(scores.numel(), generator=torch.Generator().manual_seed(1))
    for solver in ("exact", "sinkhorn"):
        sorted_ = soft_top_r(scores, 0.3, index, num_groups=groups, solver=solver)
        mixed = soft_top_r(scores[order], 0.3, index[order], num_groups=groups, solver=solver)
        torch.testing.assert_close(mixed, sorted_[order], atol=1e-12, rtol=0)


@pytest.mark.parametrize("keep", [1, 7, 19])
def test_cold_limit_is_the_hard_selection(keep: int) -> None:
    scores = random(20)
    hard = torch.zeros(20, dtype=torch.float64)
    hard[scores.topk(keep).indices] = 1
    errors = [
        float((soft_top_r(scores, keep / 20, temperature=tau) - hard).abs().max())
        for tau in (1.0, 0.1, 0.01, 0.001, 0.0001)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-9


def test_cold_limit_shares_what_is_left_over() -> None:
    # r N = 2.5: the third score gets the half.
    weights = soft_top_r(torch.tensor([5.0, 4.0, 3.0, 2.0, 1.0]), 0.5, temperature=1e-3)
    torch.testing.assert_close(weights, torch.tensor([1.0, 1.0, 0.5, 0.0, 0.0]))


def test_hot_limit_is_the_ratio() -> None:
    scores = random(20)
    spans = [
        float((soft_top_r(scores, 0.3, temperature=tau) - 0.3).abs().max())
        for tau in (1.0, 10.0, 100.0, 1e4, math.inf)
    ]
    assert spans == sorted(spans, reverse=True)
    assert spans[-2] < 1e-3
    assert spans[-1] < 1e-15


def test_numbers_may_come_as_tensors() -> None:
    scores = random(20, dtype=torch.float32)
    plain = soft_top_r(scores, 0.3, temperature=0.5)
    for dtype in (torch.float32, torch.float64):
        ratio, temperature = torch.tensor(0.3, dtype=dtype), torch.tensor(0.5, dtype=dtype)
        weights = soft_top_r(scores, ratio, temperature=temperature)
        assert weights.dtype == torch.float32
        torch.testing.assert_close(weights, plain)
    integer: Tensor = soft_top_r(scores, 1, temperature=2)
    assert torch.equal(integer, torch.ones(20))


def test_inputs_are_left_alone() -> None:
    scores, index = random(40), torch.randint(3, (40,))
    ratio = torch.tensor([0.1, 0.5, 1.0])
    copies = scores.clone(), index.clone(), ratio.clone()
    soft_top_r(scores, ratio, index, return_diagnostics=True)
    for value, copy in zip((scores, index, ratio), copies, strict=True):
        assert torch.equal(value, copy)


def test_example_of_the_docstring() -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(
        soft_top_r, "soft_top_r", globs={"torch": torch, "soft_top_r": soft_top_r}
    )
    result = doctest.DocTestRunner().run(example)
    assert result.attempted > 0
    assert result.failed == 0
