"""Draw training graphs so that shortcuts are taken away, without knowing them.

What a shallow network learns within a few epochs is what is easy: the size of a graph, how often
a feature occurs, the shape of a base that goes with a label. Weights p(y) / p(y | x), with p(y | x)
by such a network, make the label independent of what it reads: graphs whose label it gets wrong
are drawn more often, those that it is sure of less. A deeper network that is trained on such draws
has to find something else, if there is something else. Graphs are drawn by their weights and not
weighed in the loss, so that batch norm sees the same graphs as the loss: on validation graphs of
Spurious-Motif that was better.

The idea is that of Liu et al., "Just Train Twice" (ICML 2021), and of Nam et al., "Learning from
Failure" (NeurIPS 2020). Unlike there, the weights follow from the probabilities, so that there is
no factor to choose, and every graph is judged by a network that has not seen it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.parts.reference import ReferenceConfig, reference_logits, train_reference
from gsina.nn.predictor import NetworkSpec, Predictor

#: The shallow network: its layers and the epochs it is trained for.
LAYERS, EPOCHS = 2, 5
#: Parts of the training graphs; those of a part are judged by a network trained on the others.
FOLDS = 2
#: The largest weight before the weights are scaled to mean 1.
MOST = 20.0


def shortcut_weights(
    train: PackedGraphs, task: Task, spec: NetworkSpec, *, seed: int, batch_size: int
) -> Tensor:
    """``p(y) / p(y | x)`` of every training graph ``[G]``, at most :data:`MOST`; missing labels: 1.

    Args:
        train: Graphs with one class label each.
        task: The task.
        spec: Network of the model; the shallow one is its first layers, with its usual readout.
        seed: Decides on the folds, initialisation and shuffling; torch's generator stays as it was.
        batch_size: Graphs per step.

    Raises:
        InputError: The task is no classification of graphs with one target.
    """
    y = train.labels(task.level)
    single = task.kind == "multiclass" or (task.kind == "binary" and task.outputs == 1)
    if task.level == "node" or not single or y is None:
        raise InputError(
            f"resample = shortcuts is for one class label per graph, got {task.outputs} targets of "
            f"kind {task.kind} at {task.level} level; leave it out."
        )
    known = (y != -1) if task.kind == "multiclass" else ~y.flatten().isnan()
    label = torch.where(known, y.flatten(), 0).long()
    classes = task.outputs if task.kind == "multiclass" else 2
    share = torch.bincount(label[known], minlength=classes).double() / known.sum().clamp(min=1)
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))
    folds = [fold for fold in order.chunk(FOLDS) if len(fold)]
    chance = share[label]
    if len(folds) == FOLDS:
        for number, fold in enumerate(folds):
            others = torch.cat([other for other in folds if other is not fold])
            shallow = _train_shallow(train[others], task, spec, seed + number, batch_size)
            logits = reference_logits(shallow, train[fold], batch_size).double()
            if task.kind == "binary":
                logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
            chance[fold] = logits.softmax(-1).gather(1, label[fold].unsqueeze(1)).squeeze(1)
    weight = torch.where(known, (share[label] / chance.clamp(min=1e-12)).clamp(max=MOST), 1.0)
    return weight.float()


def _train_shallow(
    graphs: PackedGraphs, task: Task, spec: NetworkSpec, seed: int, batch_size: int
) -> Predictor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        shallow = spec.shallow(LAYERS).predictor(task)
    config = ReferenceConfig(reference_epochs=EPOCHS)
    train_reference(shallow, graphs, task, config, seed=seed, batch_size=batch_size)
    return shallow
