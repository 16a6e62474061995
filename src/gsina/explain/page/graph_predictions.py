"""Predictions and truth of each graph as text and numbers for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.uncertainty.calibration import Calibration

#: Targets named one by one; of more, only their number is shown.
NAMED_TARGETS = 3
Names = tuple[str, ...]


class GraphPrediction(NamedTuple):
    """Prediction and truth of one graph; the names are those of ``PageGraph``."""

    probabilities: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    predicted: str = ""
    truth: str = ""
    right: bool | None = None
    confidence: float | None = None
    output_names: tuple[str, ...] = ()
    target_truth: tuple[float, ...] = ()


def graph_predictions(
    logits: Tensor,
    graphs: PackedGraphs,
    task: Task,
    class_names: Sequence[str],
    target_names: Sequence[str],
    calibration: Calibration,
) -> list[GraphPrediction]:
    """The prediction of every graph, with its truth.

    Args:
        logits: Output of the model ``[G, outputs]``, or ``[N, outputs]`` at node level.
        graphs: The graphs, with labels or without.
        task: The kind of labels.
        class_names: Names of the classes; by default their numbers.
        target_names: Names of the columns of several targets; by default their numbers.
        calibration: How logits become probabilities and decisions.
    """
    y = graphs.labels(task.level)
    decided, logits = calibration.decided(logits), calibration.apply(logits)
    if task.level == "node":
        return _nodes(decided, y, graphs, task)
    if task.kind == "multiclass":
        names = _names(class_names, task.outputs, "class_names")
        return _classes(logits.softmax(-1), decided.argmax(-1), y, names)
    if task.kind == "binary" and task.outputs == 1:
        share = logits.sigmoid()
        labels = None if y is None else torch.where(y[:, 0].isnan(), -1, y[:, 0]).long()
        return _classes(
            torch.cat([1 - share, share], 1),
            (decided[:, 0] > 0).long(),
            labels,
            _names(class_names, 2, "class_names"),
        )
    names = _names(target_names, task.outputs, "target_names")
    if task.kind == "binary":
        return _targets(logits.sigmoid(), decided > 0, y, names)
    return _numbers(logits, y, names)


def _classes(
    probabilities: Tensor, guess: Tensor, y: Tensor | None, names: Names
) -> list[GraphPrediction]:
    confidence = probabilities.gather(1, guess.unsqueeze(1)).squeeze(1)
    labels = [-1] * len(guess) if y is None else y.tolist()
    return [
        GraphPrediction(
            probabilities=tuple(row),
            predicted=names[best],
            truth=names[label] if label >= 0 else "",
            right=best == label if label >= 0 else None,
            confidence=sure,
            output_names=names,
        )
        for row, best, label, sure in zip(
            probabilities.tolist(), guess.tolist(), labels, confidence.tolist(), strict=True
        )
    ]


def _targets(
    probabilities: Tensor, yes: Tensor, y: Tensor | None, names: Names
) -> list[GraphPrediction]:
    """Several binary targets; a graph is right if all its known targets are."""
    truth = torch.full_like(probabilities, torch.nan) if y is None else y
    known = ~truth.isnan()
    right = (yes == (truth > 0.5)) | ~known
    sure = torch.maximum(probabilities, 1 - probabilities).mean(-1)
    return [
        GraphPrediction(
            values=tuple(probabilities[graph].tolist()),
            predicted=_listed(yes[graph], names),
            truth=_known(truth[graph], names),
            right=bool(right[graph].all()) if bool(known[graph].any()) else None,
            confidence=float(sure[graph]),
            output_names=names,
            target_truth=() if y is None else tuple(truth[graph].tolist()),
        )
        for graph in range(len(probabilities))
    ]


def _numbers(values: Tensor, y: Tensor | None, names: Names) -> list[GraphPrediction]:
    truth = torch.full_like(values, torch.nan) if y is None else y
    return [
        GraphPrediction(
            values=tuple(row),
            predicted=_figures(row, names),
            truth=_figures(true, names),
            output_names=names,
            target_truth=() if y is None else tuple(true),
        )
        for row, true in zip(values.tolist(), truth.tolist(), strict=True)
    ]


def _nodes(
    logits: Tensor, y: Tensor | None, graphs: PackedGraphs, task: Task
) -> list[GraphPrediction]:
    """At node level a graph has no label of its own, only a share of nodes that are right."""
    if y is None or task.kind == "regression":
        return [GraphPrediction()] * len(graphs)
    if task.kind == "multiclass":
        right, known = logits.argmax(-1) == y, y >= 0
    else:
        known = ~y.isnan().any(-1)
        right = ((logits > 0) == (y > 0.5)).all(-1)
    if graphs.mask is not None:
        known = known & graphs.mask
    graph = torch.repeat_interleave(graphs.node_ptr.diff())
    counts = torch.bincount(graph[known], minlength=len(graphs)).tolist()
    hits = torch.bincount(graph[known & right], minlength=len(graphs)).tolist()
    return [
        GraphPrediction(predicted=f"{hit} of {count} nodes right")
        for hit, count in zip(hits, counts, strict=True)
    ]


def _names(given: Sequence[str], count: int, what: str) -> tuple[str, ...]:
    if len(given) not in (0, count):
        raise InputError(f"got {len(given)} {what}, expected {count} or none.")
    return tuple(map(str, given)) or tuple(map(str, range(count)))


def _listed(yes: Tensor, names: Names) -> str:
    """The targets that are yes, or how many."""
    chosen = [name for name, there in zip(names, yes.tolist(), strict=True) if there]
    if len(chosen) > NAMED_TARGETS:
        return f"{len(chosen)} of {len(names)} targets"
    return ", ".join(chosen) or "none"


def _known(truth: Tensor, names: Names) -> str:
    """The targets whose label is yes, and how many labels there are unless all are."""
    known = ~truth.isnan()
    count = int(known.sum())
    if not count:
        return ""
    listed = _listed(truth > 0.5, names)
    if count == len(names):
        return listed
    if listed == "none":
        return f"none of {count} known"
    return f"{listed} ({count} known)"


def _figures(row: Sequence[float], names: Names) -> str:
    """Known figures, with names if there are several; the first few."""
    known = [(name, value) for name, value in zip(names, row, strict=True) if value == value]
    if len(names) == 1:
        return "".join(f"{value:.4g}" for _, value in known)
    more = ", …" if len(known) > NAMED_TARGETS else ""
    return ", ".join(f"{name} {value:.3g}" for name, value in known[:NAMED_TARGETS]) + more
