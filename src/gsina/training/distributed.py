"""One training on several processes: each holds a part of every batch.

Started by ``torchrun``, every process joins the group, takes its part of each global batch, and
goes through the same steps; PyTorch's ``DistributedDataParallel`` averages the gradients. What
belongs to the whole batch is summed over the processes (:mod:`gsina.ops.shared`), so the result is
that of one process with the same global batch, up to rounding; dropout and noise are drawn in every
process anew. The first process alone reads and writes checkpoints.
"""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.methods.base import Method
from gsina.ops.shared import shared_batch
from gsina.training.devices import choose_device

T = TypeVar("T")

TIMEOUT = timedelta(minutes=30)
#: How the devices of a kind talk to each other; Apple's machines have one.
BACKENDS = {"cuda": "nccl", "xpu": "xccl"}


class LostProcess(InputError):
    """Another process of the job has ended."""


@dataclass(frozen=True)
class Ranks:
    """This process and how many there are; ``Ranks()`` is a job of one."""

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes and speaks."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""
        return self.world == 1

    def batches(
        self, graphs: PackedGraphs, size: int, shuffle: torch.Generator
    ) -> Iterator[tuple[Batch, float]]:
        """This process's part of every global batch of ``size`` graphs, and its share of it.

        The shares of a batch sum to 1. But a batch with fewer graphs than there are processes is
        computed whole by each of them, which is a share of 1.
        """
        order = torch.randperm(len(graphs), generator=shuffle)
        for start in range(0, len(graphs), size):
            ids = order[start : start + size]
            if ids.numel() < self.world:
                yield graphs.batch(ids), 1.0
            else:
                local = ids.tensor_split(self.world)[self.rank]
                yield graphs.batch(local), local.numel() / ids.numel()

    def agree(self, value: T) -> T:
        """The value of the first process, for all (JSON-like things and tensors)."""
        if self.alone:
            return value
        box = [value]
        with _lost():
            dist.broadcast_object_list(box, src=0)
        return box[0]

    def gather(self, value: T) -> list[T]:
        """The values of all processes, in order."""
        if self.alone:
            return [value]
        found: list[Any] = [None] * self.world
        with _lost():
            dist.all_gather_object(found, value)
        return found


class Replica:
    """A method whose steps are those of the whole job.

    Args:
        method: The same fresh model in every process.
        ranks: This process.

    Raises:
        InputError: The method's loss or step needs the batch as a whole.
    """

    def __init__(self, method: Method, ranks: Ranks) -> None:
        if not method.shareable:
            raise InputError(
                f"the loss of {type(method).__name__} compares the graphs of a whole batch, which "
                f"{ranks.world} processes cannot share; train it without torchrun."
            )
        self.ranks = ranks
        with warnings.catch_warnings():
            # Newer releases of torch have another name for it, older ones only this.
            warnings.simplefilter("ignore", FutureWarning)
            self.parallel = DistributedDataParallel(_Loss(method), broadcast_buffers=False)

    def step(
        self, batch: Batch, share: float, optimiser: torch.optim.Optimizer, epoch: int
    ) -> dict[str, Tensor]:
        """One optimisation step of the job; returns the loss terms of the global batch."""
        optimiser.zero_grad(set_to_none=True)
        # The mean over processes that follows has to be the mean over the global batch.
        scale = 1.0 if share == 1 else share * self.ranks.world
        with _lost(), nullcontext() if share == 1 else shared_batch():
            terms: dict[str, Tensor] = self.parallel(batch, epoch)
            scaled = scale * torch.stack(list(terms.values()))
            scaled.sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            totals = scaled.detach() / self.ranks.world
            dist.all_reduce(totals)
        return dict(zip(terms, totals, strict=True))


class _Loss(nn.Module):
    """The loss as a forward pass, which is what DistributedDataParallel watches."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def forward(self, batch: Batch, epoch: int) -> dict[str, Tensor]:
        return self.method.terms(batch, epoch)


@contextmanager
def _lost() -> Iterator[None]:
    """Turn the failure of a collective into one sentence."""
    try:
        yield
    except RuntimeError as error:
        words = ("connection", "peer", "gloo", "nccl", "timed out", "socket")
        if not any(word in str(error).lower() for word in words):
            raise
        raise LostProcess(
            "another process of this training has ended; start the job again with --resume to go "
            "on from the last checkpoint."
        ) from error


def join(versions: dict[str, str], device: str = "cpu") -> Ranks:
    """Join the job that ``torchrun`` started; a job of one if there is none.

    Args:
        versions: Of the packages that numbers depend on; they must be the same everywhere.
        device: Where this process trains, as a user names it.

    Raises:
        InputError: The versions differ, or two processes have the same GPU.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Ranks()
    rank = int(os.environ["RANK"])
    place = choose_device(device)
    if place.type in BACKENDS:
        getattr(torch, place.type).set_device(place)
    if not dist.is_initialized():
        dist.init_process_group(_backend(place.type), timeout=TIMEOUT)
    ranks = Ranks(rank, world)
    try:
        _check_versions(ranks, versions)
        _check_devices(ranks, place)
    except InputError:
        leave()
        raise
    return ranks


def _backend(kind: str) -> str:
    """By what the processes talk to each other; numbers of the host always by gloo."""
    own = BACKENDS.get(kind)
    if own is None:
        return "gloo"
    if not dist.is_backend_available(own):
        raise InputError(
            f"this torch was built without {own}, by which processes with {kind} devices train "
            "together; train without torchrun, or install a build that has it."
        )
    return f"cpu:gloo,{kind}:{own}"


def _check_versions(ranks: Ranks, versions: dict[str, str]) -> None:
    for other, theirs in enumerate(ranks.gather(versions)):
        for package, version in versions.items():
            if theirs.get(package) != version:
                raise InputError(
                    f"process {ranks.rank} has {package} {version} and process {other} has "
                    f"{theirs.get(package, 'none')}; install the same version everywhere."
                )


def _check_devices(ranks: Ranks, place: torch.device) -> None:
    """Refuse processes that do not train alike, or that share one GPU."""
    found = ranks.gather((place.type, _address(place)))
    for other, (kind, address) in enumerate(found):
        if kind != place.type:
            raise InputError(
                f"process {ranks.rank} trains on {place.type} and process {other} on {kind}; give "
                "all of them the same --device."
            )
        if kind != "cpu" and other != ranks.rank and address == found[ranks.rank][1]:
            raise InputError(
                f"processes {ranks.rank} and {other} have the same device, {place}; give --device "
                f"{kind} without a number, and start as many processes as there are devices."
            )


def _address(place: torch.device) -> str:
    """The machine and the device, whatever number it has in this process."""
    number = str(place)
    if place.type == "cuda":
        number = str(getattr(torch.cuda.get_device_properties(place), "uuid", number))
    return f"{socket.gethostname()}/{number}"


def leave() -> None:
    """Leave the job, if there is one."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def check_sizes(ranks: Ranks, dataset: str, graphs: int, batch_size: int) -> None:
    """Refuse more processes than there is work for."""
    if ranks.world > min(graphs, batch_size):
        raise InputError(
            f"{ranks.world} processes share batches of {min(graphs, batch_size)} graphs of "
            f"{dataset}; use at most that many, or a larger --batch-size."
        )


def reseed(ranks: Ranks, seed: int, epoch: int) -> None:
    """Give every process noise of its own, that depends on the epoch and not on the past.

    So a job can go on with another number of processes.
    """
    if not ranks.alone:
        torch.manual_seed((seed * 1_000_003 + epoch) * 1_009 + ranks.rank)
