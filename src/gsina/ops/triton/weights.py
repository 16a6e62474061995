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

from gsina.ops.compiled import have_memory
from gsina.ops.groups import Groups, Runs
from gsina.ops.solvers.dual32 import parts_of_one

#: Devices that Triton has compilers for.
KINDS = ("cuda", "xpu")
#: Elements that a program looks at together.
BLOCK = 1024
#: A group with more elements keeps all but one processor of a GPU waiting; torch shares it out.
LONGEST = 1 << 16
#: Halvings before and after the shift, and Newton's steps at the end.
COARSE_STEPS, FINE_STEPS, NEWTON_STEPS = 34, 12, 5


def available(values: Tensor) -> bool:
    """Whether the kernel can compute with these values."""
    there = values.device.type in KINDS and values.dtype == torch.float32
    return there and find_spec("triton") is not None and have_memory()


def is_suited(groups: Groups) -> bool:
    """Whether a program per group is a good way: there are some, of this process, not too long."""
    known = type(groups) in (Groups, Runs) and groups.index is not None
    return known and groups.num > 0 and groups.size <= LONGEST * groups.num


def in_runs(groups: Groups) -> tuple[Runs, Tensor]:
    """Groups side by side, and the element at each of their places ``[N]``."""
    runs, order = groups.in_runs
    assert isinstance(runs, Runs)
    if order is None:
        order = torch.arange(groups.size, device=runs.bounds.device)
    return runs, order


def solve(logits: Tensor, ratio: Tensor, groups: Groups) -> tuple[Tensor, Tensor] | None:
    """Weights and their complements ``[N]``; ``None`` to leave it to torch.

    Args:
        logits: ``2 * scores / temperature`` ``[N]``, float32.
        ratio: Shares ``[G]`` in (0, 1].
        groups: Group of every element.
    """
    if not is_suited(groups):
        return None
    runs, order = in_runs(groups)
    x = logits.index_select(0, order)
    weights, complement = torch.empty_like(x), torch.empty_like(x)
    part, shares = parts_of_one(groups.size), ratio.to(torch.float32).contiguous()
    given = x, order, shares, runs.bounds, weights, complement, part
    launch("forward_kernel", groups.num, *given, **sizes())
    return weights, complement


def gradient(weights: Tensor, complement: Tensor, grad: Tensor, groups: Groups) -> Tensor | None:
    """Gradient by the logits ``[N]``, in closed form; ``None`` to leave it to torch.

    Args:
        weights: Weights ``[N]``.
        complement: One minus each, with all its digits ``[N]``.
        grad: Gradient by the weights ``[N]``.
        groups: Group of every element.
    """
    if not is_suited(groups):
        return None
    runs, order = in_runs(groups)
    given = [one.contiguous() for one in (weights, complement, grad)]
    found = torch.empty_like(given[0])
    launch("backward_kernel", groups.num, order, runs.bounds, *given, found, BLOCK=BLOCK)
    return found


def sizes() -> dict[str, int]:
    """What the kernels that solve are made for."""
    return {
        "COARSE": COARSE_STEPS,
        "FINE": FINE_STEPS,
        "NEWTON": NEWTON_STEPS,
        "BLOCK": BLOCK,
    }


def launch(kernel: str, programs: int, *given: Any, **sizes: int) -> None:
    """Run a kernel; they are made at the first call, as importing Triton takes a while."""
    from gsina.ops.triton import kernels

    getattr(kernels, kernel)[(programs,)](*given, **sizes)
