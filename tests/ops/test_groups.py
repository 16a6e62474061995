"""Reductions over ragged groups, against loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from gsina.ops import groups as groups_module
from gsina.ops.groups import Groups, Runs
from transport_problems import random

UNSORTED = torch.tensor([2, 0, 2, 5, 2, 0, 0, 5])
CASES = {
    "unsorted": (UNSORTED, 7),
    "sorted": (UNSORTED.sort().values, 7),
    "one": (None, 1),
    "each its own": (torch.arange(8), 8),
    "gaps at both ends": (torch.tensor([3, 3, 4, 4, 4, 4, 6, 6]), 9),
}


def parts(index: Tensor | None, num: int, values: Tensor) -> list[Tensor]:
    return [values] if index is None else [values[index == group] for group in range(num)]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Groups, list[Tensor], Tensor]:
    index, num = CASES[request.param]
    values = random(8)
    return Groups(index, num, 8), parts(index, num, values), values


def test_reductions(case: tuple[Groups, list[Tensor], Tensor]) -> None:
    groups, own, values = case
    assert groups.counts(values).tolist() == [len(part) for part in own]
    for reduce, result, empty in (
        (torch.sum, groups.sum(values), 0.0),
        (torch.amax, groups.max(values), -math.inf),
        (torch.amin, groups.min(values), math.inf),
        (lambda part: part.logsumexp(0), groups.logsumexp(values), -math.inf),
    ):
        expected = torch.tensor([float(reduce(part)) if len(part) else empty for part in own])
        torch.testing.assert_close(result, expected.double())


def test_rows(case: tuple[Groups, list[Tensor], Tensor]) -> None:
    groups, _, _ = case
    rows = random(8 * 3).view(8, 3)
    own = parts(groups.index, groups.num, rows)
    torch.testing.assert_close(groups.sum(rows), torch.stack([part.sum(0) for part in own]))


def test_spread_is_the_transpose_of_sum(case: tuple[Groups, list[Tensor], Tensor]) -> None:
    groups, _, values = case
    per_group = random(groups.num, seed=1)
    left = (groups.spread(per_group) * values).sum()
    right = (per_group * groups.sum(values)).sum()
    torch.testing.assert_close(left, right)


def test_runs_reduce_alike(case: tuple[Groups, list[Tensor], Tensor]) -> None:
    groups, _, values = case
    runs, order = groups.in_runs
    ordered = values if order is None else values[order]
    rows = torch.stack([ordered, 2 * ordered], 1)
    torch.testing.assert_close(runs.sum(ordered), groups.sum(values))
    torch.testing.assert_close(runs.sum(rows)[:, 1], 2 * groups.sum(values))
    torch.testing.assert_close(runs.max(ordered), groups.max(values))
    assert torch.equal(runs.counts(values), groups.counts(values))
    assert runs.in_runs == (runs, None)
    if groups.index is None:
        assert runs is groups
    else:
        assert isinstance(runs, Runs)
        assert (order is None) == bool((groups.index.diff() >= 0).all())


def test_runs_are_differentiable(case: tuple[Groups, list[Tensor], Tensor]) -> None:
    groups, _, values = case
    runs, _ = groups.in_runs
    assert gradcheck(runs.sum, values.clone().requires_grad_())
    full = groups.counts(values) > 0  # an empty group's -inf has no finite difference
    assert gradcheck(lambda v: groups.logsumexp(v)[full], values.clone().requires_grad_())


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 3000])
def test_runs_of_many_pieces(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    for num in (1, 2, 9):
        index = torch.randint(num, (size,), generator=generator)
        index = torch.where(index == 1, num - 1, index)  # an empty group in the middle
        groups = Groups(index, num + 1, size)  # and one at the end
        runs, order = groups.in_runs
        assert isinstance(runs, Runs)
        assert bool((runs.pieces[0].diff() <= groups_module.PIECE).all())
        values = random(size, seed=num)
        ordered = values if order is None else values[order]
        torch.testing.assert_close(runs.sum(ordered), groups.sum(values))
        assert torch.equal(runs.counts(values), groups.counts(values))


def test_runs_add_without_drift() -> None:
    size = 300_000
    values = torch.full((size,), 0.7, dtype=torch.float64)
    groups = Groups(torch.zeros(size, dtype=torch.long), 1, size)
    exact = math.fsum(values.tolist())
    assert float(groups.in_runs[0].sum(values)) == pytest.approx(exact, rel=1e-13)


def test_no_groups() -> None:
    nothing = Groups(torch.zeros(0, dtype=torch.long), 0, 0)
    assert nothing.sum(torch.zeros(0)).shape == (0,)
    assert nothing.in_runs[0].sum(torch.zeros(0)).shape == (0,)
    assert Groups.single(0).max(torch.zeros(0)).tolist() == [-math.inf]
    assert Groups.single(0).sum(torch.zeros(0)).tolist() == [0]
