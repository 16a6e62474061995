"""Environments, and what the methods that compare risks across them share.

A risk is the mean loss of the graphs of one environment. Environments belong to samples: they are
attached to the training graphs before an epoch, not drawn for places in a batch.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gsina.errors import InputError, check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import PlainMethod, task_loss
from gsina.nn.predictor import Predictor
from gsina.ops.groups import Groups
from gsina.ops.host import at_hand
from gsina.ops.ragged import number_rows


@dataclass(frozen=True)
class EnvironmentConfig:
    """Settings of a penalty across environments.

    Attributes:
        penalty: Coefficient lambda of the penalty.
        environments: ``random``: every training graph gets one of ``count`` environments, which it
            keeps (the CIGA benchmark has no others); ``given``: those of the data, such as the
            assays of DrugOOD or the groups of an ``--environment`` column.
        count: Number of random environments.
    """

    penalty: float = 1.0
    environments: Literal["random", "given"] = "random"
    count: int = 2

    def __post_init__(self) -> None:
        check_range(self, "be 0 or more", "penalty")
        check_name(self.environments, ("random", "given"), "kind of environments")
        if self.count < 2:
            raise InputError(f"count must be 2 or more environments, got {self.count}.")


class AcrossEnvironments(PlainMethod):
    """The plain network, its mean loss, and a penalty on how its risks differ.

    A subclass says what the penalty is. Environments that do not occur in a batch do not count; a
    batch without environments is one environment.

    Args:
        predictor: The network.
        task: What is predicted.
        config: With ``penalty``, and what the method of :meth:`prepare` needs.
    """

    seed: Tensor

    def __init__(self, predictor: Predictor, task: Task, config: EnvironmentConfig) -> None:
        super().__init__(predictor, task, config)
        # In the checkpoint: a resumed run has the environments of the run that began.
        self.register_buffer("seed", torch.randint(2**31, ()))

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        """Attach random environments, or see that there are given ones."""
        if self.config.environments == "random":
            return assign_environments(train, self.config.count, int(self.seed))
        if train.environment is None:
            raise InputError(
                "environments='given' needs training graphs with environments, and these have "
                "none; use environments='random', or data with domains (of your own file: name a "
                "column of groups with --environment; of PyG graphs: an attribute environment)."
            )
        if bool((train.environment == train.environment[0]).all()):
            raise InputError(
                "environments='given' needs training graphs of two environments or more, and "
                "these are all of one; use environments='random', or data with more groups."
            )
        return train

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Mean loss and penalty."""
        logits = self.predictor(batch)
        return {
            "prediction": task_loss(logits, batch, self.task),
            "penalty": self.config.penalty * self.penalise(logits, batch),
        }

    def penalise(self, logits: Tensor, batch: Batch) -> Tensor:
        """The penalty, a number, without its coefficient."""
        raise NotImplementedError


def attach_environment(train: PackedGraphs, environment: Tensor) -> PackedGraphs:
    """The same graphs with other environments ``[G]``."""
    if environment.shape != (len(train),):
        raise InputError(
            f"got environments of shape {list(environment.shape)} for {len(train)} graphs, "
            "expected one per graph."
        )
    # A plain copy keeps what the graphs have derived; `replace` would check and derive it again.
    # Opposite edges are looked up first, so that they are found once and not in every epoch.
    _ = train.reverse
    attached = copy(train)
    object.__setattr__(attached, "environment", environment)
    return attached


def assign_environments(train: PackedGraphs, count: int, seed: int) -> PackedGraphs:
    """The same graphs, each in one of ``count`` random environments; the seed decides."""
    generator = torch.Generator().manual_seed(seed)
    return attach_environment(train, torch.randint(count, (len(train),), generator=generator))


def environment_means(values: Tensor, batch: Batch, task: Task) -> Tensor:
    """Mean of a value over the labelled graphs of every environment that has any.

    Args:
        values: One per graph ``[G]``.
        batch: Graphs with labels and perhaps environments.
        task: Says which labels are missing.

    Returns:
        ``[K]``, in the order of the environments' numbers; empty if no graph has a label. On a
        device, where K is not known beforehand, there is one row per graph, and those that belong
        to no environment are 0.
    """
    if not at_hand(values):
        return _padded_means(values, batch, task)[0]
    known = has_label(batch.labels, task).nonzero().squeeze(1)
    environment = batch.environment
    if environment is None:
        environment = torch.zeros(batch.num_graphs, dtype=torch.long, device=values.device)
    found, place = number_rows(environment.index_select(0, known))
    groups = Groups(place, found.numel(), known.numel())
    return groups.sum(values.index_select(0, known)) / groups.counts(values)


def _padded_means(values: Tensor, batch: Batch, task: Task) -> tuple[Tensor, Tensor]:
    """Means ``[G]``, one per environment and 0 behind, and how many graphs each is of ``[G]``."""
    known = has_label(batch.labels, task)
    environment = batch.environment
    if environment is None:
        environment = torch.zeros_like(known, dtype=torch.long)
    environment, order = environment.sort(stable=True)
    place = torch.zeros_like(order)
    place[1:] = (environment[1:] != environment[:-1]).cumsum(0)
    groups = Groups(place, batch.num_graphs, batch.num_graphs)
    known = known.index_select(0, order).to(values.dtype)
    counts = groups.sum(known)
    means = groups.sum(values.index_select(0, order) * known) / counts.clamp(min=1)
    return means, counts


def risk_variance(logits: Tensor, batch: Batch, task: Task) -> Tensor:
    """Unbiased variance of the risks of the environments; 0 for fewer than two."""
    if at_hand(logits):
        risks = environment_risks(logits, batch, task)
        return risks.var() if risks.numel() > 1 else risks.sum() * 0
    risks, counts = _padded_means(task_loss(logits, batch, task, "none"), batch, task)
    there = (counts > 0).to(risks.dtype)
    number = there.sum()
    centred = (risks - risks.sum() / number.clamp(min=1)) * there
    return centred.square().sum() / (number - 1).clamp(min=1)


def environment_risks(logits: Tensor, batch: Batch, task: Task) -> Tensor:
    """Mean loss of every environment ``[K]``."""
    return environment_means(task_loss(logits, batch, task, "none"), batch, task)


def has_label(y: Tensor, task: Task) -> Tensor:
    """Which graphs have a label, or at least one of several ``[G]``, bool."""
    return y != -1 if task.kind == "multiclass" else ~y.isnan().all(1)


def loss_slopes(logits: Tensor, y: Tensor, task: Task) -> Tensor:
    """Derivative of every graph's loss by a factor on its logits, at 1, in closed form.

    ``d/dw CE(w f, y) = sum_c (p_c - [y = c]) f_c``; as many labels as there are are averaged.

    Args:
        logits: ``[G, outputs]``.
        y: Labels, as the task says.
        task: Says which loss.

    Returns:
        ``[G]``, 0 where no label is known; differentiable.
    """
    if task.kind == "multiclass":
        label_logit = logits.gather(1, y.clamp(min=0).unsqueeze(1)).squeeze(1)
        slopes = (logits.softmax(1) * logits).sum(1) - label_logit
        return torch.where(y == -1, 0.0, slopes)
    known = ~y.isnan()
    target = torch.where(known, y, 0).to(logits.dtype)
    error = 2 * (logits - target) if task.kind == "regression" else logits.sigmoid() - target
    return (error * logits * known).sum(1) / known.sum(1).clamp(min=1)
