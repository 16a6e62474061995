"""Tests of the index work on edge lists."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gsina.ops.edges import count_edges, reverse_edges
from gsina.ops.groups import Groups


def pairs_to_index(pairs: list[tuple[int, int]]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], None),
        ([(0, 1), (1, 2)], None),
        ([(0, 0)], None),
        ([(0, 0), (0, 0), (1, 1)], None),
        ([(0, 1), (1, 0)], [1, 0]),
        ([(2, 1), (0, 1), (1, 2), (0, 2)], [2, 1, 0, 3]),
        # Parallel edges: first with first, second with second, the third is left alone.
        ([(0, 1), (0, 1), (1, 0), (0, 1), (1, 0)], [2, 4, 0, 3, 1]),
        ([(0, 1), (1, 1), (1, 0), (1, 1)], [2, 1, 0, 3]),
        # The greatest key has no opposite: its place lies behind the sorted list.
        ([(2, 0), (0, 1), (1, 0)], [0, 2, 1]),
    ],
)
def test_small_cases(pairs: list[tuple[int, int]], expected: list[int] | None) -> None:
    reverse = reverse_edges(pairs_to_index(pairs), 3)
    assert (None if reverse is None else reverse.tolist()) == expected


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    nodes = draw(st.integers(1, 6))
    ends = st.integers(0, nodes - 1)
    return draw(st.lists(st.tuples(ends, ends), max_size=30)), nodes


@given(graphs())
def test_involution_that_pairs_as_many_as_possible(
    graph: tuple[list[tuple[int, int]], int],
) -> None:
    pairs, nodes = graph
    edge_index = pairs_to_index(pairs)
    reverse = reverse_edges(edge_index, nodes)
    count = Counter(pairs)
    possible = sum(min(n, count[v, u]) for (u, v), n in count.items() if u != v)
    if reverse is None:
        assert possible == 0
        return
    everything = torch.arange(len(pairs))
    assert torch.equal(reverse[reverse], everything)
    moved = reverse != everything
    assert torch.equal(edge_index[:, reverse][:, moved], edge_index.flip(0)[:, moved])
    assert int(moved.sum()) == possible


@given(graphs(), st.randoms(use_true_random=False))
def test_pairs_do_not_depend_on_the_order_of_distinct_edges(
    graph: tuple[list[tuple[int, int]], int], random: object
) -> None:
    pairs = sorted(set(graph[0]))
    order = list(range(len(pairs)))
    random.shuffle(order)  # type: ignore[attr-defined]
    whole = reverse_edges(pairs_to_index(pairs), graph[1])
    shuffled = reverse_edges(pairs_to_index([pairs[i] for i in order]), graph[1])
    if whole is None:
        assert shuffled is None
        return
    assert shuffled is not None
    assert [order[i] for i in shuffled.tolist()] == [int(whole[i]) for i in order]


def test_an_undirected_edge_counts_once() -> None:
    # Both ways twice and a third parallel edge; then a loop and an edge of another graph.
    ends = pairs_to_index([(0, 1), (0, 1), (1, 0), (0, 1), (1, 0), (2, 2), (2, 3)])
    groups = Groups(torch.tensor([0, 0, 0, 0, 0, 2, 2]), 4, 7)
    found = count_edges(groups, reverse_edges(ends, 4), "cpu")
    assert found.tolist() == [3, 0, 2, 0]
    assert count_edges(groups, None, "cpu").tolist() == [5, 0, 2, 0]
