"""Graphs that cannot be, refused with one sentence."""

from __future__ import annotations

import pytest
import torch

from gsina import GraphSinkhornAttention

H = 8


def test_parameters_that_are_not_finite_are_named() -> None:
    attention = GraphSinkhornAttention(4)
    torch.nn.init.constant_(next(attention.parameters()), torch.nan)
    edges = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="parameters of this attention hold NaN"):
        attention(torch.ones(2, 4), edges)


@pytest.mark.parametrize(
    ("edge_index", "batch", "message"),
    [
        (
            torch.tensor([[0, 5], [1, 0]]),
            None,
            r"edge_index must lie in 0 .. 3, got values from 0 to 5",
        ),
        (torch.tensor([[0, 1], [-1, 0]]), None, "got values from -1 to 1"),
        (
            torch.zeros(3, 2).long(),
            None,
            r"int64 of shape \[2, E\], got torch.int64 of shape \[3, 2\]",
        ),
        (torch.zeros(2, 3), None, r"got torch.float32 of shape \[2, 3\]"),
        (torch.tensor([[0], [1]]), torch.zeros(3).long(), r"one graph per node, shape \[4\]"),
        (torch.tensor([[0], [3]]), torch.tensor([0, 0, 1, 1]), "an edge joins two graphs"),
        (
            torch.tensor([[0], [1]]),
            torch.tensor([-1, -1, 0, 0]),
            "batch must number the graphs from 0 .* got values from -1 to 0",
        ),
        (torch.tensor([[0], [1]]), torch.tensor([0, 0, 0, 2**40]), "numbers graphs with other ids"),
    ],
)
def test_a_graph_that_cannot_be_is_refused(edge_index, batch, message) -> None:
    with pytest.raises(ValueError, match=message):
        GraphSinkhornAttention(H)(torch.randn(4, H), edge_index, batch)


def test_embeddings_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="node embeddings must be finite"):
        GraphSinkhornAttention(H)(torch.full((2, H), torch.nan), torch.tensor([[0], [1]]))


EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 0]])


@pytest.mark.parametrize(
    ("reverse", "message"),
    [
        ("fnd", "must be 'find', None or a tensor, got 'fnd'"),
        (torch.tensor([1, 0, 3]), r"int64 of shape \[5\], one per edge, got .* of shape \[3\]"),
        (torch.tensor([1.0, 0, 3, 2, 4]), "int64 of shape .* got torch.float32"),
        (torch.tensor([1, 2, 3, 4, 0]), "must pair edges with their opposites"),
        (torch.tensor([2, 3, 0, 1, 4]), "must pair edges with their opposites"),
        (torch.tensor([9, 0, 3, 2, 4]), "must pair edges with their opposites"),
        (torch.tensor([-1, 0, 3, 2, 4]), "must pair edges with their opposites"),
    ],
)
def test_a_reverse_that_is_none_is_refused(reverse, message) -> None:
    attention = GraphSinkhornAttention(H)
    attention(torch.randn(4, H), EDGES, reverse=torch.tensor([1, 0, 3, 2, 4]))
    attention(torch.randn(4, H), EDGES, reverse=torch.arange(5))  # none has an opposite
    with pytest.raises(ValueError, match=message):
        attention(torch.randn(4, H), EDGES, reverse=reverse)


def test_fewer_graphs_than_there_are() -> None:
    attention, batch = GraphSinkhornAttention(H), torch.tensor([0, 0, 1, 1])
    with pytest.raises(ValueError, match="graphs from 0 to 0, got values from 0 to 1"):
        attention(torch.randn(4, H), torch.tensor([[0], [1]]), batch, num_graphs=1)


def test_groups_of_another_kind() -> None:
    with pytest.raises(ValueError, match=r"edge_groups must be .*Groups, got a int"):
        GraphSinkhornAttention(H)(torch.randn(4, H), EDGES, edge_groups=3)


def test_a_temperature_that_no_solver_can_keep_exact() -> None:
    with pytest.raises(ValueError, match="temperature must be at least 1e-09"):
        GraphSinkhornAttention(H, temperature=1e-300)
