"""How well attention separates the explanation from the background: numbers and a picture.

The numbers compare two distributions of edge attention: of the edges outside the true explanation
(background) and of those inside. The picture is the first figure of the GSINA paper: for each
method a heat map of one batch and the two densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.pictures.save import save_figure
from gsina.graphs.packed import PackedGraphs

Floats = NDArray[np.float64]

#: Blue and vermilion of Okabe and Ito, distinct for colour-blind readers.
BACKGROUND, EXPLANATION, INK = "#0072B2", "#D55E00", "#222222"
#: Viridis without its darkest part: the lowest attention must not look like black, no edge.
COLOURS = ListedColormap(colormaps["viridis"](np.linspace(0.18, 1, 256))).with_extremes(bad="black")
#: Equal bars over [0, 1] that the densities are drawn with, and their overlap is counted in.
BARS = 50
#: Equally likely classes that the scale-free overlap is counted in.
CLASSES = 20


class Separability(NamedTuple):
    """How far two distributions of attention are apart.

    Attributes:
        overlap: Overlap coefficient, the integral of the smaller of the two densities: 1 if they
            are the same, 0 if no value occurs in both. Of histograms with bars of width 1/50.
        scale_free_overlap: The same, of histograms with 20 bars that are equally likely under the
            half-and-half mixture of the two distributions.
        ks_distance: Kolmogorov-Smirnov distance, the largest difference of the two distribution
            functions: 0 if they are the same, 1 if one value separates them.
        background: Mean attention of the background.
        explanation: Mean attention of the explanation.
    """

    overlap: float
    scale_free_overlap: float
    ks_distance: float
    background: float
    explanation: float


class Panel(NamedTuple):
    """The attention of one method on a batch.

    Attributes:
        title: Name of the method, with its settings.
        attention: Edge attention ``[E]``.
    """

    title: str
    attention: Tensor


def separability(attention: Tensor, truth: Tensor) -> Separability:
    """Overlap and distance of the attention of background and explanation.

    ``overlap`` is what an eye sees in the drawn densities: it asks for a gap on the scale of the
    attention. ``scale_free_overlap`` and ``ks_distance`` stay the same if attention is changed by
    any increasing function; they ask only whether the two parts have different ranks, and neither
    reward nor punish a method for the level and the range of its weights.

    A histogram of few values differs by chance: for n edges in the smaller part, two equal
    distributions have a scale-free overlap of about ``1 - 0.4 sqrt(20 / n)``.

    Args:
        attention: Edge weights ``[E]``.
        truth: Whether an edge is in the explanation ``[E]``, bool.

    Raises:
        InputError: There are no edges in the background, or none in the explanation.
    """
    inside = truth.bool().cpu().numpy()
    values = attention.cpu().double().numpy()
    if inside.all() or not inside.any():
        raise InputError(
            f"got {int(inside.sum())} edges of the explanation among {inside.size}, expected some "
            "and not all of them."
        )
    distinct, position = np.unique(values, return_inverse=True)
    background, explanation = (
        np.bincount(position[part], minlength=distinct.size) / part.sum()
        for part in (~inside, inside)
    )
    mixture = (background + explanation) / 2
    # Equal values stay together, in the class of the middle of their share.
    middle = np.cumsum(mixture) - mixture / 2
    return Separability(
        overlap=_overlap(distinct, BARS, background, explanation),
        scale_free_overlap=_overlap(middle, CLASSES, background, explanation),
        ks_distance=float(np.abs(np.cumsum(background - explanation)).max()),
        background=float(values[~inside].mean()),
        explanation=float(values[inside].mean()),
    )


def _overlap(place: Floats, bars: int, one: Floats, other: Floats) -> float:
    """Overlap of two histograms over [0, 1], of values at ``place`` with masses that sum to 1."""
    bar = (place * bars).astype(np.int64).clip(0, bars - 1)
    return float(np.minimum(np.bincount(bar, one, bars), np.bincount(bar, other, bars)).sum())


def heat_map(attention: Tensor, graphs: PackedGraphs) -> Floats:
    """Attention as an image: one row per graph, in descending order, NaN where a graph has no edge.

    Returns:
        ``[G, longest]``; the graph with the most edges first.
    """
    counts = graphs.edge_ptr.diff().numpy()
    if attention.numel() != counts.sum():
        raise InputError(
            f"got attention of {attention.numel()} edges for graphs with {counts.sum()}; pass the "
            "attention of these very graphs."
        )
    place = np.empty(len(counts), dtype=np.int64)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    row = np.repeat(place, counts)
    values = attention.cpu().double().numpy()
    order = np.lexsort((-values, row))
    image = np.full((len(counts), int(counts.max(initial=0))), np.nan)
    start = np.zeros(len(counts), dtype=np.int64)
    np.cumsum(np.sort(counts)[::-1][:-1], out=start[1:])
    column = np.arange(order.size) - start[row[order]]
    image[row[order], column] = values[order]
    return image


def draw_separability(
    graphs: PackedGraphs, panels: Sequence[Panel], path: Path, caption: str | None = None
) -> list[Separability]:
    """Draw, for each method, the heat map of a batch above the two densities.

    Args:
        graphs: One batch of graphs with true explanations.
        panels: The methods, from left to right.
        path: The picture; the suffix is the format (``.png``, ``.pdf``, ``.svg``).
        caption: A line under the picture.

    Returns:
        The numbers that are written into the densities, one of each method.

    Raises:
        InputError: The graphs have no true explanations, or there is nothing to draw.
    """
    if graphs.edge_truth is None or not panels:
        raise InputError(
            "expected graphs with true explanations of edges, and at least one method to draw."
        )
    measured = [separability(panel.attention, graphs.edge_truth) for panel in panels]
    figure = Figure(figsize=(0.9 + 4.6 * len(panels), 6.8), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(2, len(panels), squeeze=False, height_ratios=(1.4, 1))
    for panel, numbers, (above, below) in zip(panels, measured, axes.T, strict=True):
        above.set_title(panel.title, size=12, color=INK)
        image = _draw_heat_map(above, heat_map(panel.attention, graphs))
        _draw_densities(below, panel.attention, graphs.edge_truth, numbers)
    axes[0, 0].set_ylabel("graph, most edges first")
    axes[1, 0].set_ylabel("density")
    figure.colorbar(image, ax=axes[0], label="edge attention", fraction=0.05, pad=0.02)
    axes[1, 0].legend(loc="best", frameon=False)
    if caption is not None:
        figure.supxlabel(caption, size=8, color=INK)
    save_figure(figure, path)
    return measured


def _draw_heat_map(axes: Axes, image: Floats) -> AxesImage:
    rows, columns = image.shape
    axes.set_xlabel("edge, by rank in its graph (black: no edge)")
    return axes.imshow(
        image,
        cmap=COLOURS,
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        extent=(0.5, columns + 0.5, rows + 0.5, 0.5),
    )


def _draw_densities(axes: Axes, attention: Tensor, truth: Tensor, numbers: Separability) -> None:
    inside = truth.bool().cpu().numpy()
    values = attention.cpu().double().numpy()
    edges = np.linspace(0, 1, BARS + 1)
    for part, label, colour, line in (
        (~inside, "background", BACKGROUND, "-"),
        (inside, "explanation", EXPLANATION, "--"),
    ):
        density, _ = np.histogram(values[part], edges, density=True)
        axes.stairs(density, edges, fill=True, color=colour, alpha=0.25)
        axes.stairs(density, edges, color=colour, linestyle=line, linewidth=1.6, label=label)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("edge attention")
    axes.spines[["top", "right"]].set_visible(False)
    text = (
        f"overlap {numbers.overlap:.2f} (scale-free {numbers.scale_free_overlap:.2f}),  "
        f"KS distance {numbers.ks_distance:.2f}"
    )
    axes.set_title(text, size=9, color=INK)
