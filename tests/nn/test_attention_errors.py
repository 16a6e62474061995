"""Graphs that cannot be, refused with one sentence."""

from __future__ import annotations

import pytest
import torch

from gsina import GraphSinkhornAttention

H = 8


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
        (torch.tensor([[0], [1]]), torch.zeros(3).long(), r"one graph a node, shape \[4\]"),
        (torch.tensor([[0], [3]]), torch.tensor([0, 0, 1, 1]), "an edge joins two graphs"),
    ],
)
def test_a_graph_that_cannot_be_is_refused(edge_index, batch, message) -> None:
    with pytest.raises(ValueError, match=message):
        GraphSinkhornAttention(H)(torch.randn(4, H), edge_index, batch)


def test_embeddings_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="node embeddings must be finite"):
        GraphSinkhornAttention(H)(torch.full((2, H), torch.nan), torch.tensor([[0], [1]]))
