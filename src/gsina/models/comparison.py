"""Compare a model with its baselines on validation rows, and say whether it is more than noise.

The difference of the main metric is resampled by the paired bootstrap: rows are drawn with
replacement, the same for both, and the interval holds the middle 95 % of the differences. It is
more than noise if 0 lies outside; of fewer than six labels of a class nothing is said, as resamples
of so few are too much alike. This is the noise of the rows; another seed of the training adds
to it. The epochs of networks were selected on the same rows, those of a forest were not, so the
comparison is slightly in favour of networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gsina.graphs.dataset import Dataset
from gsina.graphs.labels import FEWEST_TO_JUDGE
from gsina.graphs.task import Task
from gsina.metrics import METRICS, Metric, metric_text
from gsina.models.imbalance import rarest_count
from gsina.models.model import Model
from gsina.training.evaluate import Predictions, score

#: What people read for the names of baselines.
LABELS = {
    "erm": "ERM",
    "forest": "random forest",
    "trees": "boosted trees alone",
    "counts": "forest on counts alone",
    "network": "network alone",
}
#: Resamples; fewer where there are so many labels that more would take minutes.
RESAMPLES, FEWEST, MOST_LABELS = 500, 100, 5_000_000
#: The share of differences outside the interval.
OUTSIDE = 0.05


class Contender(NamedTuple):
    """What one of the compared says of every split.

    Attributes:
        name: Name of the method or baseline.
        logits: By split, ``[G, outputs]``; numbers in the units of the targets.
        cut: The logits above which yes-or-no outputs say yes; ``()``: 0.
    """

    name: str
    logits: dict[str, Tensor]
    cut: tuple[float, ...] = ()

    @classmethod
    def of(cls, model: Model, dataset: Dataset, splits: Sequence[str] | None = None) -> Contender:
        """A model on some splits, by default on all."""
        chosen = dataset.splits if splits is None else splits
        logits = {split: model.predict(dataset.splits[split]).logits for split in chosen}
        name = _title(model.architecture.method, model.architecture.trees is not None)
        return cls(name, logits, model.calibration.cut)

    def decided(self, split: str) -> Tensor:
        """Logits whose sign is the decision."""
        logits = self.logits[split]
        return logits - torch.tensor(self.cut, dtype=logits.dtype) if self.cut else logits


def scores(contender: Contender, model: Model, dataset: Dataset) -> dict[str, dict[str, float]]:
    """All metrics on every labelled split, as those of the model."""
    found = {}
    for split, logits in contender.logits.items():
        graphs, decided = dataset.splits[split], contender.decided(split)
        if graphs.labels(model.task.level) is None:
            continue
        if _scaled(model) and model.scale is not None:
            logits = model.scale.remove(logits)
            graphs = model.scale.remove_from(graphs, model.task.level)
        cut = decided if contender.cut else None
        found[split] = score(Predictions(logits), graphs, model.task, cut)
    return found


def compare(
    model: Model, rivals: Sequence[Contender], dataset: Dataset, seed: int = 0
) -> dict[str, Any]:
    """Scores of the baselines, the best of them on validation data, and how it compares.

    Args:
        model: The model, with its scores.
        rivals: The baselines, with their logits of all splits.
        dataset: The data.
        seed: Of the resampling.

    Returns:
        JSON-able: ``metrics`` by baseline, split and metric; the ``rival``; ``difference``, ``low``
        and ``high`` of the main metric, above 0 if the model is better (NaN if there are too few
        labels to tell); the number of ``rows``, of labels of the ``rarest`` class and of
        ``resamples``; and the ``verdict``, a sentence.
    """
    if not rivals:
        return {}
    metric, task = METRICS[model.task.metric], model.task
    own = Contender.of(model, dataset, ("val",))
    y = _rows(dataset.val.labels(task.level), model, dataset)
    assert y is not None
    values = {one.name: _rows(one.decided("val"), model, dataset) for one in (own, *rivals)}
    found = {name: metric.function(logits, y, task) for name, logits in values.items()}
    sign = 1 if metric.larger_is_better else -1
    rival = max(rivals, key=lambda one: _or_least(sign * found[one.name])).name
    differences = _differences(values[own.name], values[rival], y, model, seed) * sign
    known = differences[~np.isnan(differences)]
    rarest = _rarest(y, task)
    enough = 2 * len(known) > len(differences) and rarest >= FEWEST_TO_JUDGE
    interval = np.quantile(known, [OUTSIDE / 2, 1 - OUTSIDE / 2]) if enough else [math.nan] * 2
    result: dict[str, Any] = {
        "metrics": {one.name: scores(one, model, dataset) for one in rivals},
        "rival": rival,
        "difference": sign * (found[own.name] - found[rival]),
        "low": float(interval[0]),
        "high": float(interval[1]),
        "rows": len(y),
        "rarest": rarest,
        "resamples": len(differences),
    }
    return result | {"verdict": _verdict(result, own.name, found, metric)}


def main_scores(
    method: str,
    metrics: Mapping[str, Mapping[str, float]],
    baselines: Mapping[str, Any],
    metric: str,
) -> dict[str, dict[str, str]]:
    """The main metric of a model and its baselines as text: by name, then by split.

    Args:
        method: Name of the model's method.
        metrics: Its scores by split.
        baselines: What :func:`compare` gives.
        metric: Name of the metric.
    """
    others = dict(baselines.get("metrics", {}))
    everyone = {_title(method, "trees" in others): metrics} | others
    return {
        LABELS.get(name, name): {
            split: metric_text(row.get(metric), metric) for split, row in scores_of.items()
        }
        for name, scores_of in everyone.items()
    }


def _title(method: str, trees: bool) -> str:
    """What a model is called beside its baselines."""
    return f"{method} and trees" if trees else method


def _differences(
    left: Tensor, right: Tensor, y: Tensor, model: Model, seed: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Differences of the main metric on resampled rows; NaN where it is not defined."""
    task, metric = model.task, METRICS[model.task.metric]
    draw = torch.Generator().manual_seed(seed)
    most = MOST_LABELS // max(1, left.numel())
    differences = []
    for _ in range(min(RESAMPLES, max(FEWEST, most))):
        rows = torch.randint(len(y), (len(y),), generator=draw)
        pair = (metric.function(side[rows], y[rows], task) for side in (left, right))
        differences.append(next(pair) - next(pair))
    return np.array(differences)


def _rarest(y: Tensor, task: Task) -> int:
    """Labels of the rarest class that occurs; of several targets their sum, of numbers all."""
    if task.kind == "regression":
        return int((~y.isnan()).any(1).sum())
    if task.kind == "multiclass":
        counts = torch.bincount(y[y >= 0])
        return int(counts[counts > 0].min()) if int((counts > 0).sum()) > 1 else 0
    return sum(map(rarest_count, y.T))


def _verdict(result: dict[str, Any], own: str, found: dict[str, float], metric: Metric) -> str:
    """Which is best on validation data, and whether the difference is more than noise."""
    rival, difference = result["rival"], result["difference"]
    if math.isnan(difference):
        return f"Nothing is compared: {metric.label} is not defined on the validation data."
    better, worse = (own, rival) if difference >= 0 else (rival, own)
    same = metric.text(found[better]) == metric.text(found[worse])
    text = (
        f"Equal on validation data: {LABELS.get(better, better)} and {LABELS.get(worse, worse)} "
        f"({metric.label} {metric.text(found[better])})"
        if same
        else f"Best on validation data: {LABELS.get(better, better)} ({metric.label} "
        f"{metric.text(found[better])}; {LABELS.get(worse, worse)} {metric.text(found[worse])})"
    )
    low, high = result["low"], result["high"]
    if math.isnan(low):
        rows = f"{result['rows']:,} row{'s' if result['rows'] > 1 else ''}"
        if result["rarest"] < min(FEWEST_TO_JUDGE, result["rows"]):
            rows += f", {result['rarest']} of the rarest class,"
        return f"{text}. The validation split is too small to tell: {rows} can differ by chance."
    low, high = (low, high) if difference >= 0 else (-high, -low)
    factor, unit, digits = (100, " points", 1) if metric.unit == "%" else (1, "", 3)
    noise = "The difference is more than noise" if low > 0 else "The difference may be noise"
    noise = "Their difference" if same else noise
    return (
        f"{text}. {noise}: {factor * low:.{digits}f} to "
        f"{factor * high:.{digits}f}{unit} in 95 % of {result['resamples']} resamples of the "
        f"{result['rows']:,} rows."
    )


def _rows(values: Tensor | None, model: Model, dataset: Dataset) -> Tensor:
    """Validation rows that count, on the scale of the main metric."""
    assert values is not None
    if model.task.level == "node" and dataset.val.mask is not None:
        values = values[dataset.val.mask]
    if _scaled(model) and model.scale is not None:
        values = model.scale.remove(values)
    return values


def _scaled(model: Model) -> bool:
    """Whether errors are in standard deviations of the targets."""
    return bool(METRICS[model.task.metric].one_target)


def _or_least(value: float) -> float:
    return -math.inf if math.isnan(value) else value
