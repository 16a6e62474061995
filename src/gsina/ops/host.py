"""Which numbers the program may look at: on the CPU all, on other devices none that it waits for.

A number that is read from a GPU stalls it. So whatever hangs on numbers (the size of a selection,
the end of a loop) has two ways: the short one where they are at hand, and one whose shapes and
steps are known beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

#: Devices without a generator of their own.
PLAIN = ("cpu", "meta")
#: The kind of device that the CPU stands for.
_elsewhere = ""


def at_hand(values: Tensor) -> bool:
    """Whether numbers of ``values`` can be read without waiting for a device."""
    if torch.compiler.is_compiling():
        return values.is_cpu and not _elsewhere and not is_exporting()
    return values.is_cpu and not _elsewhere and not is_mapped(values)


def is_exporting() -> bool:
    """Whether ``torch.export`` looks on, which knows no numbers; older versions cannot say."""
    ask = getattr(torch.compiler, "is_exporting", None)
    return ask is not None and bool(ask())


def is_mapped(values: Tensor) -> bool:
    """Whether ``values`` are many at once, inside ``torch.func.vmap``, and none can be read."""
    inside = torch._C._functorch
    while inside.is_functorch_wrapped_tensor(values):
        if inside.is_batchedtensor(values):
            return True
        values = inside.get_unwrapped(values)
    return False


def is_transformed() -> bool:
    """Whether ``torch.func`` is at work, which knows no gradients but its own."""
    return torch._C._functorch.peek_interpreter_stack() is not None


@contextmanager
def as_on_a_device(kind: Literal["cuda", "mps"] = "cuda") -> Iterator[None]:
    """Compute on the CPU as on a device of another kind, to test how that is done."""
    global _elsewhere
    before, _elsewhere = _elsewhere, kind
    try:
        yield
    finally:
        _elsewhere = before


def module_of(device: torch.device) -> Any:
    """Torch's module for a kind of device, such as ``torch.cuda``."""
    return getattr(torch, device.type)


def generator_states(device: torch.device) -> dict[str, Tensor]:
    """The states of torch's generators that a training on the device draws from, by kind."""
    states = {"torch": torch.get_rng_state()}
    if device.type not in PLAIN:
        states[device.type] = _get_state(device)
    return states


def set_generator_states(device: torch.device, states: dict[str, Tensor], seed: int) -> None:
    """Put back what :func:`generator_states` gave, perhaps on another device.

    Args:
        device: Where training goes on.
        states: The states.
        seed: Seeds the generator of a device that was not there before.
    """
    torch.set_rng_state(states["torch"])
    if device.type in PLAIN:
        return
    if device.type in states:
        _set_state(device, states[device.type])
    else:
        module_of(device).manual_seed(seed)


@contextmanager
def kept_generators(device: torch.device) -> Iterator[None]:
    """Put the generators back at the end, those of the CPU and of the device."""
    states = generator_states(device)
    try:
        yield
    finally:
        set_generator_states(device, states, 0)


def _get_state(device: torch.device) -> Tensor:
    module = module_of(device)
    found: Tensor = module.get_rng_state() if device.type == "mps" else module.get_rng_state(device)
    return found


def _set_state(device: torch.device, state: Tensor) -> None:
    module = module_of(device)
    if device.type == "mps":
        module.set_rng_state(state)
    else:
        module.set_rng_state(state, device)


def widest(device: torch.device) -> torch.dtype:
    """The widest floating-point type of a device: Apple's have no float64, nor have Intel's all."""
    if device.type == "xpu":
        return torch.float64 if _has_float64(device) else torch.float32
    return torch.float32 if kind_of(device) == "mps" else torch.float64


@cache
def _has_float64(device: torch.device) -> bool:
    return bool(torch.xpu.get_device_properties(device).has_fp64)


def adds_int64(device: torch.device) -> bool:
    """Whether int64 numbers are added to groups as such: for Apple's, torch makes them int32."""
    return kind_of(device) != "mps"


def sums_segments(device: torch.device) -> bool:
    """Whether torch has sums of groups that lie side by side."""
    return kind_of(device) not in ("mps", "xpu")


def kind_of(device: torch.device) -> str:
    """The kind of a device, or the one that it stands for."""
    return _elsewhere if _elsewhere and device.type in ("cpu", "meta") else device.type


def move(values: Tensor, device: torch.device | str, *, non_blocking: bool = False) -> Tensor:
    """``values`` on a device; float64 becomes what is widest there."""
    place = torch.device(device)
    dtype = widest(place) if values.dtype == torch.float64 else values.dtype
    return values.to(place, dtype, non_blocking=non_blocking)


def count_members(index: Tensor, num: int) -> Tensor:
    """How often every number below ``num`` occurs in ``index``: ``[N] -> [num]``, int64.

    On a GPU ``torch.bincount`` waits for the largest number.
    """
    if at_hand(index):
        return torch.bincount(index, minlength=num)
    ones = index.new_ones(()).expand(index.numel())
    return index.new_zeros(num).scatter_add_(0, index, ones)
