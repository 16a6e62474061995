"""The float32 solver of devices, run on the CPU: fixed steps, and the accuracy of the other one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gsina import soft_top_r
from gsina.ops.groups import Groups
from gsina.ops.host import as_on_a_device
from gsina.ops.solvers import dual32
from gsina.ops.solvers.dual import solve_dual
from gsina.ops.solvers.dual32 import solve_dual32

SIZES = (1, 2, 3, 5, 10, 50, 500, 0, 4000)


def ragged() -> Groups:
    index = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))
    order = torch.randperm(index.numel(), generator=torch.Generator().manual_seed(0))
    return Groups(index[order], len(SIZES), index.numel())


def scores(kind: str, size: int, largest: float) -> Tensor:
    values = torch.randn(size, generator=torch.Generator().manual_seed(1))
    made = {
        "normal": values,
        "equal": values.sign(),
        "heavy": values**3,
        "few": torch.where(values > 2.3, 1.0, -1.0) + 1e-3 * values,
        "one": torch.where(torch.arange(size) == size // 2, 1.0, 0.0),
    }[kind]
    return made / made.abs().max() * largest


def mean_error(weights: Tensor, ratio: float, groups: Groups) -> float:
    wide = weights.double()
    means = groups.sum(wide) / groups.counts(wide)
    return float((means[groups.counts(wide) > 0] - ratio).abs().max())


@pytest.mark.parametrize("kind", ["normal", "equal", "heavy", "few", "one"])
@pytest.mark.parametrize("temperature", [0.01, 0.3, 1.0, 100.0])
def test_means_are_those_of_the_cpu(kind: str, temperature: float) -> None:
    groups = ragged()
    for ratio in (0.001, 0.01, 0.3, 0.5, 0.9, 0.999):
        shares = torch.full((groups.num,), ratio, dtype=torch.float64)
        for largest in (1e-3, 1.0, 100.0, 1e4):
            x = 2 * scores(kind, groups.size, largest) / temperature
            weights = solve_dual32(x, shares, groups).sigmoid()
            assert mean_error(weights, ratio, groups) <= 1e-6, (ratio, largest)
            exact = solve_dual(x.double(), shares, groups).logits.sigmoid()
            # Where a weight is not settled by the others, 1e-6 of a mean of 4,000 is 4e-3 of it.
            assert (weights - exact).abs().max() <= 2e-5, (ratio, largest)


@pytest.mark.parametrize("kind", ["normal", "equal", "heavy", "few", "one"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_one_large_group(kind: str, dtype: torch.dtype) -> None:
    """Shares are float32 on devices that have nothing wider."""
    size = 300_000
    groups = Groups.single(size)
    for temperature, largest in ((0.01, 1e4), (1.0, 30.0), (100.0, 1.0)):
        x = 2 * scores(kind, size, largest) / temperature
        for ratio in (0.001, 0.4, 0.999):
            weights = solve_dual32(x, torch.tensor([ratio], dtype=dtype), groups).sigmoid()
            assert mean_error(weights, ratio, groups) <= 1e-6, (largest, ratio)


def test_scores_as_large_as_they_may_be() -> None:
    groups = Groups.single(1000)
    for kind in ("normal", "heavy", "few"):
        x = 2 * scores(kind, 1000, 1e9)
        weights = solve_dual32(x, torch.tensor([0.25]), groups).sigmoid()
        assert mean_error(weights, 0.25, groups) <= 1e-6


def test_a_share_of_one_keeps_all() -> None:
    groups = ragged()
    shares = torch.ones(groups.num)
    weights = solve_dual32(scores("normal", groups.size, 3.0), shares, groups).sigmoid()
    assert bool((weights == 1).all())


def test_the_order_of_elements_and_the_other_groups_do_not_matter() -> None:
    groups, shares = ragged(), torch.full((len(SIZES),), 0.3)
    x = scores("normal", groups.size, 5.0)
    found = solve_dual32(x, shares, groups)
    order = torch.randperm(groups.size)
    assert groups.index is not None
    moved = solve_dual32(x[order], shares, Groups(groups.index[order], groups.num, groups.size))
    torch.testing.assert_close(found[order].sigmoid(), moved.sigmoid(), rtol=0, atol=2e-7)
    mine = groups.index == 5
    alone = solve_dual32(x[mine], shares[:1], Groups.single(SIZES[5]))
    torch.testing.assert_close(found[mine].sigmoid(), alone.sigmoid(), rtol=0, atol=2e-7)


def test_the_steps_are_fixed_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the numbers: the other solver's loop ends when they say so."""
    calls = []
    plain = dual32._Problem.narrow

    def count(self: dual32._Problem, *arguments: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(1)
        return plain(self, *arguments)

    monkeypatch.setattr(dual32._Problem, "narrow", count)
    groups = Groups.single(50)
    for largest in (1e-3, 1e4):
        solve_dual32(scores("heavy", 50, largest), torch.tensor([0.3]), groups)
    assert len(calls) == 2 * (dual32.COARSE_STEPS + dual32.FINE_STEPS)
    x = torch.randn(50, device="meta")
    assert solve_dual32(x, torch.full((1,), 0.3, device="meta"), groups).is_meta


def test_soft_top_r_takes_it_on_devices() -> None:
    x = torch.randn(60, generator=torch.Generator().manual_seed(0), requires_grad=True)
    index = torch.arange(60) % 7
    here = soft_top_r(x, 0.3, index, temperature=0.5)
    (grad,) = torch.autograd.grad(here.square().sum(), x)
    with as_on_a_device():
        there = soft_top_r(x, 0.3, index, temperature=0.5)
        (other,) = torch.autograd.grad(there.square().sum(), x)
    torch.testing.assert_close(there, here, rtol=0, atol=1e-6)
    torch.testing.assert_close(other, grad, rtol=1e-4, atol=1e-6)
