"""IRM: a representation on which one classifier is best in every environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from gsina.errors import check_name
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.parts.environments import (
    AcrossEnvironments,
    EnvironmentConfig,
    environment_means,
    loss_slopes,
)

FORMS = ("squares", "product")


@dataclass(frozen=True)
class IRMConfig(EnvironmentConfig):
    """Settings of IRM.

    Attributes:
        form: ``squares``, the paper's penalty; ``product``, that of the CIGA benchmark's release:
            the products of the slopes of every two environments, which may be negative.
    """

    form: Literal["squares", "product"] = "squares"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self.form, FORMS, "form of the penalty")


class IRM(AcrossEnvironments):
    """Mean loss, and how far a factor on the logits is from its best value in each environment.

    After Arjovsky, Bottou, Gulrajani, Lopez-Paz, Invariant risk minimization, 2019.

    With R_e the risk of environment e and f the logits,

        CE + lambda sum_e g_e^2,        g_e = d/dw R_e(w f) at w = 1.

    Unlike the CIGA benchmark's release: its penalty is ``g_0 g_1`` (``form="product"``); its
    environments belong to places in the shuffled epoch, so that a graph changes its environment
    from epoch to epoch; and a batch in which an environment does not occur gives NaN there. The
    slopes g_e are written out and not derived twice, which costs next to nothing.
    """

    def penalise(self, logits: Tensor, batch: Batch) -> Tensor:
        """The sum of the squared slopes."""
        return irm_penalty(logits, batch, self.task, self.config.form)


def irm_penalty(logits: Tensor, batch: Batch, task: Task, form: str = "squares") -> Tensor:
    """``sum_e g_e^2``, or the sum of ``g_e g_f`` over pairs of environments."""
    slopes = environment_means(loss_slopes(logits, batch.labels, task), batch, task)
    squares = slopes.square().sum()
    return squares if form == "squares" else (slopes.sum().square() - squares) / 2
