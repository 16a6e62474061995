"""What classifiers of graphs and of nodes share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina import metrics
from gsina.errors import InputError
from gsina.estimators.base import GraphEstimator
from gsina.estimators.labels import as_labels, find_classes, missing
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Level, Task
from gsina.models.model import Model


class ClassesMixin(GraphEstimator):
    """Answers of a classifier.

    Attributes:
        classes_: The labels ``[K]``.
    """

    classes_: NDArray[Any]

    def predict(self, graphs: Any) -> NDArray[Any]:
        """The label of every graph (or node) ``[G]``; of several targets ``[G, targets]``."""
        found = metrics.predicted_classes(self._predict(graphs).logits, self._model.task).numpy()
        labels: NDArray[Any] = self.classes_[found[:, 0] if found.shape[1:] == (1,) else found]
        return labels

    def predict_proba(self, graphs: Any) -> NDArray[np.float32]:
        """Probabilities of the classes ``[G, K]``, in the order of ``classes_``.

        Of several yes-or-no targets: the probability of yes of each, ``[G, targets]``.
        """
        return _columns(self._model, self._predict(graphs).logits).numpy()

    def _accuracy(self, graphs: Any, truth: NDArray[Any], rows: Any = slice(None)) -> float:
        """Share of right answers among the labels that are there."""
        guess, truth = self.predict(graphs)[rows], truth[rows]
        known = ~missing(truth)
        if not known.any():
            raise InputError("got no labels to score against: all of them are missing.")
        right = np.array([bool(a == b) for a, b in zip(guess[known], truth[known], strict=True)])
        return float(right.mean())

    def _own_labels(self, graphs: Any) -> Any:
        """Labels of a split of own data as those that the estimator answers with, else ``None``.

        Such data have text as classes, and in their splits the numbers of the classes.
        """
        y = graphs.labels(self._level) if isinstance(graphs, PackedGraphs) else None
        several = y is not None and y.dim() == 2 and y.size(1) > 1
        if y is None or several or self.classes_.dtype.kind != "U":
            return None
        numbers = y.flatten()
        known = numbers >= 0  # neither -1 nor NaN
        names = self.classes_.astype(object)[torch.where(known, numbers, 0).long().numpy()]
        names[~known.numpy()] = None
        return names

    def _keep(self, model: Model, history: list[dict[str, Any]]) -> None:
        super()._keep(model, history)
        count = model.task.outputs if model.task.kind == "multiclass" else 2
        self.classes_ = as_labels(model.class_names or tuple(range(count)))


def class_task(values: NDArray[Any], level: Level = "graph") -> tuple[Task, tuple[Hashable, ...]]:
    """The task that labels ask for, and the labels of its classes.

    Two classes are one yes-or-no output, judged by ROC-AUC; more are judged by accuracy. Labels
    ``[G, targets]`` must be 0, 1 or NaN.
    """
    if values.ndim == 2:
        numbers = np.asarray(values, dtype=float)
        other = numbers[~np.isnan(numbers) & ~np.isin(numbers, (0, 1))]
        if len(other):
            raise InputError(
                f"labels of several targets must be 0, 1, or NaN where missing, got {other[0]:g}; "
                "one target may have any classes."
            )
        return Task("binary", values.shape[1], "roc_auc", level), (0, 1)
    classes = tuple(find_classes(values))
    if len(classes) == 2:
        return Task("binary", 1, "roc_auc", level), classes
    return Task("multiclass", len(classes), "accuracy", level), classes


def judged(dataset: Dataset) -> Dataset:
    """The dataset, judged by accuracy where its validation labels leave ROC-AUC undefined."""
    task, val = dataset.task, dataset.val
    y = val.labels(task.level)
    if y is None or task.metric != "roc_auc":
        return dataset
    if val.mask is not None and task.level == "node":
        y = y[val.mask]
    guess = torch.zeros(y.size(0), task.outputs)
    if metrics.roc_auc(guess, y, task) == metrics.roc_auc(guess, y, task):
        return dataset
    return replace(dataset, task=replace(task, metric="accuracy"))


def _columns(model: Model, logits: Tensor) -> Tensor:
    found = model.probabilities(logits)
    one = model.task.kind == "binary" and model.task.outputs == 1
    return torch.cat([1 - found, found], dim=1) if one else found
