"""Batch normalisation that a training step with a single node survives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from torch import Tensor, nn


class BatchNorm(nn.BatchNorm1d):
    """Batch norm over nodes ``[N, C]``, by the running statistics where there are fewer than two.

    The last batch of an epoch may hold one graph of one node, which has no variance.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every channel."""
        if x.size(0) > 1:
            return super().forward(x)
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


@contextmanager
def keep_statistics(network: nn.Module) -> Iterator[None]:
    """Leave the running statistics of every batch norm in ``network`` as they are.

    For a training pass over graphs that evaluation will not see, such as the rest of a graph
    without its extracted part. The pass itself is normalised by its own statistics, as always.
    """
    norms = [
        module
        for module in network.modules()
        if isinstance(module, nn.modules.batchnorm._NormBase) and module.track_running_stats
    ]
    try:
        for norm in norms:
            norm.track_running_stats = False
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True
