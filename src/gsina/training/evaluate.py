"""One pass over a split in evaluation mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.fields import EDGE, LABEL, NODE, join, take
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import Method, label_loss
from gsina.methods.ensemble import MeanOutput
from gsina.metrics import METRICS, explanation_metrics, reported_metrics
from gsina.ops.ragged import take_groups
from gsina.training.devices import device_of
from gsina.training.distributed import Ranks
from gsina.training.states import Level, no_node_states, watch_states


@dataclass(frozen=True)
class Predictions:
    """What a model says of a split.

    Attributes:
        logits: ``[G, outputs]``; at node level ``[N, outputs]``.
        edge: Edge attention ``[E]``, in the order of the split's edges; ``None`` without attention.
        node: Node attention ``[N]`` or ``None``.
        scores: Scores behind the edge attention ``[E]`` or ``None``.
        states: What the last layer takes ``[G, H]``, at node level ``[N, H]``; if asked for, and
            if the method says which layer that is.
        node_states: What is pooled into them ``[N, H]``; if asked for.
        members: Logits of every member of an ensemble ``[G, members, outputs]``; else ``None``.
    """

    logits: Tensor = field(metadata=LABEL)
    edge: Tensor | None = field(default=None, metadata=EDGE)
    node: Tensor | None = field(default=None, metadata=NODE)
    scores: Tensor | None = field(default=None, metadata=EDGE)
    states: Tensor | None = field(default=None, metadata=LABEL)
    node_states: Tensor | None = field(default=None, metadata=NODE)
    members: Tensor | None = field(default=None, metadata=LABEL)

    @classmethod
    def join(cls, parts: Sequence[Predictions]) -> Predictions:
        """The predictions for several sets of graphs end to end."""
        return cls(**join(parts))

    @property
    def places(self) -> Tensor:
        """Where rows lie in the model's own space ``[G, H]``: their states, or else logits."""
        return self.logits if self.states is None else self.states


def evaluation_size(method: Method, batch_size: int) -> int:
    """Graphs per batch of an evaluation, for a method that is trained with ``batch_size``.

    Four times as many small graphs are quicker, and need about the memory of a step that keeps its
    gradients. A method whose answers depend on the batch gets batches as in training; so do the
    large graphs of tasks at node level.
    """
    larger = method.batch_invariant and method.task.level == "graph"
    return 4 * batch_size if larger else batch_size


@torch.no_grad()
def predict(
    method: Method,
    graphs: PackedGraphs,
    batch_size: int = 256,
    ranks: Ranks | None = None,
    *,
    states: Level | None = None,
) -> Predictions:
    """Predictions and attention of every graph, in order; the model's mode is put back after.

    A method whose answers depend on the batch sees the graphs shuffled, always in the same way.
    Files are often sorted by label, and then a graph's company would give its label away.

    Args:
        method: The model.
        graphs: A split.
        batch_size: Graphs per batch.
        ranks: The processes that share the batches out; all of them get all predictions.
        states: Which states to keep besides; none by default.
    """
    if len(graphs) == 0:
        raise InputError("got a split without graphs, expected at least one to predict.")
    ranks = ranks or Ranks()
    training = method.training
    method.eval()
    device = device_of(method)
    order = None if method.batch_invariant else _shuffled(len(graphs))
    ids = torch.arange(len(graphs)) if order is None else order
    found: list[Predictions] = []
    try:
        with watch_states(method, states) as seen:
            for chunk in torch.split(ids, batch_size)[ranks.rank :: ranks.world]:
                batch = graphs.batch(chunk).to(device)
                output = method(batch)
                logits, attention = output
                members = output.members if isinstance(output, MeanOutput) else None
                parts = (None, None, None) if attention is None else attention
                kept = seen.take(len(logits), batch.num_nodes)
                if states == "node" and kept[1] is None:
                    raise no_node_states(method)
                found.append(Predictions(logits.cpu(), *map(_to_cpu, (*parts, *kept, members))))
    finally:
        method.train(training)
    in_turn = chain.from_iterable(zip_longest(*ranks.gather(found)))
    joined = Predictions.join([part for part in in_turn if part is not None])
    return joined if order is None else _put_back(joined, order, graphs, method.task.level)


def _shuffled(count: int) -> Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(0))


def _put_back(found: Predictions, order: Tensor, graphs: PackedGraphs, level: str) -> Predictions:
    """Predictions for the graphs ``order``, in the graphs' own order."""
    places = order.argsort()
    nodes, edges = (
        take_groups(ptr.diff().index_select(0, order), places)[0]
        for ptr in (graphs.node_ptr, graphs.edge_ptr)
    )
    labelled = places if level == "graph" else nodes
    return replace(found, **take(found, {"node": nodes, "edge": edges, "label": labelled}))


def _to_cpu(values: Tensor | None) -> Tensor | None:
    return None if values is None else values.cpu()


def score(
    predictions: Predictions,
    graphs: PackedGraphs,
    task: Task,
    decided: Tensor | None = None,
) -> dict[str, float]:
    """All metrics that apply: the task's, and those of explanations where the truth is known.

    Args:
        predictions: What a model says.
        graphs: Graphs with labels.
        task: The task.
        decided: Logits whose sign is the decision, where that is not the sign of the logits; then
            the metric that thresholds are chosen by is reported too.
    """
    logits, y = predictions.logits, graphs.labels(task.level)
    if y is None:
        raise InputError("these graphs have no labels to score against.")
    sizes = graphs.node_ptr.diff()
    if task.level == "node" and graphs.mask is not None:
        owner = torch.repeat_interleave(sizes)[graphs.mask]
        sizes = torch.bincount(owner, minlength=len(graphs))
        logits, y = logits[graphs.mask], y[graphs.mask]
        decided = None if decided is None else decided[graphs.mask]
    by_graph = task.level == "node" and task.per_graph and len(graphs) > 1
    parts = sizes.tolist() if by_graph else [len(y)]
    result = {"loss": float(label_loss(logits, y, task))}
    names = reported_metrics(task.kind, task.metric)
    if decided is not None:
        logits, names = decided, list(dict.fromkeys([*names, METRICS[task.metric].threshold_by]))
    for name in names:
        each = zip(torch.split(logits, parts), torch.split(y, parts), strict=True)
        scores = [METRICS[name].function(*part, task) for part in each]
        result[name] = sum(scores) / len(scores)
    edge, truth = predictions.edge, graphs.edge_truth
    if edge is not None and truth is not None:
        graph = torch.repeat_interleave(graphs.edge_ptr.diff())
        if predictions.scores is not None:
            edge = rank_edges(edge, predictions.scores, graph)
        for name in explanation_metrics():
            result[name] = METRICS[name].function(edge, truth, graph)
    return result


def rank_edges(edge: Tensor, scores: Tensor, graph: Tensor) -> Tensor:
    """Rank of every edge ``[E]`` by its weight and, of equal weights, by its score; 0 is the least.

    A weight may round to 1 where the score still says which of several such edges the method
    prefers. Not so where all weights of a graph are equal and are no sigmoids of their scores
    (GSINA's at ``r = 1``): such edges have equal ranks. NaN stays as it is.

    Args:
        edge: Weights ``[E]``.
        scores: Scores ``[E]``.
        graph: Graph of every edge ``[E]``.
    """
    if edge.numel() == 0 or edge.isnan().any():
        return edge.double()
    least, most = (
        edge.new_zeros(int(graph.max()) + 1).scatter_reduce(0, graph, edge, how, include_self=False)
        for how in ("amin", "amax")
    )
    silent = (least == most)[graph] & (torch.sigmoid(scores) != edge)
    scores = scores.masked_fill(silent, 0.0)
    order = scores.argsort(stable=True)
    order = order[edge[order].argsort(stable=True)]
    higher = torch.zeros_like(order)
    for values in (edge[order], scores[order]):
        higher[1:] |= (values[1:] != values[:-1]).long()
    return torch.empty_like(order).scatter_(0, order, higher.cumsum(0)).double()


def evaluate(
    method: Method, graphs: PackedGraphs, task: Task, batch_size: int = 256
) -> dict[str, float]:
    """Metrics of a model on a split."""
    return score(predict(method, graphs, batch_size), graphs, task)
