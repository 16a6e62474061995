"""Explanations are PyG's, and know their top, their picture and their earlier names."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch_geometric.explain

from gsina.explainers.explanation import Explanation
from gsina.ops.budget import Budget


def made(**given: object) -> Explanation:
    """A path of four undirected edges, and a node by itself."""
    one = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    parts: dict[str, object] = {
        "x": torch.randn(6, 3),
        "edge_index": torch.cat([one, one.flip(0)], dim=1),
        "edge_mask": torch.tensor([0.9, 0.1, 0.2, 0.6] * 2),
        "node_mask": torch.full((6, 1), 0.5),
    }
    return Explanation(**(parts | given))


def test_it_is_pygs_own(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    found = made()
    assert isinstance(found, torch_geometric.explain.Explanation)
    assert found.validate()
    found.visualize_graph(str(tmp_path / "graph.png"), backend="networkx")
    assert (tmp_path / "graph.png").stat().st_size > 1000
    assert found.threshold("topk_hard", 2).edge_mask.sum() == 2


@pytest.mark.parametrize(("how", "kept"), [({"share": 0.5}, 2), ({"count": 1}, 1), ({}, 3)])
def test_the_top_is_a_part_of_the_graph(how: dict[str, float], kept: int) -> None:
    found = made(budget=Budget(count=3))
    top = found.top(**how)
    assert int((top.edge_mask > 0).sum()) == 2 * kept  # both directions
    best = found.edge_mask[top.edge_mask > 0].min()
    assert best >= found.edge_mask[top.edge_mask == 0].max()
    part = top.get_explanation_subgraph()
    assert part.validate()
    assert part.num_edges == 2 * kept
    assert part.num_nodes == {1: 2, 2: 4, 3: 5}[kept]
    assert found.num_edges == 8  # the whole is left as it was


def test_a_top_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"without a budget of its own; give a share.*top\(0.2\)"):
        made().top()
    with pytest.raises(ValueError, match="give one of the two"):
        made().top(0.5, count=2)


def test_graphs_without_edges_and_with_one() -> None:
    none = Explanation(
        x=torch.ones(2, 1),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        edge_mask=torch.empty(0),
    )
    assert none.top(0.5).get_explanation_subgraph().num_nodes == 0
    assert "<svg" in none._repr_html_()
    one = made(
        x=torch.ones(2, 1),
        edge_index=torch.tensor([[0], [1]]),
        edge_mask=torch.tensor([0.5]),
        node_mask=torch.ones(2, 1),
    )
    assert one.top(0.1).edge_mask.tolist() == [0.5]


def test_the_picture_draws_every_edge_once_and_the_truth_in_colours() -> None:
    svg = made(edge_truth=torch.tensor([True, False, False, True] * 2))._repr_html_()
    assert svg.count("<line") == 2 * 4  # thin below, weighted on top
    assert svg.count("<circle") == 6
    assert svg.count("#d1353a") == svg.count("#e49d1c") == 2
    large = made(x=torch.ones(400, 1), node_mask=None)._repr_html_()
    assert "too large to draw" in large


def test_earlier_names_still_answer() -> None:
    found = made()
    with pytest.warns(DeprecationWarning, match="use .edge_mask"):
        assert found.edge is found.edge_mask
    with pytest.warns(DeprecationWarning, match="use .node_mask"):
        assert found.node.shape == (6,)
    with pytest.warns(DeprecationWarning, match="no list any more"):
        assert found[0] is found
    assert found["edge_mask"] is found.edge_mask
