"""A table of the paper as a picture: methods down, data across, the paper's number under ours."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gsina.paper.grid.estimate import about, kind_name
from gsina.paper.report.summaries import Summary, digits_of, ours, pair
from gsina.paper.tables.table import Table

INK, GREY, FAINT, LINE, BAND = "#222222", "#6b6b6b", "#a0a0a0", "#c8c8c8", "#f6f6f4"
#: Inches: of a column of numbers, of a line of a row, of the strips above and below, of a margin.
COLUMN, ROW, HEAD, FOOT, MARGIN = 1.68, 0.56, 0.95, 0.19, 0.2
CENTRE: dict[str, Any] = {"ha": "center", "va": "center"}
#: Inches of a letter of a row's name.
LETTER = 0.088


def draw_cells(table: Table, summaries: Sequence[Summary], times: dict[str, float]) -> Figure:
    """Draw a table.

    Args:
        table: The table.
        summaries: What is known of its cells, in its order.
        times: Measured seconds of an epoch by kind of run, for what has not been run.
    """
    rows = list(dict.fromkeys(cell.row for cell in table.cells))
    columns = list(dict.fromkeys(cell.column for cell in table.cells))
    found = {(one.cell.row, one.cell.column): one for one in summaries}
    heads = [*columns, *(one.label for one in table.extra)]
    names = 0.3 + LETTER * max(map(len, rows))
    wide = max(2 * MARGIN + names + COLUMN * len(heads), 6.0)
    notes = _notes(table, summaries, wide)
    tall = HEAD + ROW * len(rows) + FOOT * (len(notes) + 1.2)
    figure = Figure(figsize=(wide, tall), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, wide)
    axes.set_ylim(tall, 0)  # inches from the top left corner
    axes.set_axis_off()

    left = MARGIN + names
    axes.text(MARGIN, 0.3, table.title, size=13, weight="bold", color=INK, va="center")
    for number, head in enumerate(heads):
        middle = left + COLUMN * (number + 0.5)
        axes.text(middle, HEAD - 0.2, textwrap.fill(head, 20), size=9.5, color=INK, **CENTRE)
    for number, row in enumerate(rows):
        top = HEAD + ROW * number
        if number % 2 == 0:
            axes.axhspan(top, top + ROW, MARGIN / wide, 1 - MARGIN / wide, color=BAND, lw=0)
        axes.text(MARGIN + 0.08, top + ROW / 2, row, size=10, color=INK, va="center")
        for place, column in enumerate(columns):
            summary = found.get((row, column))
            if summary is not None:
                _draw_cell(axes, left + COLUMN * (place + 0.5), top, table, summary, times)
        first = found.get((row, columns[0]))
        for place, extra in enumerate(table.extra, start=len(columns)):
            value = None if first is None else first.further(extra)
            text = "" if value is None else pair(*value, 2)
            middle = left + COLUMN * (place + 0.5)
            axes.text(middle, top + ROW * _upper(table), text, size=9.5, color=INK, **CENTRE)
    for height in (HEAD, HEAD + ROW * len(rows)):
        axes.plot([MARGIN, wide - MARGIN], [height] * 2, color=LINE, lw=1)
    for number, note in enumerate(notes):
        height = HEAD + ROW * len(rows) + FOOT * (number + 1)
        axes.text(MARGIN, height, note, size=8, color=GREY, va="center")
    return figure


def _draw_cell(
    axes: Axes, middle: float, top: float, table: Table, summary: Summary, times: dict[str, float]
) -> None:
    """Ours above, with the number of seeds; the paper's below."""
    digits, paper = digits_of(table), summary.cell.paper
    text = ours(summary, digits)
    if text:
        text += f"  ({len(summary.values)})"
    above, colour = text or "not run", INK if text else FAINT
    seconds = times.get(kind_name(summary.cell.recipe))
    if not text and seconds is not None:
        above += f" ({about(seconds)} s per epoch)"
    size = 9.5 if text else 8.5
    axes.text(middle, top + ROW * _upper(table), above, size=size, color=colour, **CENTRE)
    if paper is not None:
        below = f"paper {pair(paper.mean, paper.std, digits)}"
        axes.text(middle, top + ROW * 0.72, below, size=8, color=GREY, **CENTRE)


def _upper(table: Table) -> float:
    """Where in a row our number stands: in its middle if nothing stands below."""
    return 0.34 if any(cell.paper for cell in table.cells) else 0.5


def _notes(table: Table, summaries: Sequence[Summary], wide: float) -> list[str]:
    """Lines under the table."""
    done = sum(bool(one.values) for one in summaries)
    printed = any(one.cell.paper for one in summaries)
    texts = [
        "Mean ± standard deviation over seeds, the number of seeds in brackets"
        + ("; below, in grey, what the paper prints. " if printed else ". ")
        + f"{done} of {len(summaries)} cells have runs.",
        *table.notes,
    ]
    letters = int((wide - 2 * MARGIN) / 0.062)
    return [line for text in texts for line in textwrap.wrap(text, letters)]
