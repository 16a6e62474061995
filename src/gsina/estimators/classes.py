"""What classifiers of graphs and of nodes share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from gsina import metrics
from gsina.errors import InputError
from gsina.estimators.base import GraphEstimator
from gsina.graphs.classes import Classes, missing
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.models.model import Model
from gsina.models.uncertainty.answers import COVERAGE, prediction_sets


class ClassesMixin(ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Answers of a classifier.

    Attributes:
        classes_: The labels ``[K]``.
    """

    _coding = Classes
    classes_: NDArray[Any]

    def predict(self, graphs: Any) -> NDArray[Any]:
        """The label of every graph (or node) ``[G]``; of several targets ``[G, targets]``."""
        found = self._model.classes(self._predict(graphs).logits)
        return self._classes.decode(found[:, 0] if found.shape[1:] == (1,) else found)

    def predict_proba(self, graphs: Any) -> NDArray[np.float32]:
        """Probabilities of the classes ``[G, K]``, in the order of ``classes_``.

        Of several yes-or-no targets: the probability of yes of each, ``[G, targets]``.
        """
        found = self._model.probabilities(self._predict(graphs).logits)
        one = self._model.task.kind == "binary" and found.size(1) == 1
        return (torch.cat([1 - found, found], dim=1) if one else found).numpy()

    def predict_set(
        self, graphs: Any, coverage: float = COVERAGE, *, shift: bool = False
    ) -> NDArray[np.bool_]:
        """Classes that cannot be ruled out ``[G, K]``, in the order of ``classes_``.

        In every class, this share of the sets holds the right one, if the graphs are like those of
        the validation data. Of several yes-or-no targets ``[G, targets, 2]``. A class with too few
        validation rows for the coverage is in every set, which the log says.

        Args:
            graphs: The graphs.
            coverage: The share, between 0 and 1.
            shift: Whether to correct for how these very graphs differ from validation data; a
                set then depends on the others.
        """
        logits, ratio, states = self._with_shift(graphs, shift, coverage)
        sets = prediction_sets(self._model, logits, coverage, ratio, states)
        return (sets[:, 0] if sets.size(1) == 1 else sets).numpy()

    def score(self, graphs: Any, y: Any = None, mask: Any = None) -> float:
        """Accuracy among the labels that are there.

        Args:
            graphs: The graphs.
            y: One label per graph (or node); by default their own ``y``.
            mask: Graphs (or nodes) that count ``[G]``, bool; by default all with labels, and of a
                graph with a ``test_mask`` the nodes in it.
        """
        packed, truth = self._truth(graphs, self._own_labels(graphs) if y is None else y, mask)
        if truth.ndim == 2:
            found = self._model.calibration.decided(self._predict(packed).logits)
            return metrics.accuracy(found, torch.from_numpy(truth), self._model.task)
        known = ~missing(truth)
        if not known.any():
            raise InputError("got no labels to score against: all of them are missing.")
        pairs = zip(self.predict(packed)[known], truth[known], strict=True)
        return float(np.mean([bool(guess == label) for guess, label in pairs]))

    @property
    def _classes(self) -> Classes:
        coding = self._model.coding
        assert isinstance(coding, Classes)
        return coding

    def _own_labels(self, graphs: Any) -> Any:
        """Labels of a split of own data as those that the estimator answers with, else ``None``.

        Such data have text as classes, and in their splits the numbers of the classes.
        """
        y = graphs.labels(self._level) if isinstance(graphs, PackedGraphs) else None
        if y is None or y.numel() > len(y) or self._classes.array.dtype.kind != "U":
            return None
        return self._classes.decode(y.flatten())

    def _train(self, dataset: Dataset) -> None:
        super()._train(with_defined_metric(dataset))

    def _keep(self, model: Model, history: list[dict[str, Any]]) -> None:
        super()._keep(model, history)
        self.classes_ = self._classes.array


def with_defined_metric(dataset: Dataset) -> Dataset:
    """The dataset, judged by accuracy where its validation labels leave ROC-AUC undefined."""
    task, val = dataset.task, dataset.val
    y = val.labels(task.level)
    if y is None or task.metric != "roc_auc":
        return dataset
    if val.mask is not None and task.level == "node":
        y = y[val.mask]
    if not np.isnan(metrics.roc_auc(torch.zeros(y.size(0), task.outputs), y, task)):
        return dataset
    return replace(dataset, task=replace(task, metric="accuracy"))
