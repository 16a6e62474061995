"""The product of matrices in C beside double precision, and where it is used."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
import torch
from torch import Tensor

from gsina.ops import compiled
from gsina.ops.compiled import kernels, product, torch_alone


def is_wide() -> bool:
    """Whether the processor has what the kernel needs."""
    info = Path("/proc/cpuinfo")
    return platform.machine() == "x86_64" and info.exists() and "avx512f" in info.read_text()


needs_the_kernel = pytest.mark.skipif(
    kernels() is None or not is_wide(), reason="the kernel is for another processor"
)


def turned(x: Tensor) -> Tensor:
    """The same numbers, stored column by column."""
    return x.t().contiguous().t()


def is_by_kernel(a: Tensor, b: Tensor) -> bool:
    """Whether the kernel answers: torch is given numbers that it must not be asked for."""
    asked = pytest.MonkeyPatch()
    with asked.context() as patch:
        patch.setattr(Tensor, "__matmul__", lambda *_: None)
        return product(a, b) is not None


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 13, 300])
@pytest.mark.parametrize("depth", [1, 32, 255, 256, 700])
@pytest.mark.parametrize("columns", [32, 96, 40])
def test_against_double_precision(rows: int, depth: int, columns: int) -> None:
    torch.manual_seed(rows + depth)
    a, b, begin = torch.randn(rows, depth), torch.randn(depth, columns), torch.randn(columns)
    exact = a.double() @ b.double()
    for left in (a, turned(a)):
        for right in (b, turned(b)):
            close = {"atol": 2e-6 * depth**0.5, "rtol": 1e-5}
            torch.testing.assert_close(product(left, right).double(), exact, **close)
            torch.testing.assert_close(product(left, right, begin).double(), exact + begin, **close)


@needs_the_kernel
def test_a_row_is_bit_for_bit_the_same_alone_and_among_others() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(21, 300), torch.randn(300, 64)
    together = product(a, b)
    for row in range(21):
        assert torch.equal(product(a[row : row + 1], b)[0], together[row])


@needs_the_kernel
def test_what_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = torch.randn(9, 32), torch.randn(32, 64)
    assert is_by_kernel(a, b)
    assert not is_by_kernel(a, b[:, :40])  # no whole panels
    assert not is_by_kernel(a[:, ::2], b[::2])  # neither rows nor columns without gaps
    assert not is_by_kernel(a[:, :0], b[:0])
    with torch_alone():
        assert not is_by_kernel(a, b)
    monkeypatch.setattr(compiled, "FEW_THREADS", 0)
    assert not is_by_kernel(a, b)


def test_numbers_that_are_not_finite_stay_in_their_rows() -> None:
    a, b = torch.ones(10, 32), torch.ones(32, 32)
    a[3, 5], a[9, 0] = torch.nan, torch.inf
    found = product(a, b)
    assert found[3].isnan().all()
    assert found[9].isinf().all()
    assert found[[0, 1, 2, 4, 5, 6, 7, 8]].eq(32).all()
