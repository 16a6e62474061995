"""hard_top_r against a loop over groups, its rounding, ties and undirected edges."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r


def by_loop(scores: Tensor, ratio: float, index: Tensor, num: int) -> Tensor:
    mask = torch.zeros(scores.numel(), dtype=torch.bool)
    for group in range(num):
        mine = (index == group).nonzero().view(-1).tolist()
        best = sorted(mine, key=lambda i: (-float(scores[i]), i))
        mask[best[: math.ceil(round(ratio * len(mine), 6))]] = True
    return mask


@given(
    seed=st.integers(0, 10_000),
    size=st.integers(0, 40),
    num=st.integers(1, 7),
    ratio=st.sampled_from([0.01, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.7, 0.99, 1.0]),
    levels=st.sampled_from([2, 1000]),
)
def test_equals_a_loop_over_groups(
    seed: int, size: int, num: int, ratio: float, levels: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(0, num, (size,), generator=generator)
    scores = torch.randint(0, levels, (size,), generator=generator).float()  # few levels: ties
    found = hard_top_r(scores, ratio, Groups(index, num, size))
    assert found.dtype == torch.bool
    assert torch.equal(found, by_loop(scores, ratio, index, num))
    whole = hard_top_r(scores, ratio, Groups.single(size))
    assert torch.equal(whole, by_loop(scores, ratio, torch.zeros_like(index), 1))


@pytest.mark.parametrize(
    ("size", "ratio", "kept"),
    [(100, 0.55, 55), (30, 0.1, 3), (3, 0.1, 1), (1, 0.01, 1), (7, 0.25, 2), (8, 0.25, 2)],
)
def test_rounds_up_and_only_where_there_is_a_rest(size: int, ratio: float, kept: int) -> None:
    groups = Groups.single(size)
    assert int(hard_top_r(torch.randn(size), ratio, groups).sum()) == kept
    single = torch.tensor(ratio)  # float32 holds 0.55 as 0.55000001
    assert int(hard_top_r(torch.randn(size), single, groups).sum()) == kept


def test_one_ratio_per_group_and_empty_groups() -> None:
    index = torch.tensor([0, 0, 0, 0, 2, 2])
    ratio = torch.tensor([0.5, 0.3, 1.0])
    mask = hard_top_r(torch.tensor([1.0, 4, 3, 2, 0, 0]), ratio, Groups(index, 3, 6))
    assert mask.tolist() == [False, True, True, False, True, True]


def test_a_group_is_the_same_alone() -> None:
    torch.manual_seed(0)
    scores, index = torch.randn(50), torch.randint(0, 5, (50,))
    together = hard_top_r(scores, 0.3, Groups(index, 5, 50))
    for group in range(5):
        mine = index == group
        alone = hard_top_r(scores[mine], 0.3, Groups.single(int(mine.sum())))
        assert torch.equal(together[mine], alone)


@pytest.mark.parametrize("equal", [True, False])
def test_directions_of_an_edge_share_its_fate(equal: bool) -> None:
    torch.manual_seed(0)
    pairs = torch.tensor([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 6), (6, 7)]).T
    edge_index = torch.cat([pairs, pairs.flip(0), torch.tensor([[7], [7]])], dim=1)
    reverse = reverse_edges(edge_index, 8)
    assert reverse is not None
    scores = torch.zeros(15) if equal else torch.randn(15)
    scores = scores + scores[reverse]
    index = (edge_index[0] >= 5).long()
    mask = hard_top_r(scores, 0.5, Groups(index, 2, 15), reverse)
    assert torch.equal(mask, mask[reverse])
    assert int(mask[:5].sum()) == 3  # of five edges
    assert int(mask[5:7].sum()) + int(mask[14]) == 2  # of two edges and a self-loop


@pytest.mark.parametrize("ratio", [0.0, -0.1, 1.5, float("nan")])
def test_refuses_a_ratio_out_of_range(ratio: float) -> None:
    with pytest.raises(ValueError, match=r"ratio must lie in \(0, 1\], got"):
        hard_top_r(torch.randn(4), ratio, Groups.single(4))
