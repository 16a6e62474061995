"""The paper's node-level figure: six panels, one line per method over the test graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gsina.paper.report.summaries import Summary
from gsina.paper.tables.nodes import METHODS, PANELS, Panel
from gsina.paper.tables.table import Table

GREY = "#777777"
COLOURS = {
    "ERM": "#777777",
    "EERM": "#E69F00",
    "GSINA": "#0072B2",
    "GSINA w/o Gumbel": "#009E73",
}
MARKERS = {"ERM": "s", "EERM": "^", "GSINA": "o", "GSINA w/o Gumbel": "v"}


def draw_node(table: Table, summaries: Sequence[Summary]) -> Figure:
    """Draw the runs; a panel without any says why.

    Args:
        table: The table.
        summaries: What is known of its cells.
    """
    figure = Figure(figsize=(11, 6.4), facecolor="white", layout="constrained")
    found = {(one.cell.row, one.cell.column): one for one in summaries if one.values}
    lines: dict[str, tuple[object, str]] = {}
    for number, panel in enumerate(PANELS):
        axes = figure.add_subplot(2, 3, number + 1)
        axes.set_title(panel.label, size=11)
        for row, (handle, label) in _draw_panel(axes, panel, found).items():
            lines.setdefault(row, (handle, label))
    if lines:
        shown = [lines[row] for row in METHODS if row in lines]
        figure.legend(*zip(*shown, strict=True), loc="outside upper center", ncols=4, frameon=False)
    caption = "Mean over seeds and a band of one standard deviation; epoch selected on validation."
    figure.supxlabel(caption, size=8.5, color=GREY)
    return figure


def _draw_panel(
    axes: Axes, panel: Panel, found: dict[tuple[str, str], Summary]
) -> dict[str, tuple[object, str]]:
    """The lines of one dataset; their handles for the legend."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(range(len(panel.tests)), panel.tests, size=8.5)
    axes.set_xlim(-0.5, len(panel.tests) - 0.5)
    axes.set_ylabel(f"{panel.metric}, %", size=9)
    handles: dict[str, tuple[object, str]] = {}
    without = set(panel.tests)
    for place, row in enumerate(METHODS):
        done = [
            (x, one)
            for x, test in enumerate(panel.tests)
            if (one := found.get((row, f"{panel.label} {test}")))
        ]
        if not done:
            continue
        without -= {panel.tests[x] for x, _ in done}
        # A single test graph makes no line; there the methods stand side by side.
        alone = len(done) == 1
        x = np.array([value for value, _ in done]) + (0.12 * (place - 1.5) if alone else 0.0)
        mean = np.array([one.mean for _, one in done])
        std = np.array([one.std for _, one in done])
        look: dict[str, Any] = {"color": COLOURS[row], "marker": MARKERS[row], "ms": 4.5, "lw": 1.5}
        if alone:
            axes.errorbar(x, mean, std, capsize=3, **look)
        else:
            axes.fill_between(x, mean - std, mean + std, color=COLOURS[row], alpha=0.15, lw=0)
            axes.plot(x, mean, **look)
        handles[row] = (Line2D([], [], **look), row)
    missing = f" (not run: {', '.join(sorted(without))})" if handles and without else ""
    axes.set_xlabel(panel.axis + missing, size=9)
    if handles:
        axes.grid(axis="y", color="#e6e6e6", lw=0.6)
    else:
        why = "not run" if panel.at_hand else "not run: files not at hand"
        axes.set_yticks([])
        axes.text(0.5, 0.5, why, color=GREY, ha="center", transform=axes.transAxes)
    return handles
