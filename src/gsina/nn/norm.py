"""Batch normalisation that a training step with a single node survives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.ops.shared import is_shared, total


class BatchNorm(nn.BatchNorm1d):
    """Batch norm over nodes ``[N, C]``, by the running statistics where there are fewer than two.

    The last batch of an epoch may hold one graph of one node, which has no variance. Over several
    processes the statistics are those of the global batch.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every channel."""
        counted = _COUNTED.get()
        if counted is not None and self.training and len(counted) == len(x):
            return self._over_counted(x, counted)
        if self.training and is_shared():
            return self._over_processes(x)
        if x.size(0) > 1:
            return super().forward(x)
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )

    def _over_counted(self, x: Tensor, counted: Tensor) -> Tensor:
        """The same by the statistics of some of the rows; others get any numbers."""
        some = counted.to(x.dtype)
        count = some.sum()
        mean = (x * some.unsqueeze(1)).sum(0) / count.clamp(min=1)
        centred = x - mean
        variance = (centred.square() * some.unsqueeze(1)).sum(0) / count.clamp(min=1)
        enough, old_mean, old_variance = count > 1, self.running_mean, self.running_var
        if old_mean is not None and old_variance is not None:
            if self.track_running_stats and self.momentum is not None:
                with torch.no_grad():
                    unbiased = variance * count / (count - 1).clamp(min=1)
                    old_mean.lerp_(torch.where(enough, mean, old_mean), self.momentum)
                    old_variance.lerp_(torch.where(enough, unbiased, old_variance), self.momentum)
                    self.num_batches_tracked.add_(enough)  # type: ignore[union-attr]
            mean = torch.where(enough, mean, old_mean)
            variance = torch.where(enough, variance, old_variance)
        return torch.addcmul(self.bias, (x - mean) * (variance + self.eps).rsqrt(), self.weight)

    def _over_processes(self, x: Tensor) -> Tensor:
        """The same with sums over all processes; PyTorch's SyncBatchNorm needs a GPU."""
        count = total(x.new_full((1,), x.size(0)))
        mean = total(x.sum(0)) / count
        centred = x - mean
        variance = total(centred.square().sum(0)) / count
        if self.track_running_stats and self.momentum is not None and self.running_mean is not None:
            with torch.no_grad():
                unbiased = variance * count / (count - 1).clamp(min=1)
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(unbiased, self.momentum)  # type: ignore[union-attr]
                self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        normal = centred * (variance + self.eps).rsqrt()
        return torch.addcmul(self.bias, normal, self.weight)


_COUNTED: ContextVar[Tensor | None] = ContextVar("gsina_counted_nodes", default=None)


@contextmanager
def counted_nodes(inside: Tensor | None) -> Iterator[None]:
    """Let batch norms over the nodes of a batch take their statistics from some of them.

    Args:
        inside: Which nodes count ``[N]``, bool; ``None``: all.
    """
    token = _COUNTED.set(inside)
    try:
        yield
    finally:
        _COUNTED.reset(token)


def batch_norms(network: nn.Module) -> list[nn.modules.batchnorm._NormBase]:
    """All batch norms of a network, of any kind."""
    kind = nn.modules.batchnorm._NormBase
    return [module for module in network.modules() if isinstance(module, kind)]


@contextmanager
def keep_statistics(network: nn.Module) -> Iterator[None]:
    """Leave the running statistics of every batch norm in ``network`` as they are.

    For a training pass over graphs that evaluation will not see, such as the rest of a graph
    without its extracted part. The pass itself is normalised by its own statistics, as always.
    """
    norms = [norm for norm in batch_norms(network) if norm.track_running_stats]
    try:
        for norm in norms:
            norm.track_running_stats = False
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True
