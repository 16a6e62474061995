"""Metrics of predictions and of explanations.

Predictions: accuracy, ROC-AUC with missing labels, Matthews correlation, macro F1, RMSE, R2.
Explanations: ROC-AUC of edge attention against ground truth (pooled and per graph), precision@k.
All take tensors and return Python floats; a value that is not defined (no label, one class only)
is NaN, never a made-up number.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score, matthews_corrcoef, roc_auc_score
from torch import Tensor

from gsina.graphs.task import Task

Floats = NDArray[np.float64]


def predicted_classes(logits: Tensor, task: Task) -> Tensor:
    """Class of every row ``[G]``, or 0/1 of every output ``[G, outputs]`` in binary tasks."""
    return logits.argmax(-1) if task.kind == "multiclass" else (logits > 0).long()


def accuracy(logits: Tensor, y: Tensor, task: Task) -> float:
    """Share of right answers among the labels that are there."""
    y = y if task.kind == "multiclass" else y.view_as(logits)
    known = (y != -1) if task.kind == "multiclass" else ~y.isnan()
    if not bool(known.any()):
        return math.nan
    right = predicted_classes(logits, task)[known] == y[known]
    return float(right.double().mean())


def roc_auc(logits: Tensor, y: Tensor, task: Task) -> float:
    """Mean over outputs of the area under the ROC curve.

    Outputs whose labels are all missing or all of one class do not count; NaN if none is left.
    Multiclass: one class against the rest, mean over classes; with two classes, the area of the
    probability of either.
    """
    if task.kind == "multiclass" and logits.size(1) == 2:
        logits = logits.double() - logits.flip(
            1
        )  # the order of probabilities is that of the margins
    scores = logits.double().cpu().numpy()
    if task.kind == "multiclass":
        labels = torch.nn.functional.one_hot(y.clamp(min=0), logits.size(1)).double()
        labels[y == -1] = math.nan
        truth = labels.cpu().numpy()
    else:
        truth = y.view_as(logits).double().cpu().numpy()
    areas = [
        roc_auc_score(column[known], score[known])
        for score, column in zip(scores.T, truth.T, strict=True)
        if len(np.unique(column[known := ~np.isnan(column)])) == 2
    ]
    return float(np.mean(areas)) if areas else math.nan


def mcc(logits: Tensor, y: Tensor, task: Task) -> float:
    """Matthews correlation coefficient; 0 for a constant guess, NaN if the labels are constant."""
    guess, truth = _known_classes(logits, y, task)
    return float(matthews_corrcoef(truth, guess)) if len(np.unique(truth)) > 1 else math.nan


def f1(logits: Tensor, y: Tensor, task: Task) -> float:
    """Macro F1: mean over the classes that occur in labels or guesses."""
    guess, truth = _known_classes(logits, y, task)
    return float(f1_score(truth, guess, average="macro")) if len(truth) else math.nan


def rmse(predicted: Tensor, y: Tensor, task: Task) -> float:
    """Root of the mean squared error over the labels that are there."""
    y = y.view_as(predicted)
    known = ~y.isnan()
    if not bool(known.any()):
        return math.nan
    return float((predicted[known].double() - y[known].double()).square().mean().sqrt())


def r2(predicted: Tensor, y: Tensor, task: Task) -> float:
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


def _known_classes(
    logits: Tensor, y: Tensor, task: Task
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    guess = predicted_classes(logits, task)
    y = y if task.kind == "multiclass" else y.view_as(logits)
    known = (y != -1) if task.kind == "multiclass" else ~y.isnan()
    return guess[known].cpu().numpy(), y[known].long().cpu().numpy()


PREDICTION = {"accuracy": accuracy, "roc_auc": roc_auc, "mcc": mcc, "f1": f1, "rmse": rmse}


def explanation_auc(attention: Tensor, truth: Tensor) -> float:
    """ROC-AUC over all edges of all graphs together, as the benchmark reports it.

    Args:
        attention: Edge weights ``[E]``.
        truth: Ground truth ``[E]``, bool.
    """
    labels = truth.bool().cpu().numpy()
    if labels.all() or not labels.any():
        return math.nan
    return float(roc_auc_score(labels, attention.double().cpu().numpy()))


def explanation_auc_per_graph(attention: Tensor, truth: Tensor, edge_graph: Tensor) -> float:
    """Mean over graphs of the ROC-AUC within the graph.

    Graphs whose edges all have the same truth do not count. Unlike the pooled value this does not
    reward a level of attention that merely differs from graph to graph.
    """
    graph = edge_graph.cpu().numpy()
    scores = attention.double().cpu().numpy()
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
    counts = torch.bincount(edge_graph)
    last = counts.cumsum(0) - counts + counts.clamp(max=k) - 1  # place of the k-th, or of the last
    least = attention[order[last.clamp(min=0)]][edge_graph]
    above, equal = attention > least, attention == least

    def count(chosen: Tensor) -> Tensor:
        return torch.bincount(edge_graph[chosen], minlength=counts.numel()).double()

    chance = ((k - count(above)) / count(equal).clamp(min=1)).clamp(max=1)
    hits = count(above & truth.bool()) + chance * count(equal & truth.bool())
    return float(hits.sum()) / (k * int((counts > 0).sum()))
