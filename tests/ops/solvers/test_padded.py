"""The released code's transport, against the same written down graph by graph, with its padding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gsina.ops.groups import Groups
from gsina.ops.soft_top_r import soft_top_r
from gsina.ops.solvers.padded import padded_weights, padding_noise

SIZES = (5, 1, 12, 3)


def problem() -> tuple[list[Tensor], Groups]:
    torch.manual_seed(0)
    parts = [torch.randn(size, dtype=torch.float64) for size in SIZES]
    index = torch.repeat_interleave(torch.tensor([0, 1, 3, 4]), torch.tensor(SIZES))
    return parts, Groups(index, 5, sum(SIZES))  # group 2 is empty


def by_loops(
    parts: list[Tensor], pads: list[Tensor], ratio: float, tau: float, sweeps: int
) -> Tensor:
    """Plans of two rows, graph after graph, element after element; columns first, then rows."""
    longest = max(len(part) for part in parts)
    found = []
    for part, pad in zip(parts, pads, strict=True):
        row = torch.cat([part, pad.expand(longest - len(part))])
        plan = torch.exp(-torch.stack([row, 1 - row]) / tau)
        wanted = [longest - ratio * len(part) + 1e-6, ratio * len(part) + 1e-6]
        for _ in range(sweeps):
            for column in range(longest):
                plan[:, column] = plan[:, column] / plan[:, column].sum()
            for which in (0, 1):
                plan[which] = plan[which] * wanted[which] / plan[which].sum()
        found.append(plan[1, : len(part)])
    return torch.cat(found)


def ratios(value: float, groups: Groups) -> Tensor:
    return torch.full((groups.num,), value, dtype=torch.float64)


@pytest.mark.parametrize("tau", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("ratio", [0.1, 0.6])
def test_without_noise_the_padding_has_the_smallest_score(ratio: float, tau: float) -> None:
    parts, groups = problem()
    expected = by_loops(parts, [part.min() for part in parts], ratio, tau, 10)
    found = padded_weights(
        torch.cat(parts), ratios(ratio, groups), groups, temperature=tau, sweeps=10
    )
    torch.testing.assert_close(found, expected)


def test_with_noise_the_padding_has_the_least_of_its_row() -> None:
    parts, groups = problem()
    noise = torch.randn(groups.size, dtype=torch.float64)
    uniform = torch.rand(5, dtype=torch.float64)
    least = padding_noise(noise, groups, uniform)
    assert groups.index is not None
    members = [0, 1, 3, 4]
    noisy = [part + 0.7 * noise[groups.index == g] for g, part in zip(members, parts, strict=True)]
    pads = [part.min() + 0.7 * least[g] for g, part in zip(members, parts, strict=True)]
    expected = by_loops(noisy, pads, 0.4, 1.0, 10)
    found = padded_weights(
        torch.cat(parts),
        ratios(0.4, groups),
        groups,
        temperature=1.0,
        sweeps=10,
        noise=noise,
        sigma=0.7,
        uniform=uniform,
    )
    torch.testing.assert_close(found, expected)


def test_the_noise_of_the_padding_is_the_least_of_so_many_draws() -> None:
    """Many groups of 2 beside one of 7: the least of 2 known and of 5 fresh Gumbel numbers."""
    torch.manual_seed(0)
    many = 20_000
    index = torch.cat([torch.arange(many).repeat_interleave(2), torch.full((7,), many)])
    noise = -torch.log(-torch.log(torch.rand(index.numel(), dtype=torch.float64)))
    groups = Groups(index, many + 1, index.numel())
    found = padding_noise(noise, groups, torch.rand(many + 1, dtype=torch.float64))
    right = (-torch.log(-torch.log(torch.rand(many, 7, dtype=torch.float64)))).amin(1)
    assert float(found[:-1].mean()) == pytest.approx(float(right.mean()), abs=0.02)
    assert float(found[:-1].std()) == pytest.approx(float(right.std()), abs=0.02)
    assert float(found[-1]) == float(noise[-7:].min())  # the longest has no padding
    first = torch.minimum(noise[0:-7:2], noise[1:-7:2])
    assert bool((found[:-1] <= first).all())


def test_a_longer_neighbour_takes_mass_away() -> None:
    parts, groups = problem()
    ratio = ratios(0.5, groups)
    short = padded_weights(parts[0], ratio[:1], Groups.single(5), temperature=1.0, sweeps=60)
    assert float(short.sum()) == pytest.approx(2.5 + 1e-6)
    torch.testing.assert_close(short, soft_top_r(parts[0], 0.5), atol=1e-5, rtol=0)
    beside = padded_weights(torch.cat(parts), ratio, groups, temperature=1.0, sweeps=60)[:5]
    assert float(beside.sum()) < 2.4


def test_a_whole_batch_is_the_macro_transport() -> None:
    """Costs (s - min s, max s - s), no padding: on the way to the exact weights."""
    scores = problem()[0][2]
    plan = torch.exp(-torch.stack([scores - scores.min(), scores.max() - scores]))
    for _ in range(2):
        plan = plan / plan.sum(0)
        plan = plan * torch.tensor([[12 * 0.7], [12 * 0.3]]) / plan.sum(1, keepdim=True)
    share, groups = torch.tensor([0.3]).double(), Groups.single(12)
    found = padded_weights(scores, share, groups, temperature=1.0, sweeps=2, whole=True)
    torch.testing.assert_close(found, plan[1], atol=1e-6, rtol=1e-6)


def test_gradients_and_nothing_at_all() -> None:
    parts, groups = problem()
    scores = torch.cat(parts).requires_grad_()
    ratio = ratios(0.4, groups)
    assert torch.autograd.gradcheck(
        lambda given: padded_weights(given, ratio, groups, temperature=0.8, sweeps=4), (scores,)
    )
    empty = Groups(torch.zeros(0).long(), 0, 0)
    none = torch.zeros(0)
    assert padded_weights(none, none, empty, temperature=1.0, sweeps=3).shape == (0,)
    assert padded_weights(none, ratio[:1], Groups.single(0), temperature=1.0, sweeps=3).numel() == 0
