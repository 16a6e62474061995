"""What the explainers share: a trained network as PyG's algorithms need it, and their course."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerConfig, ModelConfig

from gsina.errors import InputError
from gsina.explainers.maskable import maskable_copy
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import Method, label_loss
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
    """A copy of a trained method that can be masked, see :func:`maskable_copy`."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = maskable_copy(method)
        self.task: Task = method.task

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.parameters()).device

    def forward(self, x: Tensor, edge_index: Tensor, graphs: Batch) -> Tensor:
        """Logits ``[G, outputs]``, or of nodes, with the masks that an explainer has put on layers.

        Args:
            x: Node features ``[N, F]``, perhaps masked.
            edge_index: Edges ``[2, E]``.
            graphs: All else of the batch.
        """
        return self.run(replace(graphs, x=x, edge_index=edge_index))

    def run(self, batch: Batch) -> Tensor:
        """The same for a batch as it is."""
        logits: Tensor = self.method(batch).logits
        return logits

    @torch.no_grad()
    def with_own_labels(self, batch: Batch) -> Batch:
        """The batch with what the model itself predicts as labels."""
        logits = self.run(batch)
        y = logits if self.task.kind == "regression" else predicted_classes(logits, self.task)
        return replace(batch, y=y if self.task.kind == "multiclass" else y.to(logits.dtype))

    def losses(self, logits: Tensor, target: Batch) -> Tensor:
        """How far logits are from the labels of a batch, one number per graph, or node."""
        return label_loss(logits, target.labels, self.task, reduction="none")

    def connect(self, algorithm: Any) -> None:
        """Tell one of PyG's algorithms what it explains: edges, for a label of each graph."""
        algorithm.connect(
            ExplainerConfig("phenomenon", edge_mask_type="object"),
            ModelConfig(MODES[self.task.kind], "graph", "raw"),
        )


class Training(NamedTuple):
    """How an explainer learns and then scores.

    Attributes:
        score: Scores the edges ``[E]`` of a batch that has some.
        steps: Takes one step of training whenever it is asked for the next item.
        num_steps: Number of these steps.
    """

    score: Callable[[Batch], Tensor]
    steps: Iterable[None] = ()
    num_steps: int = 0


class Explainer(ABC):
    """Settings, as a frozen dataclass, of a way to score the edges of graphs."""

    batch_size: int

    @abstractmethod
    def training(self, model: FrozenModel, train: PackedGraphs | None) -> Training:
        """How to learn from the training graphs, if at all, and to score."""

    def explain(
        self,
        model: FrozenModel,
        graphs: PackedGraphs,
        train: PackedGraphs | None = None,
        progress: OnProgress | None = None,
    ) -> Tensor:
        """Scores ``[E]`` of the edges of ``graphs``; larger is more important.

        Args:
            model: What is explained.
            graphs: The graphs to explain.
            train: Graphs to learn from, for explainers that do.
            progress: Called with the steps done and in all; a batch to explain is a step.
        """
        score, steps, num_steps = self.training(model, train)
        total = num_steps + ceil(len(graphs) / self.batch_size)
        for done, _ in enumerate(steps, start=1):
            if progress:
                progress(done, total)
        parts = []
        for done, batch in enumerate(graphs.batches(self.batch_size), start=num_steps + 1):
            parts.append(score(batch.to(model.device)).cpu() if batch.num_edges else torch.empty(0))
            if progress:
                progress(done, total)
        return torch.cat(parts)

    def training_graphs(self, train: PackedGraphs | None) -> PackedGraphs:
        """The training graphs that an explainer needs, or an error that says so."""
        if train is None or train.edge_index.size(1) == 0:
            got = "none" if train is None else "graphs without any edge"
            raise InputError(
                f"{type(self).__name__} learns from training graphs, and got {got}; pass "
                "train=<the training split>."
            )
        return train
