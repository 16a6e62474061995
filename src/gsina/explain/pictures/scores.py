"""Pictures of how good a model is: its training, and its answers beside the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from torch import Tensor

from gsina.explain.pictures.inline import INK, to_inline_svg
from gsina.metrics import METRICS, metric_label
from gsina.models.answers import class_names, target_names
from gsina.models.model import Model

Floats = NDArray[np.float64]

#: Inches of a picture.
SIZE = 3.6, 2.9
GREY, COLOURS = "#8a8a8a", ("#3b7dd8", "#e0803a", "#2f9e77", "#b565c9", "#c94f5f", "#a08a2c")
#: Targets with a curve or a picture of their own, classes of a matrix, and points of a cloud.
MOST_CURVES, MOST_TARGETS, MOST_CLASSES, MOST_POINTS = len(COLOURS), 3, 12, 1500
#: Points of a curve, letters of a name.
CURVE_POINTS, LETTERS = 250, 18
#: Rows for each of at most ten groups of a calibration plot.
GROUP_ROWS, GROUPS = 10, 10


class ScorePicture(NamedTuple):
    """An inline picture, its caption, and what it is called."""

    svg: str
    title: str
    caption: str


class Curve(NamedTuple):
    """Answers of one target that have a label: name, probability of yes ``[G]``, truth ``[G]``."""

    name: str
    share: Floats
    truth: Floats


def score_pictures(
    model: Model, logits: Tensor, y: Tensor, records: Sequence[Mapping[str, Any]] = ()
) -> list[ScorePicture]:
    """Pictures of a model: of its training, and of its answers to labelled rows.

    Of yes-or-no answers the ROC and precision-recall curves and the calibration, of several classes
    a confusion matrix and the calibration, of numbers the predicted ones against the true ones and
    the residuals.

    Args:
        model: The model.
        logits: What it says of rows that it was not trained on ``[G, outputs]``.
        y: Their labels.
        records: The epochs of its training.
    """
    found = [_learning(model, records)] if records else []
    kind = model.task.kind
    if kind == "regression":
        return [*found, *_numbers(model, logits, y)]
    if kind == "multiclass":
        known = y >= 0
        if bool(known.any()):
            logits, y = logits[known], y[known]
            share = model.probabilities(logits).double()
            guess = model.classes(logits)
            right = (share.argmax(1) == y).double().numpy()
            found += [
                _confusion(class_names(model), guess, y),
                _calibration([Curve("all classes", share.amax(1).numpy(), right)], several=True),
            ]
        return found
    curves = list(_curves(model, logits, y))
    if curves:
        said = _said(len(curves), model.task.outputs)
        yes = "yes" if model.task.outputs > 1 else class_names(model)[-1]
        found += [_roc(curves, yes, said), _precision(curves, yes, said)]
        found.append(_calibration(curves, said=said))
    return found


def _curves(model: Model, logits: Tensor, y: Tensor) -> Iterator[Curve]:
    """The first few targets with labels of both classes."""
    shares, names, count = model.probabilities(logits).double(), target_names(model), 0
    for column, name in enumerate(names):
        known = ~y[:, column].isnan()
        truth = y[known, column].double().numpy()
        if len(np.unique(truth)) == 2 and count < MOST_CURVES:
            count += 1
            yield Curve(name, shares[known, column].numpy(), truth)


def _learning(model: Model, records: Sequence[Mapping[str, Any]]) -> ScorePicture:
    """Loss and main metric by epoch; of an ensemble one pair of lines per member."""
    metric, members = model.task.metric, _by_member(records)
    figure, axes = _figure("epoch", "training loss")
    axes.yaxis.label.set_color(GREY)
    scores = axes.twinx()
    _plain(scores)
    scores.spines["right"].set_visible(True)
    scores.set_ylabel(f"validation {metric_label(metric)}", color=COLOURS[0])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    thin = 1.0 if len(members) == 1 else 0.55
    for rows in members:
        epochs = np.arange(1, len(rows) + 1)
        losses = [sum(one["train"].values()) for one in rows]
        axes.plot(epochs, losses, color=GREY, lw=1.5 * thin)
        values = [one["val"].get(metric, math.nan) for one in rows]
        mark = "." if len(records) < 30 else ""
        scores.plot(epochs, values, color=COLOURS[0], lw=1.8 * thin, marker=mark)
    caption = "Training loss (grey) and the metric that selects the epoch (blue)"
    if len(members) > 1:
        chosen = [one.get("best_epoch", -1) + 1 for one in model.training.get("members", [])]
        caption += f" of each of the {len(members)} members"
        if chosen and min(chosen) > 0:
            caption += f"; the weights of epochs {', '.join(map(str, chosen))} are used"
        return _done(figure, "Training", f"{caption}.")
    best = model.training.get("best_epoch", -1)
    if 0 <= best < len(records):
        scores.axvline(best + 1, color=INK, lw=1, ls=":")
        caption += f"; the dotted line is epoch {best + 1}, whose weights are used"
    return _done(figure, "Training", f"{caption}.")


def _by_member(records: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The epochs of every member of an ensemble; of one model all of them."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for one in records:
        found.setdefault(one.get("member", 0), []).append(one)
    return list(found.values())


def _roc(curves: Sequence[Curve], yes: str, said: str) -> ScorePicture:
    from sklearn.metrics import roc_auc_score, roc_curve

    figure, axes = _figure(
        f"share of others taken for {_short(yes)}", f"share of {_short(yes)} found"
    )
    axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":")
    for (name, share, truth), colour in zip(curves, COLOURS, strict=False):
        false, true, _ = roc_curve(truth, share)
        label = _label(name, roc_auc_score(truth, share), curves)
        axes.plot(*_thin(false, true), color=colour, lw=1.8, label=label)
    _unit(axes)
    _legend(axes, "lower right")
    return _done(figure, "ROC", f"ROC curve with its area{said}; the dotted line is chance.")


def _precision(curves: Sequence[Curve], yes: str, said: str) -> ScorePicture:
    from sklearn.metrics import average_precision_score, precision_recall_curve

    figure, axes = _figure(f"recall: share of {_short(yes)} found", f"precision for {_short(yes)}")
    for (name, share, truth), colour in zip(curves, COLOURS, strict=False):
        precision, recall, _ = precision_recall_curve(truth, share)
        label = _label(name, average_precision_score(truth, share), curves)
        axes.plot(*_thin(recall, precision), color=colour, lw=1.8, label=label)
        axes.axhline(truth.mean(), color=colour if len(curves) > 1 else GREY, lw=1, ls=":")
    _unit(axes)
    _legend(axes, "best")
    caption = f"Precision and recall with the average precision{said}; dotted lines are chance."
    return _done(figure, "Precision and recall", caption)


def _calibration(curves: Sequence[Curve], *, several: bool = False, said: str = "") -> ScorePicture:
    """Observed shares beside predicted ones, in groups of equally many rows."""
    what = "confidence" if several else "predicted probability of yes"
    figure, axes = _figure(what, "share of right answers" if several else "share of yes")
    axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":")
    for (name, share, truth), colour in zip(curves, COLOURS, strict=False):
        groups = np.array_split(share.argsort(), min(GROUPS, max(1, len(share) // GROUP_ROWS)))
        middle = [share[rows].mean() for rows in groups]
        found = np.array([truth[rows].mean() for rows in groups])
        bars = np.sqrt(found * (1 - found) / [len(rows) for rows in groups])
        label = _short(name) if len(curves) > 1 else None
        axes.errorbar(middle, found, bars, color=colour, marker="o", ms=4, lw=1.5, label=label)
    _unit(axes)
    _legend(axes, "upper left")
    caption = (
        f"Calibration{said}: rows in groups of equal size by their {what}; bars are one standard "
        "error. On the dotted line, probabilities are as they say."
    )
    return _done(figure, "Calibration", caption)


def _confusion(names: Sequence[str], guess: Tensor, y: Tensor) -> ScorePicture:
    counts = torch.bincount(y * len(names) + guess, minlength=len(names) ** 2)
    table = counts.view(len(names), len(names)).double().numpy()
    shown = np.sort(np.argsort(-table.sum(1), kind="stable")[:MOST_CLASSES])
    whole = np.maximum(table.sum(1, keepdims=True), 1)[shown]
    table = table[np.ix_(shown, shown)]
    figure, axes = _figure("predicted", "true")
    axes.grid(False)
    for (row, column), count in np.ndenumerate(table):
        share = count / whole[row, 0]
        corner = column - 0.48, row - 0.48
        colour = COLOURS[0] if row == column else COLOURS[1]
        alpha = 0.04 + 0.66 * share
        axes.add_patch(Rectangle(corner, 0.96, 0.96, facecolor=colour, alpha=alpha, linewidth=0))
        size = 9 if len(shown) <= 6 else 7
        axes.text(column, row, f"{count:.0f}", ha="center", va="center", color=INK, fontsize=size)
    places = range(len(shown))
    texts = [_short(names[one]) for one in shown.tolist()]
    axes.set_xticks(places, texts)
    if len(shown) > 4:
        for label in axes.get_xticklabels():
            label.set(rotation=45, ha="right")
    axes.set_yticks(places, texts)
    axes.set(xlim=(-0.5, len(shown) - 0.5), ylim=(len(shown) - 0.5, -0.5))
    axes.tick_params(length=0)
    part = "" if len(shown) == len(names) else f" of the {len(shown)} largest classes"
    caption = (
        f"Confusion matrix{part}: rows by class and answer, the darker the larger their share."
    )
    return _done(figure, "Confusion", caption)


def _numbers(model: Model, logits: Tensor, y: Tensor) -> Iterator[ScorePicture]:
    """Predicted against true numbers, and residuals, of the first few targets."""
    metric = METRICS["rmse"]
    for column, name in list(enumerate(target_names(model)))[:MOST_TARGETS]:
        known = ~y[:, column].isnan()
        if not bool(known.any()):
            continue
        guess, truth = (values[known, column].double() for values in (logits, y))
        error = metric.text(metric.function(guess[:, None], truth[:, None], model.task))
        rest = (guess - truth).numpy()
        some = torch.linspace(0, len(truth) - 1, min(len(truth), MOST_POINTS)).round().long()
        figure, axes = _figure(f"true {_short(name)}", f"predicted {_short(name)}")
        ends = [float(torch.minimum(guess, truth).min()), float(torch.maximum(guess, truth).max())]
        axes.plot(ends, ends, color=GREY, lw=1, ls=":")
        axes.plot(truth[some], guess[some], ".", color=COLOURS[0], alpha=0.6, ms=7, mew=0)
        part = f"; {len(some):,} of {len(truth):,} rows" if len(some) < len(truth) else ""
        caption = f"Predicted against true {name}, RMSE {error}{part}; the dotted line is no error."
        yield _done(figure, f"Predicted {column + 1}", caption)
        figure, axes = _figure(f"predicted - true {_short(name)}", "rows")
        bins = min(40, max(5, int(len(rest) ** 0.5)))
        axes.hist(rest, bins=bins, color=COLOURS[0], alpha=0.75, rwidth=0.94)
        axes.axvline(0, color=GREY, lw=1, ls=":")
        axes.axvline(rest.mean(), color=INK, lw=1)
        caption = f"Residuals of {name}; the line is their mean, {rest.mean():.3g}."
        yield _done(figure, f"Residuals {column + 1}", caption)


def _figure(x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    _plain(axes)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.grid(True, color=GREY, alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _plain(axes: Axes) -> None:
    """Two sides instead of four, in the colour of the text."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
    axes.tick_params(colors=INK, labelsize=9)


def _unit(axes: Axes) -> None:
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


def _legend(axes: Axes, where: Literal["best", "lower right", "upper left"]) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=where, fontsize=8.5, frameon=False, labelcolor=INK)


def _done(figure: Figure, title: str, caption: str) -> ScorePicture:
    return ScorePicture(to_inline_svg(figure, "".join(title.split())), title, caption)


def _thin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """A curve with at most so many points as can be seen."""
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), CURVE_POINTS)).round().astype(int))
    return x[some], y[some]


def _label(name: str, area: float, curves: Sequence[Curve]) -> str:
    return f"{_short(name) if len(curves) > 1 else 'area'} {area:.3f}"


def _short(name: str) -> str:
    """A name that fits, without signs that matplotlib would read as a formula or as hidden."""
    text = " ".join(str(name).split())
    text = text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def _said(drawn: int, targets: int) -> str:
    return f" of {drawn} of the {targets} targets" if drawn < targets else ""
