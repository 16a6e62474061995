"""The figure and the tables of ``docs/convergence.md``, from :mod:`gsina.paper.studies.sweeps`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gsina.display import markdown_table
from gsina.errors import InputError
from gsina.explain.pictures.save import save_figure
from gsina.files import save_json, save_text
from gsina.paper.studies.sweeps import (
    EDGES,
    FLOOR,
    RATIO,
    Curve,
    Floats,
    NoiseRow,
    Row,
    measure_all,
    noise_rows,
    table_rows,
)
from gsina.runs.provenance import commit, hardware
from gsina.training.versions import versions

#: Colours that colour-blind readers can tell apart (Okabe and Ito), and a mark for each.
LOOKS = (("#D55E00", "o"), ("#E69F00", "s"), ("#009E73", "^"), ("#0072B2", "D"))
GREY = "#777777"
#: Sweeps in the figure.
SHOWN = 60
#: The columns of the two tables, in the order of the fields of a row, and their number formats.
SWEEP_COLUMNS = {
    "tau": "g",
    "rate 1 - g": ".4f",
    "rate measured": ".4f",
    "mean off after 10 sweeps": ".1e",
    "worst weight off after 10": ".1e",
    "sweeps to 1e-6": "d",
    "Newton steps to 1e-6": "d",
}
NOISE_COLUMNS = {
    "tau": "g",
    "r": "g",
    "mean off, median": ".1e",
    "worst weight off, median of the graphs": ".1e",
    "worst weight off, all graphs": ".1e",
}
#: A page with nothing but the places of the tables.
BLANK = "".join(f"<!-- begin {name} -->\n<!-- end {name} -->\n\n" for name in ("numbers", "noise"))


def write_convergence(folder: Path, numbers: Path) -> list[Path]:
    """Write the figure, the numbers, and the numbers into the page, where that is in the folder.

    Args:
        folder: Folder of the documentation: ``img/convergence.png`` and ``convergence.md`` in it.
        numbers: The result file.

    Returns:
        The files written.
    """
    picture, page = folder / "img" / "convergence.png", folder / "convergence.md"
    save_figure(draw(measure_all()), picture)
    rows, noise = table_rows(), noise_rows()
    content = {
        "sweeps": [row._asdict() for row in rows],
        "sweeps_with_noise": [row._asdict() for row in noise],
        "versions": versions(),
        "hardware": hardware(),
        "commit": commit(),
    }
    save_json(numbers, content)
    text = page.read_text(encoding="utf-8") if page.exists() else BLANK
    text = _fill(text, "numbers", table_text(rows))
    text = _fill(text, "noise", noise_text(noise))
    save_text(page, text)
    return [picture, page, numbers]


def table_text(rows: list[Row]) -> str:
    """The rows of :func:`table_rows` as a Markdown table."""
    return _markdown(SWEEP_COLUMNS, rows)


def noise_text(rows: list[NoiseRow]) -> str:
    """The rows of :func:`noise_rows` as a Markdown table."""
    return _markdown(NOISE_COLUMNS, rows)


def _markdown(formats: dict[str, str], rows: Iterable[tuple[Any, ...]]) -> str:
    """A table of rows whose values are in the order of the columns."""
    cells = (tuple(map(format, row, formats.values())) for row in rows)
    return markdown_table(tuple(formats), cells, numbers_from=0).rstrip()


def draw(curves: list[Curve]) -> Figure:
    """Three panels: the dual and the mean under sweeps, the dual under Newton's method."""
    figure = Figure(figsize=(11, 4.3), dpi=200, layout="constrained")
    dual, mean, newton = figure.subplots(1, 3, sharey=True, width_ratios=(1.3, 1.3, 1))
    _prepare(dual, "Sweeps: error of the dual", "sweep")
    _prepare(mean, "Sweeps: error of the mean", "sweep")
    _prepare(newton, "Newton: error of the dual", "step")
    for curve, (colour, mark) in zip(curves, LOOKS, strict=False):
        _draw_sweeps(dual, curve.dual_errors, curve, colour, mark)
        _draw_sweeps(mean, curve.mean_errors, curve, colour, mark)
        steps = 1 + int(np.argmax(curve.newton_errors < FLOOR))
        errors = curve.newton_errors[:steps].clip(FLOOR)
        label = f"τ = {curve.temperature:g}"
        newton.plot(errors, color=colour, lw=1.4, marker=mark, ms=5, clip_on=False, label=label)
    for axes in (dual, mean):
        axes.set_xlim(0, SHOWN)
        axes.axvline(10, color=GREY, lw=0.8)
        axes.text(10.6, 4, "the paper stops here", color=GREY, fontsize=8.5)
    dual.set_ylabel("error")
    newton.set_xlim(-0.2, 5.6)
    newton.legend(frameon=False, fontsize=9, loc="upper right")
    newton.text(0, FLOOR * 2, "rounding", color=GREY, fontsize=8.5)
    figure.supxlabel(
        "Marks: measured. Dashed: the first error times the rate 1 - g, in brackets, per sweep. "
        f"One graph of {EDGES} edges, r = {RATIO:g}.",
        fontsize=9,
        color=GREY,
    )
    return figure


def _draw_sweeps(axes: Axes, errors: Floats, curve: Curve, colour: str, mark: str) -> None:
    sweeps = np.arange(1, len(errors) + 1)
    shown = (errors > FLOOR) & (sweeps <= SHOWN)
    axes.plot(sweeps[shown], errors[shown], color=colour, lw=0, marker=mark, ms=3.2, markevery=2)
    predicted = errors[0] * curve.rate ** (sweeps - 1.0)
    drawn = (predicted > FLOOR) & (sweeps <= SHOWN)
    axes.plot(sweeps[drawn], predicted[drawn], color=colour, lw=1.1, ls=(0, (4, 2)))
    # Steep curves are labelled low, where they are far apart.
    level = 3e-13 if curve.rate < 0.6 else float(errors[SHOWN * 2 // 3])
    place = 1 + int(np.argmax(errors <= level))
    axes.annotate(
        f"τ = {curve.temperature:g} ({curve.rate:.2f})",
        (place, level),
        (3, 1 if curve.rate < 0.9 else 8),
        textcoords="offset points",
        color=colour,
        fontsize=9,
        va="bottom",
    )


def _prepare(axes: Axes, title: str, what: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(what)
    axes.set_yscale("log")
    axes.set_ylim(FLOOR, 20)
    axes.grid(color="#e6e6e6", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _fill(page: str, name: str, text: str) -> str:
    """Replace what stands between the two marks of this name."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise InputError(f"the page has no place for its numbers, {begin} and {end}.")
    return f"{before}{begin}\n{text}\n{end}{after}"
