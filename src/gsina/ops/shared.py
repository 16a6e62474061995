"""One batch over several processes: sums, extremes and groups that reach across them.

Inside :func:`shared_batch` every process holds a part of one global batch. What is defined over the
whole batch (batch norm, attention of scope ``batch``) then adds up over the processes, gradient
included, and gives what one process with the whole batch would give.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gsina.ops.groups import Groups

_SHARED: ContextVar[bool] = ContextVar("gsina_shared_batch", default=False)


@contextmanager
def shared_batch() -> Iterator[None]:
    """Say that the batches of the block are parts of one global batch.

    All processes of the default group must do the same steps inside.
    """
    token = _SHARED.set(dist.is_available() and dist.is_initialized())
    try:
        yield
    finally:
        _SHARED.reset(token)


def is_shared() -> bool:
    """Whether this is a block of :func:`shared_batch` with more than one process."""
    return _SHARED.get() and dist.get_world_size() > 1


def total(values: Tensor) -> Tensor:
    """Sum of ``values`` over the processes, for each of them; differentiable."""
    return _Total.apply(values)  # type: ignore[no-any-return,no-untyped-call]


class _Total(torch.autograd.Function):
    """Every process uses the sum, so the gradient of its own part is the sum of all gradients."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return _reduced(values, dist.ReduceOp.SUM)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _Total.apply(grad)  # type: ignore[no-any-return,no-untyped-call]


def _reduced(values: Tensor, how: Any) -> Tensor:
    values = values.detach().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(values, how)
    return values


@dataclass(frozen=True)
class SharedGroup(Groups):
    """One group of all elements of all processes; ``size`` counts those of this process."""

    @property
    def in_runs(self) -> tuple[Groups, Tensor | None]:
        """This group, which needs no other order."""
        return self, None

    def counts(self, like: Tensor) -> Tensor:
        """Number of elements of all processes ``[1]``."""
        return _reduced(like.new_full((1,), self.size), dist.ReduceOp.SUM)

    def sum(self, values: Tensor) -> Tensor:
        """Sum over all processes: ``[N, ...] -> [1, ...]``."""
        return total(values.sum(0, keepdim=True))

    def _extreme(self, values: Tensor, reduce: str, empty: float) -> Tensor:
        local = super()._extreme(values, reduce, empty)
        return _reduced(local, dist.ReduceOp.MAX if reduce == "amax" else dist.ReduceOp.MIN)


def whole_batch(size: int) -> Groups:
    """All elements of the batch as one group; of the global batch inside :func:`shared_batch`."""
    return SharedGroup(None, 1, size) if is_shared() else Groups.single(size)
