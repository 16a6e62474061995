"""Separability: the numbers against hand counts and scipy, the heat map, and the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from scipy.stats import ks_2samp
from torch import Tensor

import tiny
from gsina.explain.separability import Panel, draw_separability, heat_map, separability


def parts(background: list[float], explanation: list[float]) -> tuple[Tensor, Tensor]:
    values = torch.tensor(background + explanation)
    return values, torch.arange(values.numel()) >= len(background)


def test_equal_and_disjoint_distributions() -> None:
    same = separability(*parts([0.1, 0.4, 0.7], [0.1, 0.4, 0.7, 0.1, 0.4, 0.7]))
    assert same[:3] == pytest.approx((1, 1, 0))
    apart = separability(*parts([0.1, 0.2, 0.2], [0.8, 0.9]))
    assert apart == pytest.approx((0, 0, 1, 0.5 / 3, 0.85))
    below = separability(*parts([0.8, 0.9], [0.1, 0.2]))
    assert below[:3] == pytest.approx((0, 0, 1))


def test_numbers_by_hand() -> None:
    found = separability(*parts([0.1, 0.1, 0.5, 0.9], [0.5, 0.9, 0.9, 0.9]))
    # Shared: a quarter at 0.5 and a quarter at 0.9; the distribution functions differ by 1/2.
    assert found.overlap == pytest.approx(0.5)
    assert found.scale_free_overlap == pytest.approx(0.5)
    assert found.ks_distance == pytest.approx(0.5)
    assert found.background == pytest.approx(0.4)
    assert found.explanation == pytest.approx(0.8)


@pytest.mark.filterwarnings("ignore:ks_2samp")  # about the p-value
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=30),
    st.lists(st.integers(0, 8), min_size=1, max_size=30),
)
def test_distance_is_that_of_scipy_also_with_ties(one: list[int], other: list[int]) -> None:
    values, truth = parts([v / 8 for v in one], [v / 8 for v in other])
    found = separability(values, truth)
    assert found.ks_distance == pytest.approx(ks_2samp(one, other).statistic)
    assert -1e-9 <= found.scale_free_overlap <= 1 + 1e-9
    # The overlap is 1 minus the largest difference over all sets, the distance over half lines.
    assert found.overlap <= 1 - found.ks_distance + 1e-9


def test_only_the_overlap_as_drawn_depends_on_the_scale() -> None:
    torch.manual_seed(0)
    values, truth = torch.rand(4000).double(), torch.rand(4000) < 0.3
    values[truth] = values[truth].sqrt()
    plain = separability(values, truth)
    squeezed = separability(0.7 + 0.015 * values**3, truth)
    assert squeezed.scale_free_overlap == pytest.approx(plain.scale_free_overlap)
    assert squeezed.ks_distance == pytest.approx(plain.ks_distance)
    assert plain.overlap < 0.85
    assert squeezed.overlap == pytest.approx(1)  # all in one bar


def test_chance_level_of_the_scale_free_overlap_is_as_documented() -> None:
    torch.manual_seed(0)
    overlaps = [
        separability(torch.rand(20500), torch.arange(20500) < 500).scale_free_overlap
        for _ in range(20)
    ]
    assert np.mean(overlaps) == pytest.approx(1 - 0.4 * (20 / 500) ** 0.5, abs=0.01)


def test_heat_map_is_sorted_and_padded() -> None:
    graphs = tiny.ragged()
    attention = torch.rand(graphs.edge_index.size(1))
    image = heat_map(attention, graphs)
    counts = graphs.edge_ptr.diff()
    assert image.shape == (len(graphs), int(counts.max()))
    order = counts.argsort(descending=True, stable=True).tolist()
    for row, graph in enumerate(order):
        of_graph = attention[graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]]
        expected = of_graph.sort(descending=True).values
        np.testing.assert_allclose(image[row, : expected.numel()], expected)
        assert np.isnan(image[row, expected.numel() :]).all()
    with pytest.raises(ValueError, match="got attention of 3 edges for graphs with"):
        heat_map(attention[:3], graphs)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_picture(tmp_path: Path, suffix: str) -> None:
    graphs = tiny.motifs(4)
    assert graphs.edge_truth is not None
    good = graphs.edge_truth * 0.8 + 0.1
    path = tmp_path / f"new/figure.{suffix}"
    panels = [Panel("GSAT", torch.rand(good.numel())), Panel("GSINA, r = 0.3", good)]
    found = draw_separability(graphs, panels, path, "A batch.")
    assert found[1].ks_distance == pytest.approx(1)
    assert found == [separability(panel.attention, graphs.edge_truth) for panel in panels]
    if suffix == "svg":
        assert path.read_text(encoding="utf-8").lstrip().startswith("<?xml")
        return
    image = imread(path)[..., :3]
    black = (image.max(-1) < 0.01).mean(), (heat_map(good, graphs) != heat_map(good, graphs)).mean()
    assert 0.05 < black[0] < black[1]  # padding is black, and only a part of the picture


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    graphs = tiny.motifs(1)
    assert graphs.edge_truth is not None
    attention = torch.rand(graphs.edge_index.size(1))
    with pytest.raises(ValueError, match="at least one method"):
        draw_separability(graphs, [], tmp_path / "a.png")
    with pytest.raises(ValueError, match="got 0 edges of the explanation among 3"):
        separability(attention[:3], torch.zeros(3, dtype=torch.bool))
