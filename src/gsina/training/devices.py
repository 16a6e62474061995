"""Where a model is trained and used: the CPU, or an accelerator by the name that torch gives it."""

from __future__ import annotations

import os
import re

import torch

from gsina.errors import InputError, check_name
from gsina.graphs.batch import Batch
from gsina.graphs.packed import Known, PackedGraphs
from gsina.ops.host import module_of

#: Kinds of accelerators, the one that ``auto`` prefers first.
ACCELERATORS = ("cuda", "xpu", "mps")
#: Methods that wait for the device in a training step, and why. All others do not.
WAITING = {
    "asap": "how many pairs of clusters touch each other is found by products of sparse matrices",
    "igm": "parts of other graphs are copied, and how large those are is known only when drawn",
}
#: Training graphs live on the device if they take no more than this share of its free memory.
RESIDENT_SHARE = 0.5
#: In what numbers a training step is computed.
PRECISIONS = ("float32", "bf16")
#: What a user may name, for messages and help.
NAMES = "auto, cpu, cuda (or cuda:1), mps or xpu"


def available_devices() -> list[str]:
    """All devices that torch can use here, such as ``cuda:0``; the CPU is the last."""
    found = []
    for kind in ACCELERATORS:
        count = _count(kind)
        found += [kind] if kind == "mps" and count else [f"{kind}:{at}" for at in range(count)]
    return [*found, "cpu"]


def choose_device(name: str | torch.device = "cpu") -> torch.device:
    """The device that a name means on this machine.

    Args:
        name: ``cpu``; ``cuda``, ``xpu`` or ``mps``, with the number of one of several as in
            ``cuda:1``; or ``auto`` for the best that there is. Without a number it is the first,
            and under ``torchrun`` the one with the number of the process on its machine.

    Raises:
        InputError: It is no such name, or there is no such device; names those that there are.
    """
    text, there = str(name).strip().lower(), available_devices()
    if text == "auto":
        text = there[0].partition(":")[0]
    if re.fullmatch(rf"cpu|({'|'.join(ACCELERATORS)})(:\d+)?", text) is None:
        raise InputError(
            f"the device must be {NAMES}, got {str(name)!r}; here there are: {', '.join(there)}."
        )
    kind, _, number = text.partition(":")
    if kind in ("cpu", "mps") and not int(number or 0):
        wanted = kind
    else:
        wanted = f"{kind}:{number or os.environ.get('LOCAL_RANK', '0')}"
    if wanted in there:
        return torch.device(wanted)
    most = _count(kind)
    more = f", and start at most {most} processes on a machine" if most and not number else ""
    if kind == "cuda" and not most and not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
        more = ", or install a build of torch that is made for CUDA"
    raise InputError(
        f"torch {torch.__version__} finds no device {wanted} here, only {', '.join(there)}; choose "
        f"one of these{more}."
    )


def check_precision(name: str) -> str:
    """A precision, or one sentence why it is none."""
    if name in ("fp16", "float16"):
        raise InputError(
            f"got precision {name!r}, in which small gradients vanish unless the loss is scaled, "
            "and that is not built; choose bf16, which needs none, or float32."
        )
    return check_name(name, PRECISIONS, "precision")


def device_of(module: torch.nn.Module) -> torch.device:
    """Where a module's parameters are; the CPU if it has none."""
    return next((value.device for value in module.parameters()), torch.device("cpu"))


def device_name(device: torch.device) -> str | None:
    """What the accelerator calls itself; ``None`` for the CPU."""
    if device.type == "cpu":
        return None
    name = getattr(module_of(device), "get_device_name", None)
    return device.type if name is None else str(name(device))


def free_memory(device: torch.device) -> int:
    """Bytes of the device's memory that are free now; 0 if the device does not say."""
    module = module_of(device)
    if device.type == "mps":  # which shares the memory of the host, and says how much it may take
        most = getattr(module, "recommended_max_memory", None)
        return 0 if most is None else int(most() - module.driver_allocated_memory())
    ask = getattr(module, "mem_get_info", None)
    return 0 if ask is None else int(ask(device)[0])


class Home:
    """Where the training graphs are: on the device if they fit there, otherwise on the host.

    Args:
        device: Where training takes place.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._known: Known = {}

    def place(self, graphs: PackedGraphs) -> PackedGraphs:
        """The graphs where batches are best assembled from; what was there before is not copied."""
        if self.device.type == "cpu":
            return graphs
        there = sum(copied.nbytes for _, copied in self._known.values())
        if graphs.nbytes > RESIDENT_SHARE * (free_memory(self.device) + there):
            return graphs
        return graphs.to(self.device, self._known)

    def bring(self, batch: Batch) -> Batch:
        """A batch on the device, without waiting for its copy where the device can do that."""
        if batch.x.device == self.device:
            return batch
        if self.device.type == "cuda":
            return batch.pin_memory().to(self.device, non_blocking=True)
        return batch.to(self.device)


def _count(kind: str) -> int:
    """How many devices of a kind there are."""
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    module = getattr(torch, kind, None)
    return int(module.device_count()) if module is not None and module.is_available() else 0
