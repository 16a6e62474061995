"""V-REx: equal risks in all environments."""

from __future__ import annotations

from torch import Tensor

from gsina.graphs.batch import Batch
from gsina.methods.parts.environments import AcrossEnvironments, risk_variance


class VREx(AcrossEnvironments):
    """Mean loss, and the variance of the risks R_e of the environments.

    After Krueger et al., Out-of-distribution generalization via risk extrapolation, ICML 2021.

        CE + lambda Var_e R_e,

    unbiased: ``(R_0 - R_1)^2 / 2`` for two. Unlike the CIGA benchmark's release, where the risks
    are turned into plain numbers first, the penalty has a gradient: the release trains ERM under
    this name, and method ``erm`` does the same. Environments belong to graphs, not to places in
    the epoch.
    """

    def penalise(self, logits: Tensor, batch: Batch) -> Tensor:
        """The variance of the risks."""
        return risk_variance(logits, batch, self.task)
