from __future__ import annotations

import networkx as nx
import torch

import tiny
from gsina.explain.components import count_components
from gsina.graphs.packed import PackedGraphs


def test_pieces_by_hand():
    path = tiny.graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    graphs = PackedGraphs.from_pyg([path, tiny.graph(3, []), path])
    part = torch.tensor([1, 1, 0, 0, 1, 1, 0, 1, 0, 1], dtype=torch.bool)
    assert count_components(part, graphs).tolist() == [2, 0, 3]
    assert count_components(torch.zeros(10, dtype=torch.bool), graphs).tolist() == [0, 0, 0]
    assert count_components(torch.ones(10, dtype=torch.bool), graphs).tolist() == [1, 0, 1]


def test_pieces_are_those_of_networkx():
    torch.manual_seed(0)
    graphs = tiny.motifs(5)
    part = torch.rand(graphs.edge_index.size(1)) < 0.3
    expected = []
    for start, stop in zip(
        graphs.edge_ptr[:-1].tolist(), graphs.edge_ptr[1:].tolist(), strict=True
    ):
        chosen = nx.Graph()
        chosen.add_edges_from(graphs.edge_index[:, start:stop][:, part[start:stop]].T.tolist())
        expected.append(nx.number_connected_components(chosen))
    assert count_components(part, graphs).tolist() == expected
    both = graphs.to_undirected()
    assert count_components(
        torch.ones(both.edge_index.size(1), dtype=torch.bool), both
    ).tolist() == [1] * len(graphs)
