"""Metrics of predictions and of explanations.

Predictions: accuracy, balanced accuracy, ROC-AUC and PR-AUC with missing labels, Matthews
correlation, macro F1, RMSE (of several targets in standard deviations), R2.
Explanations: ROC-AUC of edge attention against ground truth (pooled and per graph), precision@k.
All take tensors and return Python floats; a value that is not defined (no label, one class only)
is NaN, never a made-up number. :data:`METRICS` is the only list of them; it needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
#: Classes as numbers.
Codes = NDArray[np.int64]


class HasKind(Protocol):
    """A task, of which metrics need the kind only (:class:`gsina.graphs.task.Task`)."""

    @property
    def kind(self) -> str:
        """``binary``, ``multiclass`` or ``regression``."""


def predicted_classes(logits: Tensor, task: HasKind) -> Tensor:
    """Class of every row ``[G]``, or 0/1 of every output ``[G, outputs]`` in binary tasks."""
    return logits.argmax(-1) if task.kind == "multiclass" else (logits > 0).long()


def accuracy(logits: Tensor, y: Tensor, task: HasKind) -> float:
    """Share of right answers among the known labels."""
    y = y if task.kind == "multiclass" else y.view_as(logits)
    known = (y != -1) if task.kind == "multiclass" else ~y.isnan()
    if not bool(known.any()):
        return math.nan
    right = predicted_classes(logits, task)[known] == y[known]
    return float(right.double().mean())


def roc_auc(logits: Tensor, y: Tensor, task: HasKind) -> float:
    """Mean over outputs of the area under the ROC curve.

    Outputs whose labels are all missing or all of one class do not count; NaN if none is left.
    Multiclass: one class against the rest, mean over classes; with two classes, the area of the
    probability of either.
    """
    from sklearn.metrics import roc_auc_score

    return _mean_area(roc_auc_score, logits, y, task)


def pr_auc(logits: Tensor, y: Tensor, task: HasKind) -> float:
    """Mean over outputs of the average precision of the rarer class.

    Outputs that do not count, and several classes, are as in :func:`roc_auc`. Which of two classes
    is called the first plays no part: ``fraud`` and ``ok`` are judged by the fraud that is found.
    """
    from sklearn.metrics import average_precision_score

    def rarer(truth: Floats, scores: Floats) -> float:
        common = truth.mean() > 0.5 and task.kind == "binary"
        return float(
            average_precision_score(*((1 - truth, -scores) if common else (truth, scores)))
        )

    return _mean_area(rarer, logits, y, task)


def _mean_area(
    area: Callable[[Floats, Floats], float], logits: Tensor, y: Tensor, task: HasKind
) -> float:
    """Mean over the outputs that have labels of both classes; NaN if none has."""
    if task.kind == "multiclass" and logits.size(1) == 2:
        # The order of probabilities is that of the margins.
        logits = logits.cpu().double()
        logits = logits - logits.flip(1)
    scores = logits.cpu().double().numpy()
    if task.kind == "multiclass":
        truth = np.eye(logits.size(1))[y.clamp(min=0).cpu().numpy()]
        truth[(y == -1).cpu().numpy()] = math.nan
    else:
        truth = y.view_as(logits).cpu().double().numpy()
    areas = [
        area(column[known], score[known])
        for score, column in zip(scores.T, truth.T, strict=True)
        if len(np.unique(column[known := ~np.isnan(column)])) == 2
    ]
    return float(np.mean(areas)) if areas else math.nan


def mcc(logits: Tensor, y: Tensor, task: HasKind) -> float:
    """Matthews correlation coefficient; 0 for a constant guess.

    Of several outputs: the mean over those with labels of both classes, NaN if there is none.
    """
    from sklearn.metrics import matthews_corrcoef

    return _mean_over_outputs(matthews_corrcoef, logits, y, task)


def balanced_accuracy(logits: Tensor, y: Tensor, task: HasKind) -> float:
    """Mean over the classes that occur of the share of their labels that is found.

    Of several outputs: the mean over those with labels of both classes.
    """

    def found(truth: Codes, guess: Codes) -> float:
        return float(np.mean([(guess[truth == one] == one).mean() for one in np.unique(truth)]))

    return _mean_over_outputs(found, logits, y, task)


def f1(logits: Tensor, y: Tensor, task: HasKind) -> float:
    """Macro F1: mean over the classes that occur in labels or guesses.

    Of several outputs: the mean over those with labels.
    """
    from sklearn.metrics import f1_score

    macro = partial(f1_score, average="macro")
    return _mean_over_outputs(macro, logits, y, task, classes=1)


def rmse(predicted: Tensor, y: Tensor, task: HasKind) -> float:
    """Root of the mean squared error over the known labels."""
    y = y.view_as(predicted)
    known = ~y.isnan()
    if not bool(known.any()):
        return math.nan
    return float((predicted[known].double() - y[known].double()).square().mean().sqrt())


def scaled_rmse(predicted: Tensor, y: Tensor, task: HasKind) -> float:
    """Mean over outputs of the root of the mean squared error; outputs without labels don't count.

    Of targets in different units, errors and labels must be divided by the standard deviation of
    the target first, as they are in training.
    """
    columns = zip(predicted.T, y.view_as(predicted).T, strict=True)
    found = [rmse(guess[:, None], truth[:, None], task) for guess, truth in columns]
    known = [value for value in found if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def r2(predicted: Tensor, y: Tensor, task: HasKind) -> float:
    """Coefficient of determination, mean over outputs; constant or missing outputs do not count."""
    y = y.view_as(predicted)
    shares = []
    for guess, column in zip(predicted.double().T, y.double().T, strict=True):
        known = ~column.isnan()
        truth = column[known]
        total = float((truth - truth.mean()).square().sum()) if bool(known.any()) else 0.0
        if total > 0:
            shares.append(1 - float((guess[known] - truth).square().sum()) / total)
    return float(np.mean(shares)) if shares else math.nan


def _mean_over_outputs(
    function: Callable[[Codes, Codes], float],
    logits: Tensor,
    y: Tensor,
    task: HasKind,
    classes: int = 2,
) -> float:
    """Mean of a function of labels and guesses over outputs with labels of so many classes.

    Args:
        function: Of classes as labelled and as guessed, both ``[known]``.
        logits: ``[G, outputs]``.
        y: Labels.
        task: Several classes are one output.
        classes: Outputs with labels of fewer classes do not count; NaN if none is left.
    """
    columns = [(logits, y)]
    if task.kind != "multiclass":
        pairs = zip(logits.T, y.view_as(logits).T, strict=True)
        columns = [(logit.unsqueeze(1), labels.unsqueeze(1)) for logit, labels in pairs]
    known = (_known_classes(*column, task) for column in columns)
    found = [function(truth, guess) for guess, truth in known if len(np.unique(truth)) >= classes]
    return float(np.mean(found)) if found else math.nan


def _known_classes(logits: Tensor, y: Tensor, task: HasKind) -> tuple[Codes, Codes]:
    guess = predicted_classes(logits, task)
    y = y if task.kind == "multiclass" else y.view_as(logits)
    known = (y != -1) if task.kind == "multiclass" else ~y.isnan()
    return guess[known].cpu().numpy(), y[known].long().cpu().numpy()


def explanation_auc(attention: Tensor, truth: Tensor, edge_graph: Tensor | None = None) -> float:
    """ROC-AUC over all edges of all graphs together, as the benchmark reports it.

    Args:
        attention: Edge weights ``[E]``.
        truth: Ground truth ``[E]``, bool.
        edge_graph: Graph of every edge ``[E]``; it plays no part, as all edges are one pool.
    """
    from sklearn.metrics import roc_auc_score

    labels = truth.bool().cpu().numpy()
    if labels.all() or not labels.any():
        return math.nan
    return float(roc_auc_score(labels, attention.cpu().double().numpy()))


def explanation_auc_per_graph(attention: Tensor, truth: Tensor, edge_graph: Tensor) -> float:
    """Mean over graphs of the ROC-AUC within the graph.

    Graphs whose edges all have the same truth do not count. Unlike the pooled value this does not
    reward a level of attention that merely differs from graph to graph.
    """
    graph = edge_graph.cpu().numpy()
    scores = attention.cpu().double().numpy()
    labels = truth.bool().cpu().numpy()
    if len(graph) == 0:
        return math.nan
    graphs = int(graph.max()) + 1
    order = np.lexsort((scores, graph))
    graph, scores, labels = graph[order], scores[order], labels[order]
    rank = _mean_rank(graph, scores)
    start = np.searchsorted(graph, np.arange(graphs))
    positive = np.bincount(graph, labels, graphs)
    negative = np.bincount(graph, ~labels, graphs)
    rank_sum = np.bincount(graph, labels * (rank - start[graph]), graphs)
    counts = (positive > 0) & (negative > 0)
    if not counts.any():
        return math.nan
    above = rank_sum - positive * (positive - 1) / 2
    return float((above[counts] / (positive * negative)[counts]).mean())


def _mean_rank(graph: NDArray[np.int64], scores: Floats) -> Floats:
    """Position of every element in sorted order, the mean position for ties within a graph."""
    new = np.r_[True, (graph[1:] != graph[:-1]) | (scores[1:] != scores[:-1])]
    run = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    last = np.r_[first[1:], len(scores)] - 1
    mean: Floats = ((first + last) / 2)[run]
    return mean


def precision_at_k(attention: Tensor, truth: Tensor, edge_graph: Tensor, k: int = 5) -> float:
    """Mean over graphs of the share of true edges among the k with the largest attention.

    Always divided by k, also for graphs with fewer edges. Graphs without edges do not count. Of
    edges with the k-th largest weight, as many as are left of the k count, each with the same
    chance: their order in the graph plays no part. NaN without edges, or if a weight is NaN.
    """
    if attention.numel() == 0 or bool(attention.isnan().any()):
        return math.nan
    order = attention.argsort(descending=True, stable=True)
    order = order[edge_graph[order].argsort(stable=True)]
    counts = edge_graph.bincount()
    last = counts.cumsum(0) - counts + counts.clamp(max=k) - 1  # place of the k-th, or of the last
    least = attention[order[last.clamp(min=0)]][edge_graph]
    above, equal = attention > least, attention == least

    def count(chosen: Tensor) -> Tensor:
        return edge_graph[chosen].bincount(minlength=counts.numel()).double()

    chance = ((k - count(above)) / count(equal).clamp(min=1)).clamp(max=1)
    hits = count(above & truth.bool()) + chance * count(equal & truth.bool())
    return float(hits.sum()) / (k * int((counts > 0).sum()))


CLASSES = ("binary", "multiclass")


@dataclass(frozen=True)
class Metric:
    """One metric: all that the package knows of it.

    Attributes:
        name: Its key in result files.
        label: What people read.
        function: Of predictions ``(logits, y, task)``, of explanations ``(attention, truth,
            edge_graph)``.
        kinds: The kinds of task that it can score; ``()`` for a metric of explanations.
        larger_is_better: Whether a larger value is better.
        unit: ``%`` for a share, ``target`` for the units of the target, else nothing.
        reported: The kinds of task that report it besides their main metric.
        selects: Whether it may be the main metric of a task.
        threshold_by: The metric that a threshold on probabilities is chosen by where this is the
            main one: itself, or if it knows no threshold the one nearest to it.
        one_target: The metric of a single target, for one that needs several on one scale.
    """

    name: str
    label: str
    function: Callable[..., float]
    kinds: tuple[str, ...] = ()
    larger_is_better: bool = True
    unit: Literal["%", "target", ""] = "%"
    reported: tuple[str, ...] = ()
    selects: bool = True
    threshold_by: str = ""
    one_target: str = ""

    @property
    def of_one_target(self) -> str:
        """The metric that says the same of one target."""
        return self.one_target or self.name

    def text(self, value: float | None) -> str:
        """A value as people read it: shares in percent, a dash where there is none."""
        if value is None or math.isnan(value):
            return "-"
        return f"{100 * value:.1f} %" if self.unit == "%" else f"{value:.3f}"


#: Every metric, by name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy", "accuracy", accuracy, CLASSES, reported=CLASSES, threshold_by="accuracy"
        ),
        Metric(
            "roc_auc",
            "ROC-AUC",
            roc_auc,
            CLASSES,
            reported=("binary",),
            threshold_by="balanced_accuracy",
        ),
        Metric("pr_auc", "PR-AUC", pr_auc, CLASSES, threshold_by="f1"),
        Metric(
            "balanced_accuracy",
            "balanced accuracy",
            balanced_accuracy,
            CLASSES,
            threshold_by="balanced_accuracy",
        ),
        Metric("mcc", "MCC", mcc, CLASSES, unit="", threshold_by="mcc"),
        Metric("f1", "F1", f1, CLASSES, reported=("multiclass",), threshold_by="f1"),
        Metric("rmse", "RMSE", rmse, ("regression",), larger_is_better=False, unit="target"),
        Metric(
            "scaled_rmse",
            "RMSE / SD",
            scaled_rmse,
            ("regression",),
            larger_is_better=False,
            unit="",
            one_target="rmse",
        ),
        Metric("r2", "R2", r2, ("regression",), unit="", reported=("regression",), selects=False),
        Metric("explanation_auc", "explanation ROC-AUC", explanation_auc),
        Metric(
            "explanation_auc_per_graph",
            "explanation ROC-AUC per graph",
            explanation_auc_per_graph,
        ),
        Metric("precision_at_5", "precision@5", precision_at_k),
    )
}


def metric_label(name: str) -> str:
    """What people read for a key of a result file."""
    return METRICS[name].label if name in METRICS else name


def metric_text(value: float | None, name: str) -> str:
    """A value of a result file as people read it; a loss has no entry of its own."""
    known = METRICS.get(name)
    if known is not None:
        return known.text(value)
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def selecting_metrics(kind: str | None = None) -> list[str]:
    """Names of the metrics that may be the main one of a task, of any kind by default."""
    return [
        metric.name
        for metric in METRICS.values()
        if metric.selects and metric.kinds and kind in (None, *metric.kinds)
    ]


def reported_metrics(kind: str, main: str) -> list[str]:
    """Names of the metrics of predictions that a task reports, its main one first."""
    return list(dict.fromkeys([main, *(m.name for m in METRICS.values() if kind in m.reported)]))


def explanation_metrics() -> list[str]:
    """Names of the metrics of explanations."""
    return [metric.name for metric in METRICS.values() if not metric.kinds]
