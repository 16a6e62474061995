"""Nodes sorted by the number of their messages."""

import pytest
import torch

from gsina.ops.receivers import sort_receivers


@pytest.mark.parametrize("num_edges", [0, 1, 12, 60])
def test_every_edge_and_node_is_in_its_place(num_edges):
    torch.manual_seed(num_edges)
    target = torch.randint(0, 20, (num_edges,))
    found = sort_receivers(target, 20)
    counts = torch.bincount(target, minlength=20)
    assert found.one.tolist() == [n for n in range(20) if counts[n] == 1]
    assert found.several.tolist() == [n for n in range(20) if counts[n] > 1]
    assert target[found.one_edge].tolist() == found.one.tolist()
    assert found.several[found.several_row].tolist() == target[found.several_edge].tolist()
    assert found.several_count.tolist() == counts[found.several].tolist()
    assert sorted([*found.one_edge.tolist(), *found.several_edge.tolist()]) == [*range(num_edges)]
    rows = [-1, *found.one.tolist(), *found.several.tolist()]
    assert [rows[place] for place in found.place] == [n if counts[n] else -1 for n in range(20)]
