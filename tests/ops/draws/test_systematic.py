"""Systematic samples: their sizes, their probabilities, and what they hang on."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import tiny
from gsina import soft_top_r
from gsina.ops.draws.systematic import systematic_sample
from gsina.ops.groups import Groups
from gsina.ops.host import as_on_a_device


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@settings(max_examples=200)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.5, 1.0])), max_size=15),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 1000),
)
def test_sizes_are_the_sum_rounded_down_or_up(parts: list[list[float]], seed: int) -> None:
    weights = torch.tensor([w for part in parts for w in part], dtype=torch.float64)
    index = torch.tensor([g for g, part in enumerate(parts) for _ in part], dtype=torch.long)
    groups = Groups(index, len(parts), index.numel())
    taken = systematic_sample(weights, groups, generator=generator(seed))
    for group, part in enumerate(parts):
        total = math.fsum(part)
        size = int(taken[index == group].sum())
        near = abs(total - round(total)) < 1e-6
        assert size == round(total) if near else size in (math.floor(total), math.ceil(total))
    assert bool(taken[weights == 1].all())
    assert not bool(taken[weights == 0].any())


def test_a_budget_is_met_exactly_whatever_rounding_says() -> None:
    """8 of 50 in float32: the sum of the weights is not 8, and the draw has 8 elements."""
    scores, index = torch.randn(50_000, generator=generator()), torch.arange(50_000) % 1000
    weights = soft_top_r(scores, 8 / 50, index)
    groups = Groups(index, 1000, 50_000)
    assert bool((groups.sum(weights.double()) != 8).any())
    uniform = torch.rand(50_000, generator=generator(1))
    for start in (0.0, 0.37, 1 - 2**-53):
        shifts = torch.full((1000,), start, dtype=torch.float64)
        taken = systematic_sample(weights, groups, noise=(uniform, shifts))
        assert torch.equal(torch.bincount(index[taken], minlength=1000), torch.full((1000,), 8))


@pytest.mark.parametrize("indexed", [False, True])
def test_an_element_is_taken_with_the_probability_of_its_weight(indexed: bool) -> None:
    draws, size = 4000, 12
    weights = torch.rand(size, generator=generator(3), dtype=torch.float64)
    index = torch.arange(size) % 3 if indexed else None
    groups = Groups(index, 3, size) if indexed else Groups.single(size)
    source = generator(4)
    total = sum(systematic_sample(weights, groups, generator=source).double() for _ in range(draws))
    assert isinstance(total, Tensor)
    spread = (weights * (1 - weights) / draws).sqrt()
    assert bool(((total / draws - weights).abs() < 4 * spread + 1e-9).all())


def test_the_order_is_random() -> None:
    """Of four halves any two can come together; in a fixed order only every second would."""
    weights, source = torch.full((4,), 0.5), generator()
    seen = {
        tuple(systematic_sample(weights, Groups.single(4), generator=source).tolist())
        for _ in range(200)
    }
    assert len(seen) == 6


def test_both_directions_of_an_edge_are_taken_together() -> None:
    weights = torch.tensor([0.5, 0.25, 0.5, 0.25, 0.25, 1.0, 0.5])
    reverse = torch.tensor([2, 3, 0, 1, 4, 5, 6])
    index = torch.tensor([0, 0, 0, 0, 0, 2, 0])
    source = generator()
    for _ in range(50):
        taken = systematic_sample(weights, Groups(index, 3, 7), reverse, generator=source)
        assert torch.equal(taken, taken[reverse])
        pairs = taken[torch.tensor([0, 1, 4, 6])]  # 0.5 + 0.25 + 0.25 + 0.5
        assert int(pairs.sum()) in (1, 2)
        assert bool(taken[5])


def test_draws_follow_the_generator() -> None:
    weights, groups = torch.rand(100, generator=generator()), Groups(torch.arange(100) % 7, 7, 100)
    once, again, other = (
        systematic_sample(weights, groups, generator=generator(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(once, again)
    assert not torch.equal(once, other)
    torch.manual_seed(5)
    first = systematic_sample(weights, groups)
    torch.manual_seed(5)
    assert torch.equal(first, systematic_sample(weights, groups))


def test_nothing_to_draw_from() -> None:
    empty = torch.zeros(0)
    for groups in (Groups.single(0), Groups(torch.zeros(0, dtype=torch.long), 4, 0)):
        assert systematic_sample(empty, groups).shape == (0,)
    assert systematic_sample(empty, Groups.single(0), torch.zeros(0).long()).shape == (0,)


def test_both_directions_are_taken_together_also_on_a_device() -> None:
    """There nothing is taken out; the same noise draws the same edges."""
    batch = tiny.whole(tiny.ragged(undirected=True))
    weights = torch.rand(batch.num_edges, generator=generator(3))
    noise = torch.rand(2, batch.num_edges, generator=generator(4), dtype=torch.float64)
    given = noise[0], noise[1, : batch.num_graphs]
    groups, reverse = batch.edge_groups, batch.reverse
    here = systematic_sample(weights, groups, reverse, noise=given)
    with as_on_a_device():
        there = systematic_sample(weights, groups, reverse, noise=given)
    assert torch.equal(here, there)
    assert reverse is not None
    assert torch.equal(here, here[reverse])
