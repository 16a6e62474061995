"""The paper's sweeps, against a plan that is normalised row by row and column by column."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gsina import soft_top_r
from gsina.ops.groups import Groups
from gsina.ops.solvers.sinkhorn import sinkhorn
from transport_problems import RATIOS, TEMPERATURES, families, ragged, random


def dense(scores: Tensor, ratio: float, temperature: float, sweeps: int) -> tuple[Tensor, Tensor]:
    """The plan of one group after so many sweeps, and the means of its kept row."""
    size = scores.numel()
    rows = torch.tensor([[(1 - ratio) * size], [ratio * size]], dtype=torch.float64).log()
    # The paper's costs: a score's distance from the smallest and from the largest score.
    cost = torch.stack([scores - scores.min(), scores.max() - scores])
    plan, means = -cost / temperature, []
    for _ in range(sweeps):
        plan = plan - plan.logsumexp(1, keepdim=True) + rows
        plan = plan - plan.logsumexp(0, keepdim=True)
        means.append(plan[1].exp().mean())
    return plan.exp(), torch.stack(means)


@pytest.mark.parametrize("sweeps", [1, 2, 10, 50])
@pytest.mark.parametrize("temperature", [0.2, 1.0, 5.0])
def test_equals_the_dense_plan(temperature: float, sweeps: int) -> None:
    sizes = (1, 2, 7, 40)
    index = torch.cat([torch.full((size,), group) for group, size in enumerate(sizes)])
    scores = random(sum(sizes))
    for ratio in (0.1, 0.5, 0.95):
        weights, found = soft_top_r(
            scores,
            ratio,
            index,
            temperature=temperature,
            solver="sinkhorn",
            iterations=sweeps,
            return_diagnostics=True,
        )
        assert found.dual_history is not None
        assert found.error_history is not None
        assert found.dual_history.shape == found.error_history.shape == (sweeps, len(sizes))
        assert torch.equal(found.dual_history[-1], found.dual)
        for group in range(len(sizes)):
            plan, means = dense(scores[index == group], ratio, temperature, sweeps)
            torch.testing.assert_close(weights[index == group], plan[1], atol=1e-12, rtol=0)
            torch.testing.assert_close(
                found.error_history[:, group], (means - ratio).abs(), atol=1e-12, rtol=0
            )


def test_gradient_equals_that_of_the_dense_plan() -> None:
    scores, upstream = random(15), random(15, seed=1)
    gradients = []
    for sweep in (
        lambda s: soft_top_r(s, 0.3, temperature=0.5, solver="sinkhorn", iterations=4),
        lambda s: dense(s, 0.3, 0.5, 4)[0][1],
    ):
        leaf = scores.clone().requires_grad_()
        gradients.append(torch.autograd.grad(sweep(leaf), leaf, upstream)[0])
    torch.testing.assert_close(*gradients, atol=1e-12, rtol=0)


def test_the_dual_moves_one_way_and_the_error_never_grows() -> None:
    # A sweep is a monotone contraction, whatever the scores.
    scores, index, _ = ragged((2, 3, 10, 100))
    for temperature in (0.1, 1.0, 10.0):
        exact = soft_top_r(scores, 0.3, index, temperature=temperature, return_diagnostics=True)[1]
        found = soft_top_r(
            scores,
            0.3,
            index,
            temperature=temperature,
            solver="sinkhorn",
            iterations=30,
            return_diagnostics=True,
        )[1]
        assert found.dual_history is not None
        assert found.error_history is not None
        rounding = 1e-15 * float((scores / temperature).abs().max())
        errors = found.error_history
        assert bool((errors.diff(dim=0) <= 1e-12 + rounding).all())
        distance = found.dual_history - exact.dual
        # A flat mean leaves the dual undetermined; look where it is not.
        clear = exact.slope > 1e-3
        side = distance[0, clear].sign()
        assert bool((distance[:, clear] * side >= -1e-9 - rounding).all())
        assert bool((distance[:, clear].abs().diff(dim=0) <= 1e-9 + rounding).all())


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_stays_finite_however_hard_the_problem(temperature: float) -> None:
    for ratio in RATIOS:
        for scores in families(50):
            leaf = scores.clone().requires_grad_()
            weights = soft_top_r(
                leaf, ratio, temperature=temperature, solver="sinkhorn", iterations=20
            )
            weights.sum().backward()
            assert bool(((weights >= 0) & (weights <= 1)).all())
            assert leaf.grad is not None
            assert bool(leaf.grad.isfinite().all())


def test_returns_nan_errors_for_empty_groups_only() -> None:
    groups = Groups(torch.tensor([0, 0, 2]), 4, 3)
    ratio = torch.full((4,), 0.3, dtype=torch.float64)
    logits, duals, errors = sinkhorn(random(3), ratio, groups, 5)
    assert logits.shape == (3,)
    assert bool(duals.isfinite().all())
    assert errors[:, [1, 3]].isnan().all()
    assert bool(errors[:, [0, 2]].isfinite().all())
