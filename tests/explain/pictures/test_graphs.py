from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread

import tiny
from gsina.explain.pictures import graphs as pictures
from gsina.explain.pictures.graphs import draw_subgraphs
from gsina.training import Predictions


def attention_of(graphs, node=True) -> Predictions:
    """Full attention to the true part, and a tenth to the rest; every class is taken for 1."""
    logits = torch.zeros(len(graphs), 3)
    logits[:, 1] = 1
    edge = torch.where(graphs.edge_truth, 1.0, 0.1)
    return Predictions(logits, edge, torch.rand(graphs.x.size(0)) if node else None, None)


@pytest.fixture
def drawn(monkeypatch) -> list[Figure]:
    """The figures that are made."""
    figures = []

    def make(*arguments, **options) -> Figure:
        figures.append(Figure(*arguments, **options))
        return figures[-1]

    monkeypatch.setattr(pictures, "Figure", make)
    return figures


def texts(figure: Figure) -> str:
    legend = [text.get_text() for part in figure.legends for text in part.get_texts()]
    return " | ".join([text.get_text() for text in figure.texts] + legend)


def test_one_row_a_class_with_titles_and_a_legend(tmp_path, drawn):
    graphs = tiny.motifs(4, "val")
    path = tmp_path / "new" / "picture.png"
    chosen = draw_subgraphs(
        graphs,
        attention_of(graphs),
        path,
        columns=2,
        class_names=["cycle", "house", "crane"],
        max_nodes=60,
        title="Headline",
        caption="Seen never before.",
    )
    assert graphs.y[chosen].tolist() == [0, 0, 1, 1, 2, 2]
    (figure,) = drawn
    titles = [axes.get_title() for axes in figure.axes]
    assert (
        titles
        == ["cycle, taken for house"] * 2
        + ["house, recognised"] * 2
        + ["crane, taken for house"] * 2
    )
    for words in ("Headline", "Seen never before.", "at most 60 nodes", "ground truth", "the rest"):
        assert words in texts(figure)
    image = imread(path)
    assert image.shape[0] > 500
    assert image.min() < 0.5  # something is drawn


def test_width_and_opacity_are_the_attention_and_colours_the_truth(tmp_path, drawn):
    graphs = tiny.motifs(1)[[0]]
    draw_subgraphs(graphs, attention_of(graphs), tmp_path / "picture.png", columns=1)
    lines = drawn[0].axes[0].lines
    assert len(lines) == graphs.edge_index.size(1)
    true = [line for line in lines if line.get_linewidth() == pytest.approx(3)]
    assert len(true) == int(graphs.edge_truth.sum()) == 5
    for line in lines:
        weight = line.get_linewidth() / 3
        assert line.get_alpha() == pytest.approx(weight)
        expected = pictures.TRUE if line in true else pictures.REST
        assert to_hex(line.get_color()) == expected.lower()
        assert weight == pytest.approx(1.0 if line in true else 0.1)
    grey, nodes = drawn[0].axes[0].collections
    assert len(grey.get_segments()) == len(lines)
    assert len(nodes.get_offsets()) == graphs.x.size(0)


def test_two_directions_are_one_line_with_the_larger_attention():
    one_way = tiny.motifs(1)[[0]]
    both = one_way.to_undirected()
    weights = torch.rand(both.edge_index.size(1))
    attention = Predictions(torch.zeros(1, 3), weights, None, None)
    picture = pictures.make_picture(both, attention, 0)
    assert len(picture.ends) == one_way.edge_index.size(1)
    assert picture.edge_truth.sum() == one_way.edge_truth.sum()
    for (a, b), weight in zip(picture.ends.tolist(), picture.edge, strict=True):
        ends = both.edge_index.T.sort(dim=1).values
        same = (ends == torch.tensor([a, b])).all(1)
        assert same.sum() == 2
        assert weight == pytest.approx(float(weights[same].max()))


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_graphs_without_truth_without_node_attention_and_of_any_shape(tmp_path, suffix, drawn):
    graphs = replace(tiny.ragged(), edge_truth=None, node_truth=None)
    attention = Predictions(
        torch.zeros(len(graphs), 1), torch.rand(graphs.edge_index.size(1)), None, None
    )
    path = tmp_path / f"picture.{suffix}"
    assert len(draw_subgraphs(graphs, attention, path)) == len(graphs)
    assert path.stat().st_size > 1000
    assert "ground truth" not in texts(drawn[0])
    assert "dot" not in texts(drawn[0])


def test_large_graphs_are_passed_over(tmp_path):
    graphs = tiny.ragged()
    chosen = draw_subgraphs(graphs, attention_of(graphs), tmp_path / "small.png", max_nodes=12)
    assert 5 not in chosen  # 40 nodes
    with pytest.raises(ValueError, match="none of the 7 graphs has 1 to 0 nodes"):
        draw_subgraphs(graphs, attention_of(graphs), tmp_path / "none.png", max_nodes=0)


def test_unconnected_parts_stay_in_sight():
    place = pictures._layout(6, np.array([[0, 1], [1, 2], [3, 4]]))
    gaps = np.linalg.norm(place[:, None] - place[None], axis=-1)
    assert gaps[np.triu_indices(6, 1)].min() > 0.05
    assert np.abs(place).max() <= 1 + 1e-9


def test_what_cannot_be_drawn_is_said(tmp_path):
    graphs = tiny.motifs(1)
    attention = attention_of(graphs)
    path = tmp_path / "picture.png"
    with pytest.raises(ValueError, match="without attention"):
        draw_subgraphs(graphs, replace(attention, edge=None), path)
    with pytest.raises(ValueError, match="one class label"):
        draw_subgraphs(replace(graphs, y=None), attention, path)
    with pytest.raises(ValueError, match="these very graphs"):
        draw_subgraphs(graphs[[0]], attention, path)
    assert not path.exists()


def test_a_long_title_gets_smaller_type_and_stays_in_its_cell(tmp_path, drawn):
    graphs = tiny.motifs(4, "val")
    names = ["an unusually long name of a class", "b", "another name that is rather long"]
    draw_subgraphs(
        graphs,
        attention_of(graphs),
        tmp_path / "picture.png",
        columns=2,
        class_names=names,
        max_nodes=60,
    )
    (figure,) = drawn
    figure.draw_without_rendering()
    sizes = set()
    for axes in figure.axes:
        title = axes.title.get_window_extent()
        assert axes.bbox.x0 <= title.x0
        assert title.x1 <= axes.bbox.x1
        sizes.add(round(axes.title.get_size(), 1))
    assert max(sizes) == 9
    assert min(sizes) < 9
