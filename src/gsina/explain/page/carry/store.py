"""`Store`: the numbers of a network, and features of graphs, as text for the page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from torch import Tensor

#: Bits of a number, the exact ones first.
BITS = (32, 16)
#: Whole numbers below this are shorter as they are than in base64.
SMALL = 1000


class Store:
    """Matrices in the order in which they were added.

    With 32 bits they are single precision, as in the model. With 16 bits every matrix is whole
    numbers times its largest value / 32,767: steps of 0.003 % of that value.
    """

    def __init__(self) -> None:
        self._matrices: list[Tensor] = []

    def add(self, values: Tensor | None) -> int | None:
        """The number of a matrix ``[rows, columns]`` or vector ``[columns]``."""
        if values is None:
            return None
        self._matrices.append(values.detach().float().reshape(-1, values.size(-1)))
        return len(self._matrices) - 1

    def text_length(self, bits: int) -> int:
        """Characters that :meth:`encode` needs for the numbers."""
        return sum(matrix.numel() for matrix in self._matrices) * bits // 6

    def encode(self, bits: int) -> dict[str, Any]:
        """Shapes, numbers in base64 (little-endian), and with 16 bits the unit of every matrix."""
        parts, units = [], []
        for matrix in self._matrices:
            values = matrix.cpu().numpy()
            if bits == 16:
                unit = float(np.abs(values).max(initial=0.0)) / 32767 or 1.0
                units.append(unit)
                parts.append(np.rint(values / unit).astype("<i2").tobytes())
            else:
                parts.append(values.astype("<f4").tobytes())
        return {
            "bits": bits,
            "shapes": [list(matrix.shape) for matrix in self._matrices],
            "units": units,
            "numbers": base64.b64encode(b"".join(parts)).decode(),
        }


def pack(values: Tensor) -> str | list[int]:
    """Features as they are if they are small whole numbers, else in base64 as single precision."""
    if _is_small(values):
        whole: list[int] = values.flatten().long().tolist()
        return whole
    return base64.b64encode(values.detach().cpu().numpy().astype("<f4").tobytes()).decode()


def packed_lengths(values: Tensor, ptr: Tensor) -> Tensor:
    """About how many characters the rows of each group take ``[G]``.

    Args:
        values: Features ``[N, F]``.
        ptr: Offsets of the rows of each group ``[G + 1]``.
    """
    each = 3.0 if _is_small(values) else 16 / 3  # at most two digits mostly, and a comma
    return ptr.diff() * values.size(1) * each


def _is_small(values: Tensor) -> bool:
    whole = not values.is_floating_point() or bool((values == values.round()).all())
    return whole and bool((values.abs() < SMALL).all())
