"""What is predicted: the kind of label and the metric that judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gsina.names import check_name

Kind = Literal["multiclass", "binary", "regression"]

KINDS = ("multiclass", "binary", "regression")
#: Validation metrics by name, and whether larger is better.
METRICS = {"accuracy": True, "roc_auc": True, "mcc": True, "f1": True, "rmse": False}


@dataclass(frozen=True)
class Task:
    """The kind of label, the width of the output and the main metric.

    * ``multiclass``: ``y`` is int64 ``[G]``, -1 where the label is missing; ``outputs`` classes.
    * ``binary``: ``y`` is float ``[G, outputs]`` of 0, 1 and NaN (missing); one logit a column.
    * ``regression``: ``y`` is float ``[G, outputs]``, NaN where missing.

    At node level the first dimension counts nodes instead of graphs.
    """

    kind: Kind
    outputs: int
    metric: str = "accuracy"

    def __post_init__(self) -> None:
        check_name(self.kind, KINDS, "kind of task")
        check_name(self.metric, METRICS, "metric")
        if (self.kind == "regression") != (self.metric == "rmse"):
            raise ValueError(
                f"a {self.kind} task cannot be judged by {self.metric}; rmse is for regression and "
                "all other metrics are for classes."
            )
        if self.outputs < 1:
            raise ValueError(f"a task needs at least one output, got {self.outputs}.")

    @property
    def larger_is_better(self) -> bool:
        """Whether a larger value of the main metric is better."""
        return METRICS[self.metric]
