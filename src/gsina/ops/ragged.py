"""Rows of ragged groups, and products of sparse matrices from them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gsina.ops.host import count_members


def offsets(counts: Tensor) -> Tensor:
    """Offsets ``[G + 1]`` of groups with the given sizes ``[G]``."""
    zero = torch.zeros(1, dtype=torch.long, device=counts.device)
    return torch.cat([zero, counts.cumsum(0)])


def gather_groups(
    ptr: Tensor, ids: Tensor, total: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of the groups ``ids``, by the offsets of all groups ``[G + 1]``.

    Args:
        ptr: The offsets.
        ids: Groups to take ``[M]``, in any order, repeats allowed.
        total: Number of rows R, if it is known; otherwise a device is waited for.

    Returns:
        The row numbers ``[R]``, which of the taken groups each belongs to ``[R]``, and where each
        of these begins among the taken rows ``[M]``.
    """
    start = ptr.index_select(0, ids)
    counts = ptr.index_select(0, ids + 1) - start
    new_start = counts.cumsum(0) - counts
    slot = torch.repeat_interleave(counts, output_size=total)
    shift = (start - new_start).index_select(0, slot)
    return torch.arange(slot.numel(), device=ptr.device) + shift, slot, new_start


def take_groups(counts: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the groups ``ids``, one group after the other.

    Args:
        counts: Number of rows of every group ``[G]``; the groups lie end to end.
        ids: Groups to take ``[M]``, in any order, repeats allowed.

    Returns:
        The row numbers ``[R]``, and which of the taken groups each belongs to ``[R]``.
    """
    rows, slot, _ = gather_groups(offsets(counts), ids)
    return rows, slot


def number_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows of ``[N]`` or ``[N, C]``, sorted, and which of them each row is ``[N]``.

    NaN is a number like any other, that is equal to itself.
    """
    if rows.is_floating_point():  # sorting rows with NaN is not defined
        rows = rows.nan_to_num(torch.finfo(rows.dtype).min, torch.inf, -torch.inf)
    dim = 0 if rows.dim() > 1 else None  # without it numbers are sorted several times as fast
    found, number = rows.unique(dim=dim, return_inverse=True)  # type: ignore[no-untyped-call]
    return found, number


class Sparse(NamedTuple):
    """A sparse matrix by its entries; several at one place add up.

    Attributes:
        row: ``[E]``, int64.
        column: ``[E]``, int64.
        value: ``[E]``, differentiable.
    """

    row: Tensor
    column: Tensor
    value: Tensor

    @property
    def transposed(self) -> Sparse:
        """Rows and columns exchanged."""
        return Sparse(self.column, self.row, self.value)


def sparse_product(first: Sparse, second: Sparse, inner: int, width: int) -> Sparse:
    """The product of two sparse matrices, differentiable in the values of both.

    PyTorch's own has no gradient by the values on the CPU.

    Args:
        first: ``inner`` columns.
        second: ``inner`` rows, ``width`` columns.
        inner: Number of columns of the first.
        width: Number of columns of the product.

    Returns:
        One entry per place where any two entries meet, even if they cancel, by row and column.
    """
    order = second.row.argsort(stable=True)
    counts = count_members(second.row, inner)
    place, entry = take_groups(counts, first.column)
    partner = order.index_select(0, place)
    value = first.value.index_select(0, entry) * second.value.index_select(0, partner)
    key = first.row.index_select(0, entry) * width + second.column.index_select(0, partner)
    found, where = number_rows(key)
    total = value.new_zeros(found.numel()).index_add(0, where, value)
    return Sparse(found // width, found % width, total)
