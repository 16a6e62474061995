"""One pass over a split in evaluation mode."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gsina import metrics
from gsina.data.packed import PackedGraphs
from gsina.data.task import Task
from gsina.methods.base import Method, label_loss


@dataclass(frozen=True)
class Predictions:
    """What a model says of a split.

    Attributes:
        logits: ``[G, outputs]``; at node level ``[N, outputs]``.
        edge: Edge attention ``[E]``, in the order of the split's edges; ``None`` without attention.
        node: Node attention ``[N]`` or ``None``.
        scores: Scores behind the edge attention ``[E]`` or ``None``.
    """

    logits: Tensor
    edge: Tensor | None
    node: Tensor | None
    scores: Tensor | None


@torch.no_grad()
def predict(method: Method, graphs: PackedGraphs, batch_size: int = 256) -> Predictions:
    """Predictions and attention of every graph, in order; the model's mode is put back after."""
    if len(graphs) == 0:
        raise ValueError("got a split without graphs, expected at least one to predict.")
    training = method.training
    method.eval()
    device = next(method.parameters()).device
    logits, edges, nodes, scores = [], [], [], []
    try:
        for batch in graphs.batches(batch_size):
            batch = batch.to(device)
            output = method(batch)
            logits.append(output.logits)
            if output.attention is not None:
                edges.append(output.attention.edge)
                nodes.append(output.attention.node)
                scores.append(output.attention.scores)
    finally:
        method.train(training)
    return Predictions(
        logits=torch.cat(logits).cpu(),
        edge=_join(edges),
        node=_join(nodes),
        scores=_join(scores),
    )


def _join(parts: list[Tensor | None]) -> Tensor | None:
    there = [part for part in parts if part is not None]
    return torch.cat(there).cpu() if there else None


def score(predictions: Predictions, graphs: PackedGraphs, task: Task) -> dict[str, float]:
    """All metrics that apply: the task's, and those of explanations where the truth is known."""
    logits, y = predictions.logits, graphs.labels(task.level)
    if y is None:
        raise ValueError("these graphs have no labels to score against.")
    if task.level == "node" and graphs.mask is not None:
        logits, y = logits[graphs.mask], y[graphs.mask]
    result = {"loss": float(label_loss(logits, y, task))}
    for name in dict.fromkeys([task.metric, *(["accuracy"] if task.kind != "regression" else [])]):
        result[name] = metrics.PREDICTION[name](logits, y, task)
    edge, truth = predictions.edge, graphs.edge_truth
    if edge is not None and truth is not None:
        graph = torch.repeat_interleave(graphs.edge_ptr.diff())
        result["explanation_auc"] = metrics.explanation_auc(edge, truth)
        result["explanation_auc_per_graph"] = metrics.explanation_auc_per_graph(edge, truth, graph)
        result["precision_at_5"] = metrics.precision_at_k(edge, truth, graph, 5)
    return result


def evaluate(
    method: Method, graphs: PackedGraphs, task: Task, batch_size: int = 256
) -> dict[str, float]:
    """Metrics of a model on a split."""
    return score(predict(method, graphs, batch_size), graphs, task)
