"""How fast the sweeps converge: measured errors against the geometric rate 1 - g.

The page ``docs/convergence.md`` says what this shows and why it is so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.ops.soft_top_r import soft_top_r

Floats = NDArray[np.float64]

TEMPERATURES = (0.2, 0.5, 1.0, 2.0)
RATIO = 0.3
EDGES = 50
SWEEPS = 400
#: Below this an error is rounding.
FLOOR = 1e-13


class Curve(NamedTuple):
    """What was measured at one temperature.

    Attributes:
        temperature: The temperature tau.
        rate: The factor 1 - g by which a sweep shrinks a small error.
        dual_errors: Distance of the dual from its limit after every sweep ``[sweeps]``.
        mean_errors: Distance of the mean from the ratio after every sweep ``[sweeps]``.
        newton_errors: Distance of the dual from its limit after every Newton step ``[steps]``.
    """

    temperature: float
    rate: float
    dual_errors: Floats
    mean_errors: Floats
    newton_errors: Floats


class Row(NamedTuple):
    """A line of the table; see :func:`table_rows`."""

    temperature: float
    rate: float
    measured_rate: float
    mean_error_of_ten: float
    weight_error_of_ten: float
    sweeps: int
    newton_steps: int


class NoiseRow(NamedTuple):
    """A line of the second table; see :func:`noise_rows`."""

    temperature: float
    ratio: float
    median_mean_error: float
    median_weight_error: float
    worst_weight_error: float


def example_scores(edges: int = EDGES, seed: int = 0) -> torch.Tensor:
    """Scores ``[edges]`` like those of a graph: normal, standardised, float64."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(edges, generator=generator, dtype=torch.float64)
    return (scores - scores.mean()) / scores.std()


def measure(
    scores: torch.Tensor, temperature: float, ratio: float = RATIO, sweeps: int = SWEEPS
) -> Curve:
    """Run the sweeps, and Newton's method from the same start, and compare with the exact dual."""
    _, exact = soft_top_r(scores, ratio, temperature=temperature, return_diagnostics=True)
    _, swept = soft_top_r(
        scores,
        ratio,
        temperature=temperature,
        solver="sinkhorn",
        iterations=sweeps,
        return_diagnostics=True,
    )
    assert swept.dual_history is not None
    assert swept.error_history is not None
    start = float(swept.dual_history[0])
    newton = newton_duals(scores, temperature, ratio, start)
    return Curve(
        temperature=temperature,
        rate=1 - float(exact.slope),
        dual_errors=(swept.dual_history - exact.dual).abs().squeeze(1).numpy(),
        mean_errors=swept.error_history.squeeze(1).numpy(),
        newton_errors=np.abs(newton - float(exact.dual)),
    )


def newton_duals(
    scores: torch.Tensor, temperature: float, ratio: float, start: float, steps: int = 12
) -> Floats:
    """Duals of the textbook Newton method: a sweep's step divided by its slope g.

    The operator's own solver takes the same steps, but halves a bracket where they are too long.
    """
    x = 2 * scores / temperature
    target = torch.logit(torch.tensor(ratio, dtype=torch.float64))
    duals = [torch.tensor(start, dtype=torch.float64)]
    for _ in range(steps):
        weights = torch.sigmoid(x + duals[-1])
        mean = weights.mean()
        slope = (weights * (1 - weights)).mean() / (mean * (1 - mean))
        duals.append(duals[-1] + (target - torch.logit(mean)) / slope)
    return torch.stack(duals).numpy()


def spectral_errors(
    scores: torch.Tensor, ratio: float, temperature: float, sweeps: int
) -> list[float]:
    """Spectral norm of plan minus limit, before the first sweep and after each one.

    The plan starts as in the paper, from the costs ``s - min s`` and ``max s - s``.
    """
    weights = soft_top_r(scores, ratio, temperature=temperature)
    limit = torch.stack([1 - weights, weights])
    cost = torch.stack([scores - scores.min(), scores.max() - scores])
    rows = scores.numel() * torch.tensor([[1 - ratio], [ratio]], dtype=scores.dtype)
    plan = torch.exp(-cost / temperature)
    errors = [plan - limit]
    for _ in range(sweeps):
        plan = plan * (rows / plan.sum(1, keepdim=True))
        plan = plan / plan.sum(0, keepdim=True)
        errors.append(plan - limit)
    return [float(torch.linalg.matrix_norm(error, 2)) for error in errors]


def measure_all(temperatures: Iterable[float] = TEMPERATURES) -> list[Curve]:
    """The curves of the figure."""
    return [measure(example_scores(), temperature) for temperature in temperatures]


def table_rows(temperatures: Iterable[float] = TEMPERATURES) -> list[Row]:
    """Per temperature: rates, the errors of ten sweeps, and the work for an error below 1e-6."""
    scores = example_scores()
    rows = []
    for temperature in temperatures:
        curve = measure(scores, temperature)
        exact = soft_top_r(scores, RATIO, temperature=temperature)
        ten = soft_top_r(scores, RATIO, temperature=temperature, solver="sinkhorn", iterations=10)
        rows.append(
            Row(
                temperature=temperature,
                rate=curve.rate,
                measured_rate=last_rate(curve.dual_errors),
                mean_error_of_ten=float(curve.mean_errors[9]),
                weight_error_of_ten=float((ten - exact).abs().max()),
                sweeps=1 + int(np.argmax(curve.mean_errors < 1e-6)),
                newton_steps=int(np.argmax(curve.newton_errors < 1e-6)),
            )
        )
    return rows


def noise_rows(
    temperatures: Iterable[float] = (1.0, 0.5),
    ratios: Iterable[float] = (0.1, 0.3, 0.6),
    draws: int = 200,
) -> list[NoiseRow]:
    """Errors of ten sweeps on scores with Gumbel noise, as in training, over many draws."""
    clean = torch.cat([example_scores(seed=seed) for seed in range(draws)])
    generator = torch.Generator().manual_seed(0)
    exponential = torch.empty_like(clean).exponential_(generator=generator)
    scores = clean - exponential.log()
    index = torch.arange(draws).repeat_interleave(EDGES)
    rows = []
    for temperature, ratio in itertools.product(temperatures, ratios):
        exact = soft_top_r(scores, ratio, index, temperature=temperature)
        ten = soft_top_r(
            scores, ratio, index, temperature=temperature, solver="sinkhorn", iterations=10
        )
        worst = (ten - exact).abs().view(draws, EDGES).amax(1)
        mean = (ten.view(draws, EDGES).mean(1) - ratio).abs()
        rows.append(
            NoiseRow(
                temperature, ratio, float(mean.median()), float(worst.median()), float(worst.max())
            )
        )
    return rows


def last_rate(errors: Floats) -> float:
    """The factor between the last two errors that are well above rounding."""
    last = int(np.flatnonzero(errors > 1e4 * FLOOR)[-1])
    return float(errors[last] / errors[last - 1])
