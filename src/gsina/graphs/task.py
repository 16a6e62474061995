"""What is predicted: the kind of label and the metric that judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gsina.errors import InputError, check_name
from gsina.metrics import METRICS, selecting_metrics

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["multiclass", "binary", "regression"]
Level = Literal["graph", "node"]

KINDS = ("multiclass", "binary", "regression")
LEVELS = ("graph", "node")


@dataclass(frozen=True)
class Task:
    """The kind of label, the width of the output and the main metric.

    * ``multiclass``: ``y`` is int64 ``[G]``, -1 where the label is missing; ``outputs`` classes.
    * ``binary``: ``y`` is float ``[G, outputs]`` of 0, 1 and NaN (missing); one logit per column.
    * ``regression``: ``y`` is float ``[G, outputs]``, NaN where missing.

    At node level the first dimension counts nodes instead of graphs, and a split of several graphs
    is scored on all its nodes together, or, with ``per_graph``, as the mean over its graphs.
    """

    kind: Kind
    outputs: int
    metric: str = "accuracy"
    level: Level = "graph"
    per_graph: bool = False

    def __post_init__(self) -> None:
        check_name(self.kind, KINDS, "kind of task")
        check_name(self.metric, selecting_metrics(), "metric")
        check_name(self.level, LEVELS, "level of a task")
        if self.kind not in METRICS[self.metric].kinds:
            raise InputError(
                f"a {self.kind} task cannot be scored by {self.metric}; metrics for it: "
                f"{', '.join(selecting_metrics(self.kind))}."
            )
        if self.outputs < 1:
            raise InputError(f"a task needs at least one output, got {self.outputs}.")

    def check(self, y: Tensor, where: str) -> None:
        """Refuse labels that are not as the kind says.

        Args:
            y: Labels.
            where: Whose labels they are, for the message.
        """
        import torch  # here: the lists of datasets and methods can do without

        rows = "N" if self.level == "node" else "G"
        if self.kind == "multiclass":
            are_classes = y.dtype == torch.long and y.dim() == 1
            if not are_classes or bool(((y < -1) | (y >= self.outputs)).any()):
                found = f"{y.dtype} of shape {list(y.shape)}"
                if are_classes:
                    found = f"values from {int(y.min())} to {int(y.max())}"
                raise InputError(
                    f"labels of {where} must be int64 [{rows}] from 0 to {self.outputs - 1} (-1 if "
                    f"missing), got {found}."
                )
        elif not y.is_floating_point() or y.dim() != 2 or y.size(1) != self.outputs:
            raise InputError(
                f"labels of {where} must be floating point [{rows}, {self.outputs}] (NaN if "
                f"missing), got {y.dtype} of shape {list(y.shape)}."
            )
        elif self.kind == "binary":
            other = y[(y != 0) & (y != 1) & ~y.isnan()]
            if other.numel():
                raise InputError(
                    f"labels of {where} must be 0, 1 or NaN (missing), got {other[0].item():g}."
                )

    @property
    def larger_is_better(self) -> bool:
        """Whether a larger value of the main metric is better."""
        return METRICS[self.metric].larger_is_better
