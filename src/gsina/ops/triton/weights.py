"""Soft top-r as one kernel on GPUs, by Triton; where there is none, torch computes the same.

One program per group, forward and backward; a group longer than a block is read block by block. The
search is that of :mod:`gsina.ops.solvers.dual32`, by halves instead of ninths: a program has its
numbers at hand, and a step costs it no launch. Sums are of whole numbers, and so exact.

Not run on a GPU yet: tested in Triton's interpreter, and compiled for several of them.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from gsina.ops.groups import Groups, Runs

#: Devices that Triton has compilers for.
KINDS = ("cuda", "xpu")
#: Elements that a program looks at together.
BLOCK = 1024
#: A group with more elements keeps all but one processor of a GPU waiting; torch shares it out.
LONGEST = 1 << 16
#: Halvings before and after the shift, and Newton's steps at the end.
COARSE_STEPS, FINE_STEPS, NEWTON_STEPS = 34, 12, 5
BITS, MOST_BITS = 40, 62


def available(values: Tensor) -> bool:
    """Whether the kernel can compute with these values."""
    there = values.device.type in KINDS and values.dtype == torch.float32
    return there and find_spec("triton") is not None and not torch.compiler.is_compiling()


def solve(logits: Tensor, ratio: Tensor, groups: Groups) -> tuple[Tensor, Tensor] | None:
    """Weights and their complements ``[N]``; ``None`` to leave it to torch.

    Args:
        logits: ``2 * scores / temperature`` ``[N]``, float32.
        ratio: Shares ``[G]`` in (0, 1].
        groups: Group of every element.
    """
    runs, order = groups.in_runs
    if not isinstance(runs, Runs) or groups.num == 0 or groups.size > LONGEST * groups.num:
        return None
    x = (logits if order is None else logits.index_select(0, order)).contiguous()
    weights, complement = torch.empty_like(x), torch.empty_like(x)
    bits = min(BITS, MOST_BITS - max(groups.size, 1).bit_length())
    _kernels()[0][(groups.num,)](
        x, ratio.to(torch.float32), runs.bounds, weights, complement, 2.0**bits, **_sizes()
    )
    return _back(weights, order), _back(complement, order)


def gradient(weights: Tensor, complement: Tensor, grad: Tensor, groups: Groups) -> Tensor | None:
    """Gradient by the logits ``[N]``, in closed form; ``None`` to leave it to torch.

    Args:
        weights: Weights ``[N]``.
        complement: One minus each, with all its digits ``[N]``.
        grad: Gradient by the weights ``[N]``.
        groups: Group of every element.
    """
    runs, order = groups.in_runs
    if not isinstance(runs, Runs) or groups.num == 0 or groups.size > LONGEST * groups.num:
        return None
    given = weights, complement, grad
    taken = [(one if order is None else one.index_select(0, order)).contiguous() for one in given]
    found = torch.empty_like(taken[0])
    _kernels()[1][(groups.num,)](*taken, runs.bounds, found, BLOCK=BLOCK)
    return _back(found, order)


def _back(values: Tensor, order: Tensor | None) -> Tensor:
    return values if order is None else torch.empty_like(values).index_copy_(0, order, values)


def _sizes() -> dict[str, int]:
    return {
        "COARSE": COARSE_STEPS,
        "FINE": FINE_STEPS,
        "NEWTON": NEWTON_STEPS,
        "BLOCK": BLOCK,
    }


_made: list[Any] = []


def _kernels() -> tuple[Any, Any]:
    """The two kernels, made when they are first called: importing Triton takes a while."""
    if not _made:
        from gsina.ops.triton.kernels import backward_kernel, forward_kernel

        _made.extend((forward_kernel, backward_kernel))
    return _made[0], _made[1]
