"""Accuracy against a swept setting: mean, a band of one standard deviation, every seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from gsina.methods import make_config
from gsina.paper.report.summaries import Summary
from gsina.paper.tables.table import Table

LINE, INK, GREY = "#0072B2", "#222222", "#777777"


def draw_sweep(
    table: Table, summaries: Sequence[Summary], option: str, symbol: str, log: bool
) -> Figure:
    """Draw the runs of a sweep.

    Args:
        table: The table.
        summaries: What is known of its cells.
        option: The swept option of the method.
        symbol: Its symbol, on the axis.
        log: Whether the axis is logarithmic.
    """
    place = [_setting(one, option) for one in summaries]
    done = [(x, one) for x, one in zip(place, summaries, strict=True) if one.values]
    figure = Figure(figsize=(6.4, 4.2), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(place))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    gap = 1.15 if log else 0.04
    low, high = (
        (min(place) / gap, max(place) * gap) if log else (min(place) - gap, max(place) + gap)
    )
    axes.set_xlim(low, high)
    axes.set_xlabel(symbol, size=12)
    axes.set_ylabel("OOD test accuracy, %")
    axes.grid(axis="y", color="#e6e6e6", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{table.title}: GSINA with GIN on {summaries[0].cell.column}", size=11)
    if done:
        x = np.array([value for value, _ in done])
        mean = np.array([one.mean for _, one in done])
        std = np.array([one.std for _, one in done])
        axes.fill_between(x, mean - std, mean + std, color=LINE, alpha=0.18, lw=0, label="± std")
        axes.plot(x, mean, color=LINE, lw=1.8, marker="o", ms=5, label="mean over seeds")
        dots = [(value, score) for value, one in done for score in one.values.values()]
        axes.plot(*zip(*dots, strict=True), "o", color=GREY, ms=3, alpha=0.7, label="every seed")
        axes.legend(framealpha=0.9, edgecolor="none", fontsize=8.5, loc="best")
    else:
        axes.text(0.5, 0.5, "not run", color=GREY, ha="center", transform=axes.transAxes, size=12)
    figure.supxlabel(_caption(place, summaries, symbol), size=8, color=GREY)
    return figure


def _setting(summary: Summary, option: str) -> float:
    method = summary.cell.recipe.method
    return float(getattr(make_config(method.name, method.options), option))


def _caption(place: Sequence[float], summaries: Sequence[Summary], symbol: str) -> str:
    """Number of seeds, and what is missing."""
    counts = sorted({len(one.values) for one in summaries if one.values})
    words = (
        [" to ".join(map(str, dict.fromkeys([counts[0], counts[-1]]))) + " seeds"] if counts else []
    )
    missing = [f"{x:g}" for x, one in zip(place, summaries, strict=True) if not one.values]
    if missing and counts:
        words.append(f"not run: {symbol} = {', '.join(missing)}")
    words.append("the paper shows this as a figure without numbers")
    return "; ".join(words).capitalize() + "."
