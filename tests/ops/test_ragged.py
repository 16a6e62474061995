"""Rows of ragged groups, equal rows, and products of sparse matrices, against plain loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gsina.ops.ragged import Sparse, number_rows, sparse_product, take_groups


def test_take_groups() -> None:
    counts, ids = torch.tensor([2, 0, 3, 1]), torch.tensor([2, 1, 0, 2])
    rows, slot = take_groups(counts, ids)
    assert rows.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert slot.tolist() == [0, 0, 0, 2, 2, 3, 3, 3]
    assert take_groups(counts, ids[:0])[0].numel() == 0


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (torch.tensor([7, 2, 7, 2, 9]), [1, 0, 1, 0, 2]),
        (torch.tensor([[1.0, torch.nan], [1.0, 0.0], [1.0, torch.nan]]), [0, 1, 0]),
        (torch.full((3, 2), torch.nan), [0, 0, 0]),
    ],
)
def test_number_rows(rows: Tensor, expected: list[int]) -> None:
    found, number = number_rows(rows)
    assert number.tolist() == expected
    assert found.size(0) == max(expected) + 1


def random_sparse(rows: int, columns: int, entries: int) -> Sparse:
    return Sparse(
        torch.randint(rows, (entries,)),
        torch.randint(columns, (entries,)),
        torch.randn(entries, dtype=torch.float64),
    )


def dense(matrix: Sparse, rows: int, columns: int) -> Tensor:
    out = torch.zeros(rows, columns, dtype=torch.float64)
    for row, column, value in zip(*matrix, strict=True):
        out[row, column] += value
    return out


@pytest.mark.parametrize("entries", [0, 1, 30])
def test_sparse_product_is_the_dense_one(entries: int) -> None:
    torch.manual_seed(0)
    first, second = random_sparse(5, 6, entries), random_sparse(6, 4, entries)
    product = sparse_product(first, second, 6, 4)
    expected = dense(first, 5, 6) @ dense(second, 6, 4)
    torch.testing.assert_close(dense(product, 5, 4), expected)
    assert product.row.diff().ge(0).all()
    places = product.row * 4 + product.column
    assert places.unique().numel() == places.numel()
    torch.testing.assert_close(dense(first.transposed, 6, 5), dense(first, 5, 6).T)


def test_gradient_of_a_sparse_product() -> None:
    torch.manual_seed(0)
    first, second = random_sparse(4, 5, 9), random_sparse(5, 3, 9)

    def product(a: Tensor, b: Tensor) -> Tensor:
        return sparse_product(first._replace(value=a), second._replace(value=b), 5, 3).value

    values = (first.value.requires_grad_(), second.value.requires_grad_())
    assert torch.autograd.gradcheck(product, values)
