"""The alignment loss against a loop over groups."""

from __future__ import annotations

import pytest
import torch

import tiny
from gsina.ops.alignment import alignment_loss
from gsina.ops.groups import Groups


@pytest.mark.parametrize("undirected", [False, True])
def test_is_the_mean_distance_of_the_lower_half(undirected: bool) -> None:
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    torch.manual_seed(0)
    weights = torch.rand(batch.num_edges, dtype=torch.float64)
    if batch.reverse is not None:
        weights = (weights + weights[batch.reverse]) / 2
    found = alignment_loss(weights, batch.edge_groups, batch.reverse)
    for graph in range(batch.num_graphs):
        own = weights[batch.edge_graph == graph].sort().values
        if undirected:
            own = own[::2]
        low = own[: len(own) // 2]
        edges = int((batch.edge_graph == graph).sum())
        right = (low - 1 / edges).abs().mean() if len(low) else low.new_zeros(())
        torch.testing.assert_close(found[graph], right)


def test_only_the_lower_half_is_moved() -> None:
    weights = torch.tensor([0.9, 0.4, 0.6, 0.3], requires_grad=True)
    alignment_loss(weights, Groups.single(4)).sum().backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == pytest.approx([0.0, 0.5, 0.0, 0.5])
