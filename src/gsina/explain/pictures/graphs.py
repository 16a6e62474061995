"""Pictures of the subgraphs that an attention extracts.

Every edge is drawn twice: thin and grey, so that the whole graph stays visible, and on top with a
width and an opacity that are its attention. The area of a node is its attention. Colours tell the
truth, where it is known, so a good extraction is one in which the red part stands out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.explain.pictures.save import save_figure
from gsina.graphs.layout import layout
from gsina.graphs.packed import PackedGraphs
from gsina.training.evaluate import Predictions

Floats = NDArray[np.float64]

#: Colours of what is not, and what is, in the true explanation.
REST, TRUE = "#E49D1C", "#FF5357"
GREY, INK, RIGHT, WRONG = "#8a8a8a", "#222222", "#2a7f3f", "#b3261e"
#: Width in points of an edge, and area in square points of a node, with attention 1.
EDGE_WIDTH, NODE_AREA = 3.0, 100.0
#: Area of a node when there is no node attention.
PLAIN_AREA = 30.0
#: Inches of one graph with its title, and of the strips above and below all of them.
WIDTH, HEIGHT, TITLE, HEAD, FOOT = 2.5, 2.1, 0.25, 0.4, 0.85
#: Largest type of a graph's title, and inches of a letter for every point of its size.
TITLE_SIZE, LETTER = 9.0, 0.0085
#: Height of a drawing over its width, and the half width of the axes around one from -1 to 1.
ASPECT, MARGIN = (HEIGHT - TITLE) / WIDTH, 1.15

#: Draws the graph of that number into the axes.
Painter = Callable[[Axes, int], None]


class Picture(NamedTuple):
    """One graph, ready to draw.

    Attributes:
        place: Coordinates of the nodes ``[N, 2]``.
        ends: End nodes of each edge, the two directions of one as one ``[E, 2]``.
        edge: Attention of these edges ``[E]``.
        node: Attention of the nodes ``[N]``, or ``None``.
        edge_truth: Whether an edge is in the true explanation ``[E]``, or ``None``.
        node_truth: Whether a node is ``[N]``, or ``None``.
    """

    place: Floats
    ends: NDArray[np.int64]
    edge: Floats
    node: Floats | None
    edge_truth: NDArray[np.bool_] | None
    node_truth: NDArray[np.bool_] | None


def draw_subgraphs(
    graphs: PackedGraphs,
    predictions: Predictions,
    path: Path,
    *,
    columns: int = 5,
    class_names: Sequence[str] | None = None,
    max_nodes: int = 40,
    title: str | None = None,
    caption: str | None = None,
    min_nodes: int = 1,
    seed: int | None = None,
    paint: Painter | None = None,
    cell: tuple[float, float] = (WIDTH, HEIGHT),
) -> list[int]:
    """Draw the extracted subgraphs of a few graphs of every class.

    Graphs of more than ``max_nodes`` nodes are passed over: in a picture they are a tangle. The
    picture says so.

    Args:
        graphs: Graphs with one class label each.
        predictions: What :func:`gsina.training.predict` returned for these very graphs.
        path: The picture; the suffix is the format (``.png``, ``.pdf``, ``.svg``).
        columns: Graphs of each class, one row per class.
        class_names: Names of the classes; by default their numbers.
        max_nodes: Size of the largest graph to draw.
        title: A headline.
        caption: A line under the picture, before the one on sizes.
        min_nodes: Size of the smallest graph to draw.
        seed: Seeds a random choice of the graphs; without it they are the first ones.
        paint: How to draw one graph, for those that have a form of their own.
        cell: Width and height of one graph with its title, in inches.

    Returns:
        The numbers of the graphs that were drawn, row by row.

    Raises:
        InputError: There is no attention, no class label, or no graph that is small enough.
    """
    if predictions.edge is None:
        raise InputError("these predictions come without attention, so there is nothing to draw.")
    if graphs.y is None or graphs.y.numel() != len(graphs):
        raise InputError("expected one class label per graph, to draw one row per class.")
    if predictions.edge.numel() != graphs.edge_index.size(1):
        raise InputError(
            f"got attention of {predictions.edge.numel()} edges for graphs with "
            f"{graphs.edge_index.size(1)}; pass the predictions for these very graphs."
        )
    labels = graphs.y.flatten().nan_to_num(-1).long()  # a graph without a label is in no row
    rows = _choose(graphs, labels, columns, (min_nodes, max_nodes), seed)
    logits = predictions.logits
    guesses = logits.argmax(-1) if logits.size(1) > 1 else (logits[:, 0] > 0).long()

    width, height = cell
    head = 0.0 if title is None else HEAD
    tall = height * len(rows) + head + FOOT
    figure = Figure(figsize=(width * columns, tall), facecolor="white")
    for row, chosen in enumerate(rows):
        bottom = tall - head - (row + 1) * height
        for column, graph in enumerate(chosen):
            box = (column / columns, bottom / tall, 1 / columns, (height - TITLE) / tall)
            axes = figure.add_axes(box)
            if paint is None:
                _draw(axes, make_picture(graphs, predictions, graph))
            else:
                paint(axes, graph)
            _write_title(axes, int(labels[graph]), int(guesses[graph]), class_names, width)
    if title is not None:
        figure.text(0.5, 1 - head / tall / 2, title, ha="center", va="center", size=13, color=INK)
    _write_legend(
        figure, 0.6 * FOOT / tall, graphs.edge_truth is not None, predictions.node is not None
    )
    size = f"Only graphs of at most {max_nodes} nodes are drawn; larger ones are a tangle."
    if min_nodes > 1:
        size = f"Only graphs of {min_nodes} to {max_nodes} nodes are drawn."
    text = size if caption is None else f"{caption} {size}"
    figure.text(0.5, 0.16 * FOOT / tall, text, ha="center", va="center", size=8, color=GREY)
    save_figure(figure, path)
    return [graph for chosen in rows for graph in chosen]


def _choose(
    graphs: PackedGraphs,
    labels: torch.Tensor,
    columns: int,
    sizes: tuple[int, int],
    seed: int | None,
) -> list[list[int]]:
    """A few graphs of every class that has any of a fitting size: the first, or random ones."""
    nodes = graphs.node_ptr.diff()
    fits = (nodes >= sizes[0]) & (nodes <= sizes[1])
    order = torch.arange(len(graphs))
    if seed is not None:
        order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(seed))
    rows = [
        order[((labels == label) & fits)[order]][:columns].tolist()
        for label in sorted(set(labels.tolist()))
        if label >= 0
    ]
    rows = [row for row in rows if row]
    if not rows:
        raise InputError(
            f"none of the {len(graphs)} graphs has {sizes[0]} to {sizes[1]} nodes; raise "
            "max_nodes (--max-nodes) to draw larger ones nevertheless, or take another split."
        )
    return rows


def _layout(nodes: int, ends: NDArray[np.int64]) -> Floats:
    """Coordinates ``[N, 2]`` that fill the axes, around their middle."""
    place = layout(nodes, ends.T)
    place -= (place.max(0, initial=0) + place.min(0, initial=0)) / 2
    place /= (np.abs(place) / [1, ASPECT]).max(initial=1e-9)
    return place


def make_picture(
    graphs: PackedGraphs,
    predictions: Predictions,
    graph: int,
    place: Callable[[int, NDArray[np.int64]], Floats] = _layout,
) -> Picture:
    """Cut one graph out and lay it out, by ``place`` from its nodes and edges."""
    rows = graphs.rows_of(graph)
    nodes, edges = rows["node"], rows["edge"]
    assert predictions.edge is not None
    weight = predictions.edge[edges].double().numpy()
    ends = np.sort(graphs.edge_index[:, edges].numpy().T, axis=1).reshape(-1, 2)
    # The two directions of an edge are one line; its attention is the larger of the two.
    ends, which = np.unique(ends, axis=0, return_inverse=True)
    which = which.reshape(-1)
    edge = np.zeros(len(ends))
    np.maximum.at(edge, which, weight)
    edge_truth = None
    if graphs.edge_truth is not None:
        edge_truth = np.bincount(which, graphs.edge_truth[edges].numpy(), len(ends)) > 0
    return Picture(
        place=place(nodes.stop - nodes.start, ends),
        ends=ends,
        edge=edge.clip(0, 1),
        node=None if predictions.node is None else predictions.node[nodes].double().numpy(),
        edge_truth=edge_truth,
        node_truth=None if graphs.node_truth is None else graphs.node_truth[nodes].numpy(),
    )


def _draw(axes: Axes, picture: Picture) -> None:
    lines = picture.place[picture.ends]
    axes.add_collection(
        LineCollection(list(lines), colors=GREY, linewidths=0.8, alpha=0.3, zorder=1)
    )
    order = np.argsort(picture.edge)  # the important ones on top
    colours = _colours(picture.edge_truth, len(lines))
    for number in order:
        weight = float(picture.edge[number])
        axes.plot(
            *lines[number].T,
            color=colours[number],
            linewidth=EDGE_WIDTH * weight,
            alpha=weight,
            solid_capstyle="round",
            zorder=2,
        )
    area = PLAIN_AREA if picture.node is None else NODE_AREA * picture.node
    axes.scatter(
        picture.place[:, 0],
        picture.place[:, 1],
        s=area,
        c=_colours(picture.node_truth, len(picture.place)),
        edgecolors="white",
        linewidths=0.7,
        zorder=3,
    )
    axes.set_xlim(-MARGIN, MARGIN)
    axes.set_ylim(-MARGIN * ASPECT, MARGIN * ASPECT)
    axes.set_axis_off()


def _colours(truth: NDArray[np.bool_] | None, count: int) -> list[str]:
    if truth is None:
        return [TRUE] * count
    return [TRUE if true else REST for true in truth]


def _write_title(
    axes: Axes, label: int, guess: int, names: Sequence[str] | None, width: float
) -> None:
    """Name the class and the guess, in type that fits into ``width`` inches."""

    def name(number: int) -> str:
        known = names is not None and 0 <= number < len(names)
        return names[number] if known and names is not None else f"class {number}"

    right = label == guess
    text = f"{name(label)}, recognised" if right else f"{name(label)}, taken for {name(guess)}"
    size = min(TITLE_SIZE, width / (LETTER * len(text)))
    axes.set_title(text, size=size, color=RIGHT if right else WRONG, pad=2)


def _write_legend(figure: Figure, middle: float, truth: bool, node: bool) -> None:
    """Say in words what colours, widths and areas mean."""

    def line(weight: float, colour: str) -> Line2D:
        return Line2D([], [], color=colour, linewidth=EDGE_WIDTH * weight, alpha=weight)

    entries: list[tuple[Line2D, str]] = []
    if truth:
        entries += [
            (line(1, TRUE), "the part that decides the label (ground truth)"),
            (line(1, REST), "the rest"),
        ]
    ink = INK if truth else TRUE
    entries += [(line(1, ink), "attention 1"), (line(0.5, ink), "attention 0.5")]
    entries.append((Line2D([], [], color=GREY, linewidth=0.8, alpha=0.5), "attention 0"))
    if node:
        dot = Line2D([], [], color=ink, marker="o", markersize=NODE_AREA**0.5 * 0.9, linestyle="")
        entries.append((dot, "larger dot: more attention to the node"))
    figure.legend(
        [handle for handle, _ in entries],
        [text for _, text in entries],
        loc="center",
        bbox_to_anchor=(0.5, middle),
        ncols=3 if truth else len(entries),
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
    )
