"""`Groups`: reductions over ragged groups of a flat tensor, without padding and without loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gsina.ops.host import adds_int64, at_hand, sums_segments

#: Most elements that are added up one after the other.
PIECE = 512


@dataclass(frozen=True)
class Groups:
    """Which group every element of a flat tensor belongs to.

    Attributes:
        index: Group of every element ``[N]``, int64, in any order; ``None`` if all are one group.
        num: Number of groups G; groups may be empty.
        size: Number of elements N.
    """

    index: Tensor | None
    num: int
    size: int

    @classmethod
    def single(cls, size: int) -> Groups:
        """All ``size`` elements in one group."""
        return cls(None, 1, size)

    @cached_property
    def in_runs(self) -> tuple[Groups, Tensor | None]:
        """The same groups side by side, and the order ``[N]`` of the elements that makes them so.

        The order is ``None`` if the elements need not move. On the CPU that is found out; elsewhere
        asking would stall the device, and sorting is cheap.
        """
        if self.index is None:
            return self, None
        index, order = self.index.contiguous(), None
        if not at_hand(index) or bool((index[1:] < index[:-1]).any()):
            index, order = torch.sort(index, stable=True)
        bounds = torch.searchsorted(index, torch.arange(self.num + 1, device=index.device))
        return Runs(index, self.num, self.size, bounds), order

    def counts(self, like: Tensor) -> Tensor:
        """Number of elements of each group ``[G]``, with the dtype and device of ``like``."""
        if self.index is None:
            return like.new_full((1,), self.size)
        ones = like.new_ones(()).expand(self.size)
        return like.new_zeros(self.num).scatter_add_(0, self.index, ones)

    def sum(self, values: Tensor) -> Tensor:
        """Sum over each group: ``[N, ...] -> [G, ...]``; 0 for an empty group."""
        if values.dtype == torch.int64 and not adds_int64(values.device):
            return self._sum_by_digits(values)
        if self.index is None:
            return values.sum(0, keepdim=True)
        index = self.index
        if values.dim() > 1:
            index = index.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
        return values.new_zeros(self.num, *values.shape[1:]).scatter_add(0, index, values)

    def _sum_by_digits(self, values: Tensor) -> Tensor:
        """Sums of int64 from sums of int32: of digits so small that no sum of them overflows."""
        bits = max(31 - self.size.bit_length(), 1)
        total = torch.zeros((), dtype=torch.int64, device=values.device)
        for place in range(0, 64, bits):
            digits = (values >> place) & ((1 << bits) - 1)
            total = total + (self.sum(digits.int()).long() << place)
        return total

    def max(self, values: Tensor) -> Tensor:
        """Maximum over each group: ``[N] -> [G]``; -inf for an empty group."""
        return self._extreme(values, "amax", -torch.inf)

    def min(self, values: Tensor) -> Tensor:
        """Minimum over each group: ``[N] -> [G]``; inf for an empty group."""
        return self._extreme(values, "amin", torch.inf)

    def spread(self, per_group: Tensor) -> Tensor:
        """Give every element the value of its group: ``[G, ...] -> [N, ...]``.

        For a single group the result is ``[1, ...]``, which broadcasts.
        """
        return per_group if self.index is None else per_group.index_select(0, self.index)

    def logsumexp(self, values: Tensor) -> Tensor:
        """``log sum exp`` over each group: ``[N] -> [G]``; -inf for an empty group."""
        top = self.max(values.detach())
        shift = torch.where(top.isfinite(), top, torch.zeros_like(top))
        return self.sum((values - self.spread(shift)).exp()).log() + shift

    def _extreme(self, values: Tensor, reduce: str, empty: float) -> Tensor:
        start = values.new_full((self.num,), empty)
        if self.index is None:
            if self.size == 0:
                return start
            return (values.amax(0) if reduce == "amax" else values.amin(0)).view(1)
        return start.scatter_reduce(0, self.index, values, reduce)


@dataclass(frozen=True)
class Runs(Groups):
    """Groups whose elements lie side by side.

    Sums, where no gradient is recorded, add up pieces of at most ``PIECE`` elements and then the
    pieces: a few times faster than adding one element after the other to its group, and exact
    almost to the last digit for millions of elements.

    Attributes:
        bounds: First element of every group, and the end ``[G + 1]``.
    """

    bounds: Tensor

    @cached_property
    def pieces(self) -> tuple[Tensor, Tensor | None]:
        """First element of every piece, and the end ``[P + 1]``; the group of every piece ``[P]``.

        Pieces may be empty. The groups are ``None`` if every group is one piece.
        """
        bounds = self.bounds
        if at_hand(bounds) and (self.num == 0 or int(bounds.diff().max()) <= PIECE):
            return bounds, None
        starts = torch.arange(0, self.size, PIECE, device=bounds.device)
        cuts = torch.cat([bounds, starts]).sort().values
        return cuts, torch.searchsorted(bounds[1:-1], cuts[:-1], right=True)

    @property
    def in_runs(self) -> tuple[Groups, Tensor | None]:
        """These groups, which need no other order."""
        return self, None

    def counts(self, like: Tensor) -> Tensor:
        """Number of elements of each group ``[G]``, with the dtype and device of ``like``."""
        return self.bounds.diff().to(like)

    def sum(self, values: Tensor) -> Tensor:
        """Sum over each group: ``[N, ...] -> [G, ...]``; 0 for an empty group."""
        recorded = values.requires_grad and torch.is_grad_enabled()
        if values.dim() > 1 or recorded or not sums_segments(values.device):
            return super().sum(values)
        cuts, owner = self.pieces
        pieces = torch.segment_reduce(values, "sum", offsets=cuts, unsafe=True)
        if owner is None:
            return pieces
        return values.new_zeros(self.num).index_add_(0, owner, pieces)
