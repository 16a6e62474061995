"""EIIL: invariance across the environments that a plain network violates most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.parts.environments import AcrossEnvironments, loss_slopes
from gsina.methods.parts.reference import ReferenceConfig, WithReference
from gsina.methods.risk.irm import FORMS, irm_penalty


@dataclass(frozen=True)
class EIILConfig(ReferenceConfig):
    """Settings of EIIL.

    Attributes:
        penalty: Coefficient lambda of IRM's penalty.
        form: ``squares`` or ``product``, as in IRM.
    """

    penalty: float = 1.0
    form: Literal["squares", "product"] = "squares"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "be 0 or more", "penalty")
        check_name(self.form, FORMS, "form of the penalty")


class EIIL(WithReference, AcrossEnvironments):
    """Train a reference, split the graphs so that it is as bad at invariance as can be, run IRM.

    After Creager, Jacobsen, Zemel, Environment inference for invariant learning, ICML 2021.

    1. A second network of the same make, the reference, is trained by ERM before the first epoch.
    2. With g_i the slope of graph i's loss under a factor on the reference's logits, the paper
       looks for soft environments s that maximise IRM's penalty
       ``(sum_i s_i g_i)^2 + (sum_i (1 - s_i) g_i)^2``. That is convex in ``sum_i s_i g_i``, so the
       best s puts all graphs of positive slope into one environment and all others into the other:
       no ascent is needed.
    3. IRM (:class:`~gsina.methods.risk.irm.IRM`) on these two environments.

    Unlike the CIGA benchmark's release, which infers environments again in every batch, from the
    model that is being trained, by 20 small steps that hardly move them from their random start,
    and on raw logits in place of log-probabilities.
    """

    config: EIILConfig

    def infer(self, logits: Tensor, train: PackedGraphs) -> Tensor:
        """The environments that the reference violates most."""
        assert train.y is not None  # the reference has learned from them
        return worst_environments(logits, train.y, self.task)

    def penalise(self, logits: Tensor, batch: Batch) -> Tensor:
        """IRM's penalty."""
        return irm_penalty(logits, batch, self.task, self.config.form)


def worst_environments(logits: Tensor, y: Tensor, task: Task) -> Tensor:
    """The two environments ``[G]``, 0 or 1, in which the logits violate IRM's condition most."""
    return (loss_slopes(logits, y, task) > 0).long()
