"""What regressors of graphs and of nodes share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from gsina import metrics
from gsina.estimators.base import GraphEstimator
from gsina.estimators.inputs import with_labels
from gsina.graphs.classes import Numbers
from gsina.models.uncertainty.answers import COVERAGE, prediction_intervals


class NumbersMixin(RegressorMixin, GraphEstimator):  # type: ignore[misc]
    """Answers of a regressor, in the units of the targets."""

    _coding = Numbers

    def predict(self, graphs: Any) -> NDArray[np.float32]:
        """The number of every graph (or node) ``[G]``; of several targets ``[G, targets]``."""
        found = self._predict(graphs).logits
        return (found[:, 0] if found.size(1) == 1 else found).numpy()

    def predict_interval(
        self, graphs: Any, coverage: float = COVERAGE, *, shift: bool = False
    ) -> NDArray[np.float64]:
        """Lower and upper end ``[G, 2]``; of several targets ``[G, targets, 2]``.

        This share of the intervals holds the truth, if the graphs are like those of the validation
        data; with too few of those they are infinite.

        Args:
            graphs: The graphs.
            coverage: The share, between 0 and 1.
            shift: Whether to correct for how these very graphs differ from validation data; an
                interval then depends on the others.
        """
        logits, ratio, states = self._with_shift(graphs, shift, coverage)
        ends = prediction_intervals(self._model, logits, coverage, ratio, states)
        return (ends[:, 0] if ends.size(1) == 1 else ends).numpy()

    def score(self, graphs: Any, y: Any = None, mask: Any = None) -> float:
        """R2, mean over targets.

        Args:
            graphs: The graphs.
            y: One number per graph (or node) ``[G]``, or ``[G, targets]``; by default their own
                ``y``.
            mask: Graphs (or nodes) that count ``[G]``, bool; by default all with labels, and of a
                graph with a ``test_mask`` the nodes in it.
        """
        return self._scores(graphs, y, mask)["r2"]

    def rmse(self, graphs: Any, y: Any = None, mask: Any = None) -> float | NDArray[np.float64]:
        """Root of the mean squared error; of several targets one each, in its units ``[targets]``.

        The arguments are those of :meth:`score`.
        """
        packed, truth = self._truth(graphs, y, mask)
        labels, found = self._model.coding.encode(truth), self._predict(packed).logits
        task = self._model.task
        each = [
            metrics.rmse(found[:, [column]], labels[:, [column]], task)
            for column in range(task.outputs)
        ]
        return each[0] if len(each) == 1 else np.array(each)

    def _scores(self, graphs: Any, y: Any, mask: Any) -> dict[str, float]:
        packed, truth = self._truth(graphs, y, mask)
        labelled = with_labels(packed, self._model.coding.encode(truth), self._level)
        return self._model.score(replace(labelled, mask=None))
