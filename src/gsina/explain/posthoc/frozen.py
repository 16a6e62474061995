"""`FrozenModel`: a trained plain network with the interface of PyG's explainers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerConfig, ModelConfig

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import label_loss
from gsina.methods.erm import ERM
from gsina.metrics import predicted_classes

#: Called with the number of steps done and in all.
OnProgress = Callable[[int, int], None]

#: PyG's names of the kinds of task.
MODES = {
    "multiclass": "multiclass_classification",
    "binary": "binary_classification",
    "regression": "regression",
}


class FrozenModel(nn.Module):
    """A copy of an ERM model in evaluation mode, without gradients of its own.

    A copy, because explainers leave their masks and flags on the layers of what they explain.
    """

    def __init__(self, method: ERM) -> None:
        super().__init__()
        self.predictor = copy.deepcopy(method.predictor).eval().requires_grad_(False)
        self.task: Task = method.task

    def forward(self, x: Tensor, edge_index: Tensor, graphs: Batch) -> Tensor:
        """Logits ``[G, outputs]``, with the masks that an explainer has put on the layers.

        Args:
            x: Node features ``[N, F]``, perhaps masked.
            edge_index: Edges ``[2, E]``.
            graphs: All else of the batch.
        """
        return self.run(replace(graphs, x=x, edge_index=edge_index))

    def run(self, batch: Batch) -> Tensor:
        """The same for a batch as it is."""
        logits: Tensor = self.predictor(batch)
        return logits

    @torch.no_grad()
    def with_own_labels(self, batch: Batch) -> Batch:
        """The batch with what the model itself predicts as labels."""
        logits = self.run(batch)
        y = logits if self.task.kind == "regression" else predicted_classes(logits, self.task)
        return replace(batch, y=y if self.task.kind == "multiclass" else y.to(logits.dtype))

    def losses(self, logits: Tensor, target: Batch) -> Tensor:
        """How far logits are from the labels of a batch, one number per graph ``[G]``."""
        return label_loss(logits, target.labels, self.task, reduction="none")

    def connect(self, algorithm: Any) -> None:
        """Tell one of PyG's algorithms what it explains: edges, for a label of each graph."""
        algorithm.connect(
            ExplainerConfig("phenomenon", edge_mask_type="object"),
            ModelConfig(MODES[self.task.kind], "graph", "raw"),
        )


def training_graphs(train: PackedGraphs | None, who: str) -> PackedGraphs:
    """The training graphs that an explainer needs, or an error that says so."""
    if train is None or train.edge_index.size(1) == 0:
        got = "none" if train is None else "graphs without any edge"
        raise InputError(
            f"{who} learns from training graphs, and got {got}; pass train=<the training split>."
        )
    return train


def learn_then_score(
    learn: Iterator[None],
    num_steps: int,
    score: Callable[[Batch], Tensor],
    graphs: PackedGraphs,
    batch_size: int,
    device: torch.device,
    progress: OnProgress | None,
) -> Tensor:
    """Take all steps of an explainer's training, then score the edges ``[E]`` of ``graphs``.

    Args:
        learn: Takes a step whenever it is asked for the next item.
        num_steps: Number of its steps.
        score: Scores the edges of a batch.
        graphs: The graphs to explain.
        batch_size: Graphs of a batch.
        device: Where a batch is scored.
        progress: Called with the steps done and in all; a batch to explain is a step.
    """
    total = num_steps + ceil(len(graphs) / batch_size)
    for done, _ in enumerate(learn, start=1):
        if progress:
            progress(done, total)
    parts = []
    for done, batch in enumerate(graphs.batches(batch_size), start=num_steps + 1):
        parts.append(score(batch.to(device)).cpu())
        if progress:
            progress(done, total)
    return torch.cat(parts)
