"""What can end a training before its last epoch, each in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs


class Diverged(InputError):
    """The loss is no longer a number."""


class OutOfMemory(InputError):
    """A step does not fit into the memory of its device."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; says which epochs are safe on disk."""


#: How the devices say that they are full; there is a class of errors only for some of them.
FULL = ("out of memory", "can't allocate memory", "not enough memory", "STATUS_ALLOC_FAILED")


def check_finite(batch: Batch, totals: dict[str, Tensor], epoch: int, step: int) -> None:
    """Refuse to go on with a loss that is no number.

    Raises:
        Diverged: With the step and the cause.
    """
    for name, total in totals.items():
        if not math.isfinite(value := float(total)):
            raise Diverged(
                f"training diverged in epoch {epoch + 1}, step {step + 1}: the {name} loss is "
                f"{value}; {cause(batch)}."
            )


def cause(data: Batch | PackedGraphs) -> str:
    """Why an output is not finite, and what to do."""
    for what, values in (("node features", data.x), ("edge features", data.edge_attr)):
        if values is not None and not bool(values.isfinite().all()):
            return f"the {what} hold NaN or infinite values; clean the data"
    if data.y is not None and bool(data.y.isinf().any()):
        return "the labels hold infinite values; write NaN where a label is missing"
    return "the weights or the loss have overflowed; lower the learning rate"


@contextmanager
def memory_errors(device: torch.device, batch_size: int, epoch: int, saved: str) -> Iterator[None]:
    """Say in one sentence that a device is full, and what to do.

    Args:
        device: Where it is trained.
        batch_size: Graphs (or sampled nodes) per step.
        epoch: The epoch, counted from 0.
        saved: What is safe on disk, as :func:`saved_epochs_text` says.

    Raises:
        OutOfMemory: The device has no more memory.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not any(word in str(error) for word in FULL):
            raise
        less = f"--batch-size {max(batch_size // 2, 1)}"
        raise OutOfMemory(
            f"{device} ran out of memory in epoch {epoch + 1} with --batch-size {batch_size}; "
            f"{saved}; train with {less}, with --recompute, or on another --device."
        ) from error


def saved_epochs_text(path: Path | None, epoch: int) -> str:
    """What is safe on disk after so many epochs."""
    if path is None:
        return "nothing was saved because no folder was given"
    if epoch == 0:
        return "nothing to resume yet"
    return f"{epoch} whole epochs are saved in {path.parent}"


def interruption(path: Path | None, epoch: int) -> str:
    """What to say after Ctrl-C."""
    which = "the first epoch" if epoch == 0 and path is not None else f"epoch {epoch + 1}"
    return f"interrupted in {which}; {saved_epochs_text(path, epoch)}."
