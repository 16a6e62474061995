"""The exact solver against independent answers, and what the diagnostics say of it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from gsina import soft_top_r
from gsina.ops.groups import Groups
from gsina.ops.solvers import dual as dual_module
from gsina.ops.solvers.dual import solve_dual
from transport_problems import (
    RATIOS,
    by_root_finding,
    by_transport,
    families,
    mean_errors,
    ragged,
    random,
)

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_entropic_transport(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    size = int(torch.randint(1, 60, (), generator=generator))
    ratio = float(0.05 + 0.9 * torch.rand((), generator=generator))
    temperature = float(0.3 + 2 * torch.rand((), generator=generator))
    scores = random(size, seed)
    expected = by_transport(scores, ratio, temperature)
    weights = soft_top_r(scores, ratio, temperature=temperature)
    torch.testing.assert_close(weights, expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize("temperature", [0.01, 0.2, 1.0, 30.0])
def test_agrees_with_root_finding(temperature: float) -> None:
    for size in (2, 7, 100):
        for scores in families(size)[:5]:
            # Brent's method loses digits to a dual of 1e6; the operator does not.
            atol = 1e-10 if float(scores.abs().max()) < 100 * temperature else 1e-7
            for ratio in (0.01, 0.3, 0.5, 0.97):
                expected = by_root_finding(scores, ratio, temperature)
                if bool(((expected > 1e-6) & (expected < 1 - 1e-6)).any()):
                    weights = soft_top_r(scores, ratio, temperature=temperature)
                    torch.testing.assert_close(weights, expected, atol=atol, rtol=0)


def test_agrees_with_two_thousand_sweeps() -> None:
    index = torch.arange(400) % 9
    for ratio in (0.1, 0.5, 0.8):
        for temperature in (0.5, 1.0, 5.0):
            exact = soft_top_r(random(400), ratio, index, temperature=temperature)
            swept = soft_top_r(
                random(400),
                ratio,
                index,
                temperature=temperature,
                solver="sinkhorn",
                iterations=2000,
            )
            torch.testing.assert_close(swept, exact, atol=1e-11, rtol=0)


@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
def test_diagnostics_solve_the_constraint(temperature: float) -> None:
    scores, index, groups = ragged((1, 2, 10, 100))
    for ratio in RATIOS:
        weights, found = soft_top_r(
            scores, ratio, index, temperature=temperature, return_diagnostics=True
        )
        assert float(found.residual.max()) < 1e-12
        assert 1 <= found.iterations <= dual_module.COARSE_STEPS + dual_module.FINE_STEPS
        assert found.dual.dtype == torch.float64
        assert found.dual_history is None
        assert found.error_history is None
        # Rounding of a dual of size 1e6 costs digits that the weights have.
        again = torch.sigmoid(2 * scores / temperature + found.dual[index])
        size = float((2 * scores / temperature).abs().max())
        torch.testing.assert_close(again, weights, atol=1e-12 + 1e-15 * size, rtol=0)
        assert found.slope.shape == (groups,)
        assert bool(((found.slope >= 0) & (found.slope <= 1 + 1e-12)).all())


def test_diagnostics_of_special_groups() -> None:
    ratio = torch.tensor([0.5, 1.0, 0.5, 0.25])
    index = torch.tensor([0, 0, 1, 1, 3])
    for solver in ("exact", "sinkhorn"):
        _, found = soft_top_r(random(5), ratio, index, solver=solver, return_diagnostics=True)
        assert found.dual[1] == math.inf
        assert found.residual[1] == 0
        assert found.slope[1] == 0
        assert bool(found.residual[2].isnan())
        assert bool(found.slope[2].isnan())
        assert found.residual[3] < 1e-15
        assert found.slope[3] == pytest.approx(1)  # one element: a sweep is exact at once


def test_the_slope_predicts_the_sweeps() -> None:
    scores, index = random(200), torch.arange(200) % 4
    exact = soft_top_r(scores, 0.3, index, return_diagnostics=True)[1]
    swept = soft_top_r(
        scores, 0.3, index, solver="sinkhorn", iterations=14, return_diagnostics=True
    )[1]
    assert swept.iterations == 14
    assert swept.dual_history is not None
    error = (swept.dual_history - exact.dual).abs()
    torch.testing.assert_close(error[13] / error[12], 1 - exact.slope, atol=1e-2, rtol=0)


def test_few_evaluations_at_ordinary_temperatures() -> None:
    index = torch.arange(4000) % 128
    for ratio in (0.1, 0.5, 0.9):
        found = soft_top_r(random(4000), ratio, index, return_diagnostics=True)[1]
        assert found.iterations <= 8


def test_safeguarded_steps_alone_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> tuple[None, int]:
        return None, 0

    scores, index, groups = ragged((1, 2, 3, 10, 200))
    for temperature in (0.01, 1.0, 100.0):
        for ratio in RATIOS:
            usual = soft_top_r(scores, ratio, index, temperature=temperature)
            with monkeypatch.context() as patch:
                patch.setattr(dual_module, "_newton", refuse)
                safe = soft_top_r(scores, ratio, index, temperature=temperature)
            assert max(mean_errors(safe, ratio, index, groups)) < 1e-12
            torch.testing.assert_close(safe, usual, atol=1e-9, rtol=0)


def test_steps_beyond_convergence_do_not_walk_away(monkeypatch: pytest.MonkeyPatch) -> None:
    # A device that is not asked whether it is done makes all steps, most of them at the root.
    scores, index, groups = ragged((1, 2, 10, 200))
    problem = Groups(index, groups, scores.numel())
    for ratio in RATIOS:
        share = torch.full((groups,), ratio, dtype=torch.float64)
        with monkeypatch.context() as patch:
            patch.setattr(dual_module, "_newton", lambda *_: (None, 0))
            patch.setattr(Tensor, "__bool__", lambda _: False)
            found = solve_dual(2 * scores / 0.5, share, problem)
        assert found.iterations == dual_module.COARSE_STEPS + dual_module.FINE_STEPS
        assert max(mean_errors(torch.sigmoid(found.logits), ratio, index, groups)) < 1e-12


@pytest.mark.cuda
def test_cuda_equals_cpu_without_stalling() -> None:
    scores, index, groups = ragged((1, 2, 10, 200))
    order = torch.randperm(scores.numel(), generator=torch.Generator().manual_seed(0))
    scores, index = scores[order], index[order]
    for dtype, atol in ((torch.float64, 1e-10), (torch.float32, 1e-6)):
        for temperature in (0.1, 1.0, 10.0):
            host = scores.to(dtype).requires_grad_()
            device = scores.to(dtype).cuda().requires_grad_()
            expected = soft_top_r(host, 0.3, index, temperature=temperature)
            weights = soft_top_r(
                device, 0.3, index.cuda(), temperature=temperature, num_groups=groups
            )
            torch.testing.assert_close(weights.cpu(), expected, atol=atol, rtol=0)
            expected.square().sum().backward()
            weights.square().sum().backward()
            assert host.grad is not None
            assert device.grad is not None
            torch.testing.assert_close(device.grad.cpu(), host.grad, atol=100 * atol, rtol=1e-5)
    logits, problem = 2 * scores.cuda(), Groups(index.cuda(), groups, scores.numel())
    share = torch.full((groups,), 0.3, dtype=torch.float64, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        solve_dual(logits, share, problem)
    finally:
        torch.cuda.set_sync_debug_mode("default")
