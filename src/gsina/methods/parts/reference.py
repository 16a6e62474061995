"""The first stage of EIIL, CNC and GALA: a plain network whose mistakes are informative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from gsina.errors import check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import PlainMethod, task_loss
from gsina.methods.parts.environments import attach_environment
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.ops.host import kept_generators


@dataclass(frozen=True)
class ReferenceConfig:
    """How the reference is trained, before the first epoch of the method itself.

    Attributes:
        reference_epochs: Epochs of the reference. It should have learned what is easy, and not yet
            every graph by heart: a reference without mistakes is uninformative.
        reference_learning_rate: Of its Adam.
    """

    reference_epochs: int = 10
    reference_learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_range(self, "be 0 or more", "reference_epochs")
        check_range(self, "be above 0", "reference_learning_rate")


def train_reference(
    reference: Predictor,
    train: PackedGraphs,
    task: Task,
    config: ReferenceConfig,
    *,
    seed: int,
    batch_size: int,
) -> None:
    """Train a network by empirical risk minimisation; torch's generator is put back after.

    Args:
        reference: The network; outside this function its parameters need no gradient.
        train: Graphs with labels.
        task: Says which loss.
        config: Epochs and learning rate.
        seed: Decides on shuffling and dropout. The same in all processes that train together, so
            that each comes to the same reference.
        batch_size: Graphs per step.
    """
    device = next(reference.parameters()).device
    with kept_generators(device):
        torch.manual_seed(seed)
        shuffle = torch.Generator().manual_seed(seed)
        reference.requires_grad_(True).train()
        optimiser = torch.optim.Adam(
            reference.parameters(), lr=config.reference_learning_rate, fused=True
        )
        for _ in range(config.reference_epochs):
            for batch in train.batches(batch_size, shuffle):
                batch = batch.to(device)
                optimiser.zero_grad(set_to_none=True)
                loss = task_loss(reference(batch), batch, task)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        reference.requires_grad_(False)


def reference_logits(reference: Predictor, train: PackedGraphs, batch_size: int) -> Tensor:
    """Logits ``[G, outputs]`` of all graphs in evaluation mode, on the CPU."""
    return _of_all(reference, reference, train, batch_size)


def reference_states(reference: Predictor, train: PackedGraphs, batch_size: int = 128) -> Tensor:
    """States ``[G, H]`` of all graphs in front of the head, in evaluation mode, on the CPU."""
    return _of_all(reference, reference.represent, train, batch_size)


@torch.no_grad()
def _of_all(
    reference: Predictor, compute: Callable[[Batch], Tensor], train: PackedGraphs, batch_size: int
) -> Tensor:
    device = next(reference.parameters()).device
    training = reference.training
    reference.eval()
    found = [compute(batch.to(device)) for batch in train.batches(batch_size)]
    reference.train(training)
    return torch.cat(found).cpu()


def predictions(logits: Tensor, task: Task) -> Tensor:
    """Predicted labels, in the form of the task's labels."""
    return logits.argmax(1) if task.kind == "multiclass" else (logits > 0).to(logits.dtype)


class WithReference(PlainMethod):
    """A method that learns from a reference, a second network of the same make."""

    config: ReferenceConfig
    seed: Tensor

    def __init__(
        self, predictor: Predictor, reference: Predictor, task: Task, config: ReferenceConfig
    ) -> None:
        super().__init__(predictor, task, config)
        self.reference = reference.requires_grad_(False)
        self._environment: Tensor | None = None

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: ReferenceConfig) -> Self:
        """A fresh model and a fresh reference."""
        return cls(spec.predictor(task), spec.predictor(task), task, config)

    def infer(self, logits: Tensor, train: PackedGraphs) -> Tensor:
        """The environment of every training graph ``[G]``, from the reference's logits."""
        raise NotImplementedError

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        """Train the reference at epoch 0; attach the environments that follow from it."""
        if epoch == 0:
            train_reference(
                self.reference,
                train,
                self.task,
                self.config,
                seed=int(self.seed),
                batch_size=batch_size,
            )
        if epoch == 0 or self._environment is None:
            logits = reference_logits(self.reference, train, batch_size)
            self._environment = self.infer(logits, train)
        return attach_environment(train, self._environment)
