"""Sentences as graphs: the words on a line, edges as arcs as wide as the attention they get."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.explain.pictures.graphs import (
    EDGE_WIDTH,
    GREY,
    INK,
    NODE_AREA,
    PLAIN_AREA,
    TRUE,
    Floats,
    Picture,
    draw_subgraphs,
    make_picture,
)
from gsina.graphs.packed import PackedGraphs
from gsina.training.evaluate import Predictions

#: Inches of a sentence with its title.
SIZE = (5.2, 1.9)
#: Letters of a word that are shown.
LONGEST = 14


def draw_sentences(
    graphs: PackedGraphs,
    predictions: Predictions,
    words: Sequence[Sequence[str]],
    path: Path,
    **options: Any,
) -> list[int]:
    """Draw a few sentences of every class.

    See :func:`~gsina.explain.pictures.graphs.draw_subgraphs`.

    Args:
        graphs: Sentences as graphs, one node per word, in order.
        predictions: The predictions for these very graphs.
        words: The words of every sentence.
        path: The picture.
        **options: Those of ``draw_subgraphs``.

    Raises:
        InputError: The words do not belong to the graphs.
    """
    if [len(sentence) for sentence in words] != graphs.node_ptr.diff().tolist():
        raise InputError("the words are not those of the graphs: their numbers differ.")

    def paint(axes: Axes, graph: int) -> None:
        _paint(axes, make_picture(graphs, predictions, graph, _line), words[graph])

    return draw_subgraphs(graphs, predictions, path, paint=paint, cell=SIZE, **options)


def _line(nodes: int, ends: NDArray[np.int64]) -> Floats:
    """The words side by side."""
    return np.stack([np.arange(nodes), np.zeros(nodes)], axis=1).astype(float)


def _paint(axes: Axes, picture: Picture, words: Sequence[str]) -> None:
    turn = np.linspace(0, np.pi, 30)
    highest = 1.0
    for number in np.argsort(picture.edge):
        left, right = picture.ends[number]
        weight = float(picture.edge[number])
        # An arc over the line; its height is half its width, but flatter for long ones.
        height = 0.5 * (right - left) ** 0.8
        highest = max(highest, height)
        across = (left + right) / 2 - (right - left) / 2 * np.cos(turn)
        up = height * np.sin(turn)
        axes.plot(across, up, color=GREY, lw=0.8, alpha=0.3, zorder=1)
        axes.plot(across, up, color=TRUE, lw=EDGE_WIDTH * weight, alpha=weight, zorder=2)
    area = PLAIN_AREA if picture.node is None else NODE_AREA * picture.node
    across, up = picture.place.T
    axes.scatter(across, up, s=area, c=TRUE, edgecolors="white", linewidths=0.7, zorder=3)
    for place, word in enumerate(words):
        text = word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…"
        # A word may look like a formula: $ starts one.
        axes.text(
            place + 0.08,
            -0.22 * highest,
            text.replace("$", r"\$"),
            rotation=32,
            ha="right",
            va="top",
            rotation_mode="anchor",
            size=8.5,
            color=INK,
        )
    axes.set_xlim(-1.6, len(words) - 0.4)
    axes.set_ylim(-1.45 * highest, 1.15 * highest)
    axes.set_axis_off()
