"""Descriptors of graphs: the same for renumbered nodes, for any company, and for larger copies."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import Tensor

import tiny
from gsina.errors import InputError
from gsina.graphs.descriptors import BINS, DEGREES, describe_graphs, find_descriptors
from gsina.graphs.packed import PackedGraphs


def marked(edges: list[tuple[int, int]], marks: list[int], bonds: list[int]) -> PackedGraphs:
    """A graph of nodes with one of three marks, whose edges have one of two, both ways."""
    ends = torch.tensor([*edges, *((b, a) for a, b in edges)]).T.reshape(2, -1)
    kinds = torch.eye(2)[torch.tensor([*bonds, *bonds], dtype=torch.long)]
    return PackedGraphs.one(torch.eye(3)[marks], ends, kinds)


PATH = marked([(0, 1), (1, 2), (2, 3)], [0, 1, 1, 2], [0, 1, 0])
OTHERS = (
    marked([(0, 1), (1, 2), (2, 3)], [0, 1, 1, 2], [0, 0, 1]),  # another order of bonds
    marked([(0, 1), (1, 2), (1, 3)], [0, 1, 1, 2], [0, 1, 0]),  # a star
    marked([(0, 1), (1, 2), (2, 3)], [1, 0, 1, 2], [0, 1, 0]),  # another order of marks
)
ALL = PackedGraphs.join([PATH, *OTHERS])


def test_surroundings_tell_graphs_apart_and_renumbered_ones_not() -> None:
    how = find_descriptors(ALL)
    assert (how["node"], how["edge"]) == ([0, 1, 2], [0, 1])
    found = describe_graphs(ALL, how)
    assert found.shape == (4, len(how["kept"]))
    assert len({tuple(row.tolist()) for row in found}) == 4
    renumbered = marked([(3, 2), (2, 1), (1, 0)], [2, 1, 1, 0], [0, 1, 0])
    assert torch.equal(describe_graphs(renumbered, how)[0], found[0])
    for place in range(4):
        assert torch.equal(describe_graphs(ALL[[place]], how)[0], found[place])


def test_a_graph_of_two_copies_is_described_as_one() -> None:
    how = find_descriptors(ALL)
    twice = marked(
        [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)], [0, 1, 1, 2] * 2, [0, 1, 0] * 2
    )
    torch.testing.assert_close(describe_graphs(twice, how), describe_graphs(PATH, how))


def test_numbers_have_means_and_degrees_shares() -> None:
    graphs = tiny.ragged(undirected=True)
    how = find_descriptors(graphs) | {"kept": list(range(DEGREES + 2 * graphs.num_features))}
    assert how["node"] == []
    found = describe_graphs(graphs, how)
    for place, one in enumerate(graphs.to_pyg()):
        degrees = Counter(one.edge_index[1].bincount(minlength=one.num_nodes).tolist())
        shares = [degrees[d] / max(one.num_nodes, 1) for d in range(DEGREES - 1)]
        assert found[place, : DEGREES - 1].tolist() == pytest.approx(shares)
        if one.num_nodes:
            means = found[place, DEGREES : DEGREES + graphs.num_features]
            torch.testing.assert_close(means, one.x.mean(0))
            spread: Tensor = found[place, DEGREES + graphs.num_features :]
            torch.testing.assert_close(spread, one.x.std(0, correction=0), atol=1e-4, rtol=1e-4)


def test_categories_are_marks() -> None:
    graphs = PackedGraphs.one(torch.tensor([[5, 1], [5, 0], [6, 1]]), torch.zeros(2, 0).long())
    how = {"node": [0, 1], "edge": [], "kept": list(range(DEGREES, DEGREES + BINS))}
    (found,) = describe_graphs(graphs, how)
    assert found.sort().values[-3:].tolist() == pytest.approx([1 / 3] * 3)


def test_graphs_with_other_features_get_a_sentence() -> None:
    with pytest.raises(InputError, match="make the graphs as those it was trained on"):
        describe_graphs(tiny.ragged(), {"node": [77], "edge": [], "kept": [0]})
