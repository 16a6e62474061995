"""Empirical risk minimisation: the plain network."""

from __future__ import annotations

from dataclasses import dataclass

from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output
from gsina.nn.predictor import NetworkSpec, Predictor


@dataclass(frozen=True)
class ERMConfig:
    """ERM has no settings."""


class ERM(Method):
    """Minimise the mean loss over the training graphs, ``mean_i l(f(G_i), y_i)``.

    After Vapnik, Principles of risk minimization for learning theory, 1991.

    In the CIGA benchmark's release its default contrast, of weight 4, is part of these runs too;
    here it is not. The Oracle (IID) of that benchmark is this method, trained and tested on data
    without a distribution shift.
    """

    shareable = True

    def __init__(self, predictor: Predictor, task: Task) -> None:
        super().__init__(task)
        self.predictor = predictor

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: ERMConfig) -> ERM:
        """A fresh model."""
        return cls(spec.predictor(task), task)

    def forward(self, batch: Batch) -> Output:
        """Predict from the whole graph."""
        return Output(self.predictor(batch))
