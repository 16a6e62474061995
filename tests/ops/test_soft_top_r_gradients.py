"""Derivatives of the exact solver, against finite differences and unrolled sweeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gsina import soft_top_r
from transport_problems import random

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")

INDEX = torch.tensor([2, 0, 2, 0, 4, 0, 2, 2, 0, 4, 2, 0])  # groups 1 and 3 are empty
GROUPS = 5


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("index", [None, INDEX, INDEX.sort().values])
@pytest.mark.parametrize("solver", ["exact", "sinkhorn"])
@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_scores_ratio_and_temperature(
    check: Callable[..., bool], solver: str, index: Tensor | None
) -> None:
    def weights(scores: Tensor, ratio: Tensor, temperature: Tensor) -> Tensor:
        groups = None if index is None else GROUPS
        return soft_top_r(
            scores,
            ratio,
            index,
            temperature=temperature,
            num_groups=groups,
            solver=solver,
            iterations=3,
        )

    assert check(weights, (random(12).requires_grad_(), number(0.3), number(0.7)))


@pytest.mark.parametrize("index", [INDEX, INDEX.sort().values])
@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_a_ratio_for_every_group(check: Callable[..., bool], index: Tensor) -> None:
    ratio = torch.tensor([0.2, 0.3, 0.6, 0.5, 0.9], dtype=torch.float64, requires_grad=True)

    def weights(scores: Tensor, ratio: Tensor) -> Tensor:
        return soft_top_r(scores, ratio, index)

    assert check(weights, (random(12).requires_grad_(), ratio))
    whole = torch.tensor([0.2, 0.3, 1.0, 0.5, 0.9], dtype=torch.float64)  # all of group 2
    assert check(lambda scores: weights(scores, whole), (random(12).requires_grad_(),))


def test_equals_unrolled_sweeps() -> None:
    index = torch.arange(90) % 3
    upstream = random(90, seed=1)
    gradients = []
    for solver in ("exact", "sinkhorn"):
        inputs = [random(90).requires_grad_(), number(0.4), number(0.8)]
        scores, ratio, temperature = inputs
        weights = soft_top_r(
            scores, ratio, index, temperature=temperature, solver=solver, iterations=300
        )
        gradients.append(torch.autograd.grad(weights, inputs, upstream))
    for exact, unrolled in zip(*gradients, strict=True):
        torch.testing.assert_close(exact, unrolled, atol=1e-10, rtol=1e-10)


def test_the_constraint_holds_for_the_derivatives() -> None:
    # However scores and temperature move, the sum stays; with the ratio it moves by N.
    inputs = [random(12).requires_grad_(), number(0.3), number(0.7)]
    scores, ratio, temperature = inputs
    weights = soft_top_r(scores, ratio, INDEX, temperature=temperature)
    by_score, by_ratio, by_temperature = torch.autograd.grad(weights.sum(), inputs)
    torch.testing.assert_close(by_score, torch.zeros_like(by_score), atol=1e-14, rtol=0)
    assert float(by_temperature) == pytest.approx(0, abs=1e-14)
    assert float(by_ratio) == pytest.approx(12)


@pytest.mark.parametrize("temperature", [0.05, 1.0, 20.0])
def test_float32_is_close_to_float64(temperature: float) -> None:
    index, upstream = torch.arange(500) % 7, random(500, seed=1)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        scores = random(500).to(dtype).requires_grad_()
        weights = soft_top_r(scores, 0.3, index, temperature=temperature)
        (gradient,) = torch.autograd.grad(weights, scores, upstream.to(dtype))
        gradients.append(gradient.double())
    single, double = gradients
    torch.testing.assert_close(single, double, atol=1e-5 / temperature, rtol=1e-5)


def test_the_gradient_does_not_depend_on_the_order() -> None:
    scores, upstream = random(12), random(12, seed=1)
    order = INDEX.argsort(stable=True)
    mixed, sorted_ = scores.clone().requires_grad_(), scores[order].requires_grad_()
    soft_top_r(mixed, 0.3, INDEX).backward(upstream)
    soft_top_r(sorted_, 0.3, INDEX[order]).backward(upstream[order])
    assert mixed.grad is not None
    assert sorted_.grad is not None
    torch.testing.assert_close(mixed.grad[order], sorted_.grad, atol=1e-14, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_hard_selection_has_a_finite_gradient(dtype: torch.dtype) -> None:
    inputs = [
        torch.tensor([1e4, 0.0, -1e4, 5.0], dtype=dtype, requires_grad=True),
        torch.tensor(0.5, requires_grad=True),
        torch.tensor(0.01, requires_grad=True),
    ]
    scores, ratio, temperature = inputs
    weights = soft_top_r(scores, ratio, temperature=temperature)
    gradients = torch.autograd.grad(weights.square().sum(), inputs)
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def saved(solver: str, temperature: float, iterations: int = 10) -> int:
    """Numbers of tensor elements that wait for the backward pass."""
    elements: list[int] = []

    def keep(tensor: Tensor) -> Tensor:
        elements.append(tensor.numel())
        return tensor

    scores = random(1000).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        soft_top_r(
            scores,
            0.3,
            torch.arange(1000) % 7,
            temperature=temperature,
            solver=solver,
            iterations=iterations,
        )
    return sum(elements)


def test_gradient_memory_does_not_grow_with_iterations() -> None:
    scores, index = random(1000), torch.arange(1000) % 7
    steps = [
        soft_top_r(scores, 0.3, index, temperature=tau, return_diagnostics=True)[1].iterations
        for tau in (0.01, 100.0)
    ]
    assert steps[0] > 2 * steps[1]
    assert saved("exact", 0.01) == saved("exact", 100.0) <= 2000
    assert saved("sinkhorn", 1.0, iterations=20) > 1.8 * saved("sinkhorn", 1.0, iterations=10)


def test_nothing_is_recorded_where_no_gradient_is_wanted() -> None:
    weights = soft_top_r(random(20), 0.5)
    assert weights.grad_fn is None
    with torch.no_grad():
        assert soft_top_r(random(20).requires_grad_(), 0.5).grad_fn is None
    with torch.inference_mode():
        assert bool(soft_top_r(random(20), 0.5, torch.arange(20) % 3).isfinite().all())


@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 9.0), (torch.float64, 20.0)])
def test_gradient_of_the_ratio_where_weights_are_nearly_0_or_1(dtype, size):
    """By symmetry each of the two gets half of what the ratio gains: dw/dr = 1 for both."""
    scores = torch.tensor([size, -size], dtype=dtype)
    ratio = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    weights = soft_top_r(scores, ratio)
    for weight in weights:
        (slope,) = torch.autograd.grad(weight, ratio, retain_graph=True)
        assert slope.item() == pytest.approx(1.0, rel=1e-4)
