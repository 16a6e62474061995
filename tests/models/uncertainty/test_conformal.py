"""Split conformal bounds: by hand, and their coverage of drawn data."""

from __future__ import annotations

import math

import pytest
import torch

from gsina.errors import InputError
from gsina.models.uncertainty.conformal import (
    bound,
    check_coverage,
    class_bounds,
    class_groups,
    fewest,
)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("count", [1, 9, 10, 57])
def test_the_bound_is_the_right_order_statistic(coverage, count):
    scores = torch.rand(count, dtype=torch.double)
    place = math.ceil(coverage * (count + 1) - 1e-9)
    expected = math.inf if place > count else scores.sort().values[place - 1].item()
    assert bound(scores, coverage).item() == expected
    assert math.isinf(expected) == (count < fewest(coverage))


def test_missing_scores_do_not_count_and_none_are_infinite():
    scores = torch.rand(30)
    some = torch.cat([scores, torch.full((5,), math.nan)])
    assert bound(some, 0.9) == bound(scores, 0.9)
    assert bound(torch.zeros(0), 0.9).item() == math.inf


def test_equal_weights_change_nothing_and_a_weight_of_two_is_a_row_twice():
    scores = torch.rand(20)
    ones = torch.ones(20)
    assert bound(scores, 0.8, 3 * ones, torch.tensor([3.0])) == bound(scores, 0.8)
    weights = ones.clone()
    weights[4] = 2
    twice = bound(torch.cat([scores, scores[4:5]]), 0.8)
    assert bound(scores, 0.8, weights, torch.ones(1)) == twice
    huge = bound(scores, 0.8, ones, torch.tensor([1.0, 1e6]))
    assert huge[0] == bound(scores, 0.8)
    assert math.isinf(huge[1])


def test_coverage_of_exchangeable_rows():
    """Over many draws the mean coverage lies between c and c + 1 / (n + 1)."""
    torch.manual_seed(0)
    count, repeats = 40, 4000
    for coverage in (0.8, 0.9):
        held = [float(torch.rand(1) <= bound(torch.rand(count), coverage)) for _ in range(repeats)]
        mean, error = sum(held) / repeats, 4 * math.sqrt(coverage * (1 - coverage) / repeats)
        assert coverage - error <= mean <= coverage + 1 / (count + 1) + error


def test_rare_classes_share_a_bound():
    classes = torch.tensor([0] * 50 + [1] * 9 + [2] * 5 + [3] * 4 + [-1] * 7)
    assert class_groups(classes, 4, 0.9) == [[0], [1], [2, 3]]
    scores = torch.rand(len(classes))
    bounds = class_bounds(scores, classes, 4, 0.9)[0]
    assert bounds[0] == bound(scores[:50], 0.9)
    assert bounds[1] == scores[50:59].max()
    assert bounds[2] == bounds[3] == scores[59:68].max()
    assert class_bounds(scores[:52], classes[:52], 4, 0.9)[0, 1:].isinf().all()


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, math.nan, "0.9"])
def test_a_coverage_that_is_no_share_gets_one_sentence(coverage):
    with pytest.raises(InputError, match=r"coverage must lie between 0 and 1, such as 0\.9"):
        check_coverage(coverage)
