"""Less memory for more time: states of a network are computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gsina.nn.norm import batch_norms
from gsina.ops.host import kind_of

_RECOMPUTED: ContextVar[bool] = ContextVar("gsina_recomputed", default=False)


@contextmanager
def recomputed(wanted: bool = True) -> Iterator[None]:
    """Let networks inside the block keep nothing for the backward pass but what they are given.

    The numbers stay the same: the random state comes back for the second pass, which leaves the
    running statistics of batch norms alone.
    """
    token = _RECOMPUTED.set(wanted)
    try:
        yield
    finally:
        _RECOMPUTED.reset(token)


def run_recomputed(
    function: Callable[..., Tensor], network: nn.Module, *given: Tensor | None
) -> Tensor:
    """``function(*given)``, once more in the backward pass inside :func:`recomputed`.

    Args:
        function: Runs the network.
        network: The network.
        given: What may need a gradient besides its parameters.
    """
    if not (_RECOMPUTED.get() and torch.is_grad_enabled()):
        return function(*given)

    norms = {norm: norm.track_running_stats for norm in batch_norms(network)}
    # Of all devices, torch leaves out Apple's when it puts the random state back.
    apple = any(one is not None and kind_of(one.device) == "mps" for one in given)
    drawn = torch.mps.get_rng_state() if apple else None

    def contexts() -> tuple[Any, Any]:
        return nullcontext(), _as_before(network, norms, drawn)

    found: Tensor = checkpoint(function, *given, use_reentrant=False, context_fn=contexts)
    return found


@contextmanager
def _as_before(network: nn.Module, norms: dict[Any, bool], drawn: Tensor | None) -> Iterator[None]:
    """A second pass that is the first one over again, and leaves no trace.

    Args:
        network: The network.
        norms: Its batch norms, and whether they kept statistics in the first pass.
        drawn: State of the generator of Apple's device before the first pass, if it is there.
    """
    later = None if drawn is None else torch.mps.get_rng_state()
    buffers = [value for value in network.buffers() if value is not None]
    before = [value.clone() for value in buffers]
    now = {norm: norm.track_running_stats for norm in norms}
    try:
        if drawn is not None:
            torch.mps.set_rng_state(drawn)
        for norm, kept in norms.items():
            norm.track_running_stats = kept
        yield
    finally:
        if later is not None:
            torch.mps.set_rng_state(later)
        for norm, kept in now.items():
            norm.track_running_stats = kept
        with torch.no_grad():
            for value, old in zip(buffers, before, strict=True):
                value.copy_(old)
