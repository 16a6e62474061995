"""The quadratic soft top-r: its mean, its zeros and ones, its gradient, and independent answers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gsina import soft_top_r
from gsina.ops.groups import Groups
from gsina.ops.shared import SharedGroup
from gsina.ops.solvers.quadratic import project
from transport_problems import RATIOS, TEMPERATURES, mean_errors, ragged, random

BARS = {torch.float32: 1e-6, torch.float64: 1e-12}
numbers = st.one_of(st.floats(-1e4, 1e4), st.floats(-3, 3), st.integers(-2, 2).map(float))
parts_of = st.lists(st.lists(numbers, max_size=12), min_size=1, max_size=6)
ratios = st.floats(0.001, 1.0)
temperatures = st.sampled_from([0.01, 0.3, 1.0, 3.0, 100.0])
MANY = settings(max_examples=150)


def quadratic(scores: Tensor, ratio: float | Tensor, index: Tensor | None = None, **more) -> Tensor:  # type: ignore[no-untyped-def]
    return soft_top_r(scores, ratio, index, regulariser="quadratic", **more)


def by_root_finding(scores: Tensor, ratio: float, temperature: float) -> Tensor:
    """Weights ``[N]`` of one group, its dual from Brent's method."""
    x = (scores / temperature).double()

    def gap(dual: float) -> float:
        return float((x + dual).clamp(0, 1).mean()) - ratio

    dual = brentq(gap, -float(x.max()), 1 - float(x.min()), xtol=1e-15, rtol=1e-15)
    return (x + dual).clamp(0, 1)


def pack(parts: list[list[float]]) -> tuple[Tensor, Tensor]:
    scores = torch.tensor([score for part in parts for score in part], dtype=torch.float64)
    index = torch.tensor([g for g, part in enumerate(parts) for _ in part], dtype=torch.long)
    return scores, index


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mean_is_the_ratio(dtype: torch.dtype, temperature: float) -> None:
    scores, index, groups = ragged((1, 2, 3, 10, 500))
    for ratio in RATIOS:
        weights = quadratic(scores.to(dtype), ratio, index, temperature=temperature)
        assert weights.dtype == dtype
        assert bool(((weights >= 0) & (weights <= 1)).all())
        assert max(mean_errors(weights, ratio, index, groups)) < BARS[dtype]


def test_scores_far_beyond_the_temperature() -> None:
    scores, index, groups = ragged((1, 2, 3, 10, 500))
    for ratio in RATIOS:
        weights = quadratic(scores, ratio, index, temperature=1e-5)
        assert max(mean_errors(weights, ratio, index, groups)) < 1e-12


def test_a_million_elements() -> None:
    scores = random(1_000_000)
    weights = quadratic(scores, 0.3, temperature=0.5)
    assert mean_errors(weights, 0.3, None, 1)[0] < 1e-12


@pytest.mark.parametrize("temperature", [0.05, 1.0, 7.0])
def test_an_independent_solver_agrees(temperature: float) -> None:
    for size in (1, 2, 7, 100):
        for ratio in (0.02, 0.3, 0.5, 0.9):
            scores = random(size, seed=size)
            expected = by_root_finding(scores, ratio, temperature)
            found = quadratic(scores, ratio, temperature=temperature)
            torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)


def test_it_is_the_nearest_point_with_the_right_sum() -> None:
    """Against a projection by alternating steps (Dykstra's), which knows nothing of a dual."""
    scores = random(30)
    point, correction = scores.clone(), torch.zeros(30, dtype=torch.float64)
    for _ in range(20_000):
        point = point + (0.3 * 30 - point.sum()) / 30
        clipped = (point + correction).clamp(0, 1)
        point, correction = clipped, point + correction - clipped
    torch.testing.assert_close(quadratic(scores, 0.3), point, atol=1e-9, rtol=0)


def test_weights_are_exactly_0_and_1_outside_a_band() -> None:
    scores = random(200, dtype=torch.float32)
    weights = quadratic(scores, 0.3, temperature=0.5)
    band = (weights > 0) & (weights < 1)
    assert bool((weights == 0).any())
    assert bool((weights == 1).any())
    assert 0 < float(scores[band].max() - scores[band].min()) <= 0.5


def test_limits_of_the_temperature() -> None:
    scores = random(20)
    hard = torch.zeros(20, dtype=torch.float64)
    hard[scores.topk(7).indices] = 1
    assert torch.equal(quadratic(scores, 7 / 20, temperature=1e-4), hard)
    spans = [
        float((quadratic(scores, 0.3, temperature=tau) - 0.3).abs().max())
        for tau in (1.0, 10.0, 100.0, 1e4, torch.inf)
    ]
    assert spans == sorted(spans, reverse=True)
    assert spans[-2] < 1e-3
    assert spans[-1] < 1e-15


def test_at_ratio_one_every_weight_is_exactly_one() -> None:
    scores, index, _ = ragged((1, 2, 10))
    scores.requires_grad_()
    weights = quadratic(scores, 1, index, temperature=100.0)
    assert torch.equal(weights, torch.ones_like(scores))
    (gradient,) = torch.autograd.grad(weights.sum(), scores)
    assert torch.equal(gradient, torch.zeros_like(scores))


def test_one_element_and_equal_elements_get_the_ratio() -> None:
    alone = quadratic(torch.tensor([-1e4, 3.0, 1e4]), 0.3, torch.arange(3), temperature=0.01)
    tied = quadratic(torch.full((9,), 77.7), 0.3, temperature=0.01)
    for weights in (alone, tied):
        torch.testing.assert_close(weights, torch.full_like(weights, 0.3))


@pytest.mark.parametrize("num_groups", [None, 0, 4])
def test_no_elements_at_all(num_groups: int | None) -> None:
    scores, index = torch.zeros(0, requires_grad=True), torch.zeros(0, dtype=torch.long)
    weights = quadratic(scores, 0.5, index, num_groups=num_groups)
    assert weights.shape == (0,)
    assert quadratic(scores, 0.5).shape == (0,)
    weights.sum().backward()


@MANY
@given(parts_of, ratios, temperatures, st.randoms(use_true_random=False))
def test_any_groups(
    parts: list[list[float]], ratio: float, temperature: float, shuffler: object
) -> None:
    """Means, batch invariance, permutation equivariance and order, empty groups included."""
    scores, index = pack(parts)
    order = list(range(scores.numel()))
    shuffler.shuffle(order)  # type: ignore[attr-defined]
    options = {"temperature": temperature, "num_groups": len(parts)}
    together = quadratic(scores, ratio, index, **options)
    mixed = quadratic(scores[order], ratio, index[order], **options)
    torch.testing.assert_close(mixed, together[order], atol=1e-12, rtol=0)
    for group, part in enumerate(parts):
        own = index == group
        alone = quadratic(scores[own], ratio, temperature=temperature)
        torch.testing.assert_close(together[own], alone, atol=1e-12, rtol=0)
        assert bool((alone[scores[own].argsort()].diff() >= 0).all())
        if part:
            assert float(alone.mean()) == pytest.approx(ratio, abs=1e-12)


INDEX = torch.tensor([2, 0, 2, 0, 4, 0, 2, 2, 0, 4, 2, 0])  # groups 1 and 3 are empty


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize("index", [None, INDEX, INDEX.sort().values])
def test_gradients_away_from_kinks(check, index: Tensor | None) -> None:  # type: ignore[no-untyped-def]
    def weights(scores: Tensor, ratio: Tensor, temperature: Tensor) -> Tensor:
        groups = None if index is None else 5
        return quadratic(scores, ratio, index, temperature=temperature, num_groups=groups)

    scores = random(12).requires_grad_()
    ratio = torch.tensor(0.43, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    found = weights(scores, ratio, temperature)
    assert bool((found == 0).any())
    assert bool(((found > 1e-3) & (found < 0.999)).any())
    assert check(weights, (scores, ratio, temperature))


def test_gradient_of_a_ratio_per_group() -> None:
    ratio = torch.tensor([0.2, 0.3, 0.61, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda share: quadratic(random(12), share, INDEX, temperature=2.0), (ratio,))


def test_an_empty_band_has_no_gradient() -> None:
    scores = torch.tensor([5.0, 4.0, 1.0, 0.0], requires_grad=True)
    ratio = torch.tensor(0.5, requires_grad=True)
    quadratic(scores, ratio).square().sum().backward()
    assert torch.equal(scores.grad, torch.zeros(4))  # type: ignore[arg-type]
    assert float(ratio.grad) == 0  # type: ignore[arg-type]


def test_diagnostics() -> None:
    scores, index, groups = ragged((1, 3, 50))
    ratio = torch.full((groups + 1,), 0.3, dtype=torch.float64)
    ratio[0] = 1.0
    weights, found = soft_top_r(
        scores,
        ratio,
        index,
        num_groups=groups + 1,
        regulariser="quadratic",
        return_diagnostics=True,
    )
    assert float(found.dual[0]) == torch.inf
    spread = found.dual[index]
    torch.testing.assert_close((scores + spread).clamp(0, 1), weights, atol=1e-11, rtol=0)
    assert float(found.residual[:-1].max()) < 1e-13
    assert bool(found.residual[-1].isnan())
    assert 0 < found.iterations < 20
    assert bool(((found.slope[:-1] >= 0) & (found.slope[:-1] <= 1)).all())


def test_the_compiler_sees_one_operator() -> None:
    from gsina.ops.solvers.quadratic import quadratic_weights

    scores, index = random(40), torch.arange(40) % 3
    ratio = torch.full((3,), 0.4, dtype=torch.float64)

    def run(values: Tensor) -> Tensor:
        return quadratic_weights(values, ratio, Groups(index, 3, 40))

    compiled = torch.compile(run, backend="eager", fullgraph=True)
    assert torch.equal(compiled(scores), run(scores))


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="'sinkhorn' is for the entropic regulariser"):
        quadratic(random(4), 0.5, solver="sinkhorn")
    with pytest.raises(ValueError, match="regulariser"):
        soft_top_r(random(4), 0.5, regulariser="cubic")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="several processes share"):
        project(random(4), torch.tensor([0.5]).double(), SharedGroup(None, 1, 4))
