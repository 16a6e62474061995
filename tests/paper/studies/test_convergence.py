"""The claims of docs/convergence.md, each measured."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from gsina import soft_top_r
from gsina.paper.studies.convergence import table_text, write_convergence
from gsina.paper.studies.sweeps import (
    TEMPERATURES,
    example_scores,
    measure,
    noise_rows,
    spectral_errors,
    table_rows,
)

PAGE = Path(__file__).parents[3] / "docs" / "convergence.md"


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_sweeps_shrink_the_error_by_the_predicted_rate(temperature: float) -> None:
    curve = measure(example_scores(), temperature)
    small = (curve.dual_errors < 1e-2) & (curve.dual_errors > 1e-8)
    rates = curve.dual_errors[1:][small[1:]] / curve.dual_errors[:-1][small[1:]]
    assert len(rates) >= 3
    np.testing.assert_allclose(rates, curve.rate, atol=5e-3)
    falling = curve.dual_errors > 1e-12
    assert (np.diff(curve.dual_errors[falling]) < 0).all()
    assert (np.diff(curve.mean_errors[curve.mean_errors > 1e-12]) < 0).all()


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_newton_squares_the_error(temperature: float) -> None:
    errors = measure(example_scores(), temperature).newton_errors
    for before, after in itertools.pairwise(errors):
        # The curvature is at most twice the slope; 1e-13 is rounding.
        assert after <= before**2 * math.exp(2 * before) + 1e-13


def test_the_rate_is_a_variance_and_bounded_by_the_range_of_the_scores() -> None:
    for seed in range(20):
        scores = example_scores(edges=2 + seed, seed=seed)
        for temperature in (0.2, 1.0, 5.0):
            weights, found = soft_top_r(
                scores, 0.3, temperature=temperature, return_diagnostics=True
            )
            rate = 1 - float(found.slope)
            assert rate == pytest.approx(float(weights.var(correction=0)) / 0.21, abs=1e-9)
            span = float(scores.max() - scores.min())
            assert 0 <= rate <= math.tanh(span / (2 * temperature)) ** 2 + 1e-12


def test_the_spectral_norm_can_grow_in_the_first_sweep_but_not_later() -> None:
    scores = torch.tensor([3.0, 0.0, -1.0], dtype=torch.float64)
    errors = spectral_errors(scores, 0.7, 0.5, 8)
    assert [round(error, 2) for error in errors[:3]] == [0.94, 1.26, 1.09]
    for seed in range(30):
        errors = spectral_errors(example_scores(8, seed), 0.3, 0.5, 20)
        later = [error for error in errors[1:] if error > 1e-12]
        assert later == sorted(later, reverse=True)


def test_rows_say_what_the_curves_show() -> None:
    rows = table_rows()
    assert [row.temperature for row in rows] == list(TEMPERATURES)
    assert [row.rate for row in rows] == sorted((row.rate for row in rows), reverse=True)
    for row in rows:
        assert row.measured_rate == pytest.approx(row.rate, abs=1e-4)
        assert 1 <= row.newton_steps <= 5 < row.sweeps
        curve = measure(example_scores(), row.temperature)
        assert curve.mean_errors[row.sweeps - 1] < 1e-6 <= curve.mean_errors[row.sweeps - 2]


def test_noise_makes_ten_sweeps_worse() -> None:
    rows = noise_rows(temperatures=(1.0,), ratios=(0.3,), draws=50)
    assert len(rows) == 1
    clean = table_rows(temperatures=(1.0,))[0].weight_error_of_ten
    assert rows[0].worst_weight_error > rows[0].median_weight_error > 3 * clean


def test_writes_the_figure_and_the_tables(tmp_path: Path) -> None:
    picture, page, numbers = write_convergence(tmp_path / "new", tmp_path / "numbers.json")
    assert len(json.loads(numbers.read_text())["sweeps"]) == len(table_rows())
    height, width, _ = imread(picture).shape
    assert width > 1500
    assert height > 600
    assert table_text(table_rows()) in page.read_text()


def test_the_text_around_the_tables_stays(tmp_path: Path) -> None:
    page = tmp_path / "convergence.md"
    page.write_text(PAGE.read_text())
    write_convergence(tmp_path, tmp_path / "numbers.json")
    # The page in the repository is the one that this machine writes, up to its rounding.
    ours, theirs = page.read_text().split(), PAGE.read_text().split()
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if mine != other:
            assert float(mine) == pytest.approx(float(other), rel=0.1)
