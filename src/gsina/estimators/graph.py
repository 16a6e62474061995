"""`GraphClassifier` and `GraphRegressor`: one label or number a graph."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gsina import metrics
from gsina.errors import InputError
from gsina.estimators.base import GraphEstimator
from gsina.estimators.classes import ClassesMixin, class_task, judged
from gsina.estimators.inputs import as_dataset, as_graphs, hold_out, with_labels
from gsina.estimators.labels import as_array, encode
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task


class GraphClassifier(ClassifierMixin, ClassesMixin):  # type: ignore[misc]
    """Classes of graphs, predicted from the subgraph that decides.

    ::

        model = GraphClassifier(ratio=0.5).fit(graphs, labels)
        model.predict_proba(others)  # [G, K]
        model.explain(others)[0].edge  # weight of every edge of the first graph

    Two classes are learnt as one yes-or-no output. See :class:`~gsina.estimators.base.\
GraphEstimator` for the parameters.
    """

    def fit(self, graphs: Any, y: Any = None, val: Any = None) -> Self:
        """Train, and stop by validation data.

        Args:
            graphs: A list or PyG dataset of ``Data`` objects, ``PackedGraphs``, or a ``Dataset``
                which brings labels and validation graphs along.
            y: One label a graph, of any hashable type (``None`` or NaN if missing); or
                ``[G, targets]`` of 0, 1 and NaN. By default the graphs' own ``y``.
            val: Validation graphs with labels of their own, or a pair of graphs and labels. By
                default a tenth of the graphs.
        """
        whole = as_dataset(graphs)
        if whole is not None:
            _check_level(whole)
            if whole.task.kind == "regression":
                raise InputError("this dataset is for regression; use GraphRegressor.")
            self._train(judged(whole))
            return self
        packed = as_graphs(graphs)
        values = _labels(packed, y)
        task, classes = class_task(values)
        codes = encode(values, classes, task)
        train, held = _splits(self, packed, codes, val, lambda given: encode(given, classes, task))
        splits = {"train": train, "val": held}
        self._train(judged(Dataset("graphs", task, splits, class_names=classes)))
        return self

    def score(self, graphs: Any, y: Any = None) -> float:
        """Accuracy among the labels that are there."""
        packed = as_graphs(graphs)
        check_is_fitted(self, "model_")
        truth = _labels(packed, self._own_labels(graphs) if y is None else y)
        if truth.ndim == 2:
            found = self._predict(packed).logits
            return metrics.accuracy(found, torch.from_numpy(truth.astype(float)), self._model.task)
        return self._accuracy(packed, truth)


class GraphRegressor(RegressorMixin, GraphEstimator):  # type: ignore[misc]
    """Numbers of graphs, predicted from the subgraph that decides.

    Targets are brought to mean 0 and variance 1 for training; answers are in their units. See
    :class:`~gsina.estimators.base.GraphEstimator` for the parameters.
    """

    def fit(self, graphs: Any, y: Any = None, val: Any = None) -> Self:
        """Train, and stop by validation data.

        Args:
            graphs: As for :meth:`GraphClassifier.fit`.
            y: One number a graph ``[G]``, or ``[G, targets]``; NaN if missing.
            val: Validation graphs with labels of their own, or a pair of graphs and labels.
        """
        whole = as_dataset(graphs)
        if whole is not None:
            _check_level(whole)
            if whole.task.kind != "regression":
                raise InputError("this dataset is for classification; use GraphClassifier.")
            self._train(whole)
            return self
        packed = as_graphs(graphs)
        targets = _numbers(_labels(packed, y))
        if bool(targets.isnan().all(0).any()):
            raise InputError("a target has no number at all to learn from; leave it out.")
        task = Task("regression", targets.size(1), "rmse")
        train, held = _splits(self, packed, targets, val, _numbers)
        self._train(Dataset("graphs", task, {"train": train, "val": held}))
        return self

    def predict(self, graphs: Any) -> NDArray[np.float32]:
        """A number a graph ``[G]``; of several targets ``[G, targets]``."""
        found = self._predict(graphs).logits
        return (found[:, 0] if found.size(1) == 1 else found).numpy()

    def score(self, graphs: Any, y: Any = None) -> float:
        """R2, mean over targets."""
        return self._judge(graphs, y)["r2"]

    def rmse(self, graphs: Any, y: Any = None) -> float:
        """Root of the mean squared error."""
        return self._judge(graphs, y)["rmse"]

    def _judge(self, graphs: Any, y: Any) -> dict[str, float]:
        packed = as_graphs(graphs)
        return self._model.score(with_labels(packed, _numbers(_labels(packed, y))))

    @classmethod
    def _regression(cls) -> bool:
        return True


def _check_level(dataset: Dataset) -> None:
    if dataset.task.level != "graph":
        raise InputError("this dataset has labels of nodes; use NodeClassifier.")


def _labels(graphs: PackedGraphs, y: Any) -> NDArray[Any]:
    if y is None:
        y = graphs.y
    if y is None:
        raise InputError("these graphs have no labels; give them as y, or as `y` of the graphs.")
    return as_array(y, len(graphs), "graphs")


def _numbers(values: NDArray[Any]) -> Tensor:
    try:
        numbers = torch.from_numpy(np.asarray(values, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise InputError(f"regression needs numbers as labels: {error}.") from error
    return numbers.view(-1, 1) if numbers.dim() == 1 else numbers


def _splits(
    estimator: GraphEstimator, graphs: PackedGraphs, y: Tensor, val: Any, encode: Any
) -> tuple[PackedGraphs, PackedGraphs]:
    """Training and validation graphs with labels as the task has them."""
    if val is not None:
        others, labels = val if isinstance(val, tuple) and len(val) == 2 else (val, None)
        held = as_graphs(others)
        return with_labels(graphs, y), with_labels(held, encode(_labels(held, labels)))
    single = estimator._regression() or (y.dim() == 2 and y.size(1) > 1)
    seed = estimator.random_state if isinstance(estimator.random_state, int) else 0
    train, rest = hold_out(None if single else y.flatten().nan_to_num(-1), len(graphs), seed)
    labelled = with_labels(graphs, y)
    return labelled[train], labelled[rest]
