"""Empirical risk minimisation: the plain network."""

from __future__ import annotations

from dataclasses import dataclass

from gsina.graphs.task import Task
from gsina.methods.base import PlainMethod
from gsina.nn.predictor import NetworkSpec


@dataclass(frozen=True)
class ERMConfig:
    """ERM has no settings."""


class ERM(PlainMethod):
    """Minimise the mean loss over the training graphs, ``mean_i l(f(G_i), y_i)``.

    After Vapnik, Principles of risk minimization for learning theory, 1991.

    In the CIGA benchmark's release its default contrast, of weight 4, is part of these runs too;
    here it is not. The Oracle (IID) of that benchmark is this method, trained and tested on data
    without a distribution shift.
    """

    shareable = True

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: ERMConfig) -> ERM:
        """A fresh model, without settings."""
        return cls(spec.predictor(task), task)
