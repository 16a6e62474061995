"""`Affine`: a linear map of features, numbers or categories, that can be joined with the next one.

In evaluation a batch norm, and a linear map behind another, are linear too. Joined, in double
precision, a layer of any backbone is a few maps and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.explain.page.carry.store import Store
from gsina.nn.encoders import CategoryEncoder


@dataclass(frozen=True)
class Affine:
    """``x A + b``, or for categories the sum of the rows of ``A`` that they choose, ``+ b``.

    Attributes:
        matrix: ``A`` ``[in, out]``, double; for categories their tables on top of each other.
        bias: ``b`` ``[out]``, double, or ``None``.
        sizes: Number of categories of every column, or ``()`` for numbers.
    """

    matrix: Tensor
    bias: Tensor | None = None
    sizes: tuple[int, ...] = ()

    @classmethod
    def of(cls, module: nn.Module) -> Affine:
        """The map of a linear layer or of an encoder."""
        if isinstance(module, nn.Linear) or hasattr(module, "weight"):
            bias = getattr(module, "bias", None)
            weight: Any = module.weight
            return cls(weight.detach().double().T, None if bias is None else _double(bias))
        if isinstance(module, CategoryEncoder):
            tables: list[Any] = list(module.tables)
            matrix = torch.cat([_double(table.weight) for table in tables])
            return cls(matrix, None, tuple(len(table.weight) for table in tables))
        raise InputError(f"its layer {type(module).__name__} is not known to the page")

    def then(self, after: Affine) -> Affine:
        """This map and behind it another one."""
        bias = None if self.bias is None else self.bias @ after.matrix
        return replace(self, matrix=self.matrix @ after.matrix, bias=_sum(bias, after.bias))

    def normed(self, norm: nn.Module) -> Affine:
        """This map and behind it a batch norm in evaluation."""
        scale, shift = norm_of(norm)
        bias = shift if self.bias is None else self.bias * scale + shift
        return replace(self, matrix=self.matrix * scale, bias=bias)

    def put(self, store: Store) -> dict[str, Any]:
        """Its numbers in the store, and what the page has to know besides."""
        made: dict[str, Any] = {"matrix": store.add(self.matrix), "bias": store.add(self.bias)}
        return made | ({"sizes": list(self.sizes)} if self.sizes else {})


def norm_of(norm: Any) -> tuple[Tensor, Tensor]:
    """What a batch norm multiplies by and adds in evaluation, ``[H]`` each, double."""
    scale = _double(norm.weight) / (_double(norm.running_var) + norm.eps).sqrt()
    return scale, _double(norm.bias) - scale * _double(norm.running_mean)


def _double(values: Tensor) -> Tensor:
    return values.detach().double()


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
