"""IB-IRM: invariant risk minimisation with an information bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gsina.errors import check_range
from gsina.graphs.batch import Batch
from gsina.methods.base import task_loss
from gsina.methods.risk.irm import IRM, IRMConfig


@dataclass(frozen=True)
class IBIRMConfig(IRMConfig):
    """Settings of IB-IRM.

    Attributes:
        bottleneck: Coefficient of the variance of the representation; 1 in the CIGA benchmark.
    """

    bottleneck: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "be 0 or more", "bottleneck")


class IBIRM(IRM):
    """IRM's loss, and the variance of the graph states z in front of the head.

    After Ahuja et al., Invariance principle meets information bottleneck for out-of-distribution
    generalization, NeurIPS 2021.

        CE + lambda sum_e g_e^2 + bottleneck * mean_k Var_i z_ik.

    A small variance stands for little information, as the entropy of a Gaussian grows with it. See
    :class:`~gsina.methods.risk.irm.IRM` for g_e, for the environments, and for what the CIGA
    benchmark's release does otherwise.
    """

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Mean loss, IRM's penalty and the variance of the states."""
        states = self.predictor.represent(batch)
        logits = self.predictor.logits(states)
        return {
            "prediction": task_loss(logits, batch, self.task),
            "penalty": self.config.penalty * self.penalise(logits, batch),
            "bottleneck": self.config.bottleneck * mean_variance(states),
        }


def mean_variance(states: Tensor) -> Tensor:
    """Unbiased variance of every column of ``[G, H]``, averaged; 0 for fewer than two graphs."""
    if states.size(0) < 2:
        return torch.zeros_like(states).sum()
    return states.var(dim=0).mean()
