"""The runtime table as a picture."""

from __future__ import annotations

import statistics
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gsina.paper.report.runtime import TITLE, by_cell, paper_ratio
from gsina.paper.studies.runtime import DATA, PLAIN, ROWS

COLOURS = {
    "GSAT": "#999999",
    "GSINA, scope batch": "#56B4E9",
    "GSINA, scope graph": "#0072B2",
    "CIGAv2": "#E69F00",
    "GSINA, padded loop": "#D55E00",
}
INK, GREY = "#222222", "#6b6b6b"


def draw_runtime(content: dict[str, Any]) -> Figure:
    """One panel per dataset: a bar per method, its spread, and the paper's ratio."""
    found, data = by_cell(content)
    rows = [row for row in ROWS if row != PLAIN]
    across = min(3, len(data))
    down = -(-len(data) // across)
    figure = Figure(figsize=(1.4 + 3.2 * across, 0.9 + 2.1 * down), layout="constrained")
    panels = figure.subplots(down, across, sharey=True, squeeze=False).reshape(-1)
    for axes, name in zip(panels, data, strict=False):
        _draw_panel(axes, name, rows, found)
    for axes in panels[len(data) :]:
        axes.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False, fontsize=8.5, ncols=2)
    figure.suptitle(TITLE, size=12, color=INK)
    return figure


def _draw_panel(
    axes: Axes, dataset: str, rows: list[str], found: dict[tuple[str, str], dict[str, Any]]
) -> None:
    for place, row in enumerate(rows):
        if (row, dataset) not in found:
            continue
        ratios = found[row, dataset]["ratios"]
        middle = statistics.median(ratios)
        spread = [[middle - min(ratios)], [max(ratios) - middle]]
        axes.barh(place, middle, 0.62, xerr=spread, color=COLOURS[row], ecolor=INK)
        axes.text(0.12, place, f"{middle:.2f}", size=8, va="center", color="white", weight="bold")
        label = "_" if place else "the paper's ratio, on its machine"
        paper = paper_ratio(row, dataset)
        axes.plot(paper, place, "D", ms=5, mfc="white", mec=INK, label=label)
    plain = statistics.median(found[PLAIN, dataset]["seconds"])
    line = axes.axvline(1, color=GREY, lw=1, ls=":")
    line.set_label(PLAIN)
    axes.set_title(f"{DATA[dataset][1]}: {PLAIN} {plain:.2f} s", size=9.5, color=INK)
    axes.set_yticks(range(len(rows)), rows, size=8.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
