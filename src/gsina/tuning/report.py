"""The files of a search: the best recipe, a table of all trials, three pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from gsina.explain.pictures.save import save_figure
from gsina.files import save_text
from gsina.runs.toml import to_toml
from gsina.tuning.study import SearchResult, TrialResult

BEST, TRIALS = "best.toml", "trials.csv"
HISTORY, IMPORTANCES, SLICES = "history.png", "importances.png", "slices.png"
LINE, GREY, BAD = "#0072B2", "#777777", "#bbbbbb"
DOTS = 150
#: Finished trials needed to estimate importances.
ENOUGH = 6


def write_search(found: SearchResult, study: Any, out: Path) -> list[Path]:
    """Write the table, the best recipe and the pictures, as far as trials allow; returns the files.

    Args:
        found: The result of the search.
        study: The study behind it.
        out: The folder.
    """
    written = [out / TRIALS]
    save_text(out / TRIALS, _table(found))
    if found.best is None:
        return written
    save_text(out / BEST, best_toml(found))
    pictures = {HISTORY: draw_history(found), SLICES: draw_slices(found)}
    if (shares := importances(found, study)) is not None:
        pictures[IMPORTANCES] = draw_importances(shares)
    for name, figure in pictures.items():
        save_figure(figure, out / name, DOTS)
    return [*written, out / BEST, *(out / name for name in pictures)]


def best_toml(found: SearchResult) -> str:
    """The best recipe, with a comment on where it comes from."""
    best, search = found.best, found.search
    assert best is not None
    header = (
        f"# Trial {best.number}, the best of {len(found.trials)}: validation {search.task.metric} "
        f"{best.value:.4f} with seed {search.seed}; no test data were used.\n"
        f"# gsina train --recipe {BEST} --seed {search.seed}\n\n"
    )
    return header + to_toml(found.recipe.model_dump())


def importances(found: SearchResult, study: Any) -> dict[str, float] | None:
    """Importance of each setting for the metric; ``None`` with too few trials."""
    values = [one.value for one in found.trials if one.value is not None]
    if len(values) < ENOUGH or len(set(values)) < 2:
        return None
    from optuna.importance import get_param_importances

    return {name: float(share) for name, share in get_param_importances(study).items()}


def draw_history(found: SearchResult) -> Figure:
    """Every trial in the order of their start, and the best so far."""
    figure, axes = _canvas("trial", _metric(found))
    finished = sorted(_finished(found.trials), key=lambda one: one.number)
    cut = [one for one in found.trials if one.value is None and one.last is not None]
    numbers, values = [one.number for one in finished], _floats([one.value for one in finished])
    axes.plot(numbers, values, "o", color=LINE, ms=5, label="finished")
    if cut:
        last = _floats([one.last for one in cut])
        axes.plot([one.number for one in cut], last, "x", color=BAD, ms=5, label="stopped early")
    better = np.maximum if found.search.task.larger_is_better else np.minimum
    best = better.accumulate(values)
    end = max(one.number for one in found.trials)
    axes.step(
        [*numbers, end],
        [*best, best[-1]],
        where="post",
        color=GREY,
        lw=1.2,
        label="best so far",
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(framealpha=0.9, edgecolor="none", fontsize=8.5)
    return figure


def draw_slices(found: SearchResult) -> Figure:
    """The metric against each setting; darker is later."""
    knobs = found.search.knobs
    figure = Figure(figsize=(2.8 * len(knobs) + 0.6, 3.2), facecolor="white", layout="constrained")
    finished = _finished(found.trials)
    for place, knob in enumerate(knobs):
        axes = figure.add_subplot(1, len(knobs), place + 1)
        _quiet(axes)
        axes.scatter(
            [one.settings[knob.name] for one in finished],
            _floats([one.value for one in finished]),
            c=[one.number for one in finished],
            cmap="Blues",
            vmin=-0.5 * max(1, len(found.trials)),
            edgecolors=GREY,
            linewidths=0.4,
            s=28,
        )
        axes.set_xlabel(knob.name.replace("_", " "))
        room = 0.05 * (knob.high - knob.low)
        axes.set_xlim(knob.low - room, knob.high + room)
        if knob.whole:
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if knob.log:
            axes.set_xscale("log")
            axes.set_xlim(knob.low / 1.2, knob.high * 1.2)
        if place == 0:
            axes.set_ylabel(_metric(found))
    return figure


def draw_importances(shares: dict[str, float]) -> Figure:
    """Bars, the most important on top."""
    figure, axes = _canvas("share in how trials differ", "")
    names = sorted(shares, key=lambda name: shares[name])
    axes.barh([name.replace("_", " ") for name in names], [shares[n] for n in names], color=LINE)
    axes.set_xlim(0, 1)
    return figure


def _canvas(x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 3.6), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    _quiet(axes)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes


def _quiet(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", lw=0.6)
    axes.set_axisbelow(True)


def _metric(found: SearchResult) -> str:
    return f"validation {found.search.task.metric.replace('_', ' ')}"


def _finished(trials: Sequence[TrialResult]) -> list[TrialResult]:
    return [one for one in trials if one.value is not None]


def _floats(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def _table(found: SearchResult) -> str:
    names = [knob.name for knob in found.search.knobs]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    metric = f"val_{found.search.task.metric}"
    table.writerow(["trial", "state", metric, *names, "epochs", "seconds"])
    for one in found.trials:
        settings = [one.settings.get(name, "") for name in names]
        value = "" if one.value is None else one.value
        table.writerow([one.number, one.state, value, *settings, one.epochs, f"{one.seconds:.1f}"])
    return text.getvalue()
