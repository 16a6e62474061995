"""Sparse, soft, differentiable: the paper's three properties, measured on trained models."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.methods import Method
from gsina.methods.extracting.ciga import CIGA
from gsina.methods.extracting.dir import DIR
from gsina.methods.extracting.gsat import GSAT
from gsina.methods.gsina import GSINA
from gsina.nn.scorer import NormedScorer, PairScorer, PlainScorer
from gsina.ops.hard_top_r import hard_top_r
from gsina.runs.run import Run

#: A weight that is neither off nor on lies strictly between these.
SOFT = (0.01, 0.99)


@dataclass(frozen=True)
class Properties:
    """What was measured of one trained model.

    Attributes:
        ratio: The share r of the edges of a graph that counts as its top.
        top_share: Share of a graph's weight that lies on its top; mean over the graphs.
        mean_weight: Mean weight of the edges of a graph; mean over the graphs.
        spread: Standard deviation over the graphs of that mean weight.
        soft_share: Share of all edges with a weight strictly between 0.01 and 0.99.
        reached: Share of all edges whose score gets a gradient other than 0 from the prediction
            loss.
        outside: Mean size of the gradient of a score outside the top, over that inside.
    """

    ratio: float
    top_share: float
    mean_weight: float
    spread: float
    soft_share: float
    reached: float
    outside: float


def measure_properties(
    method: Method, graphs: PackedGraphs, ratio: float, batch_size: int = 128
) -> Properties:
    """Measure a trained GSAT, DIR, CIGA or GSINA, in evaluation mode: without noise and dropout.

    Args:
        method: The trained model; its mode is put back after.
        graphs: Graphs with labels, such as those it was trained on.
        ratio: Share r of the edges that counts as the top of a graph, the same for all methods.
        batch_size: Graphs at a time.

    Raises:
        InputError: The method has no attention on edges, or the graphs have no edges.
    """
    training = method.training
    device = next(method.parameters()).device
    method.eval()
    try:
        parts = [
            _measure(method, batch.to(device), ratio)
            for batch in graphs.batches(batch_size)
            if batch.num_edges
        ]
    finally:
        method.train(training)
    if not parts:
        raise InputError("got graphs without any edge, expected some edges to measure.")
    whole = _Measured(*(torch.cat(values) for values in zip(*parts, strict=True)))
    low, high = SOFT
    return Properties(
        ratio=ratio,
        top_share=float(whole.top_share.mean()),
        mean_weight=float(whole.mean_weight.mean()),
        spread=float(whole.mean_weight.std(correction=0)),
        soft_share=float(((whole.weight > low) & (whole.weight < high)).double().mean()),
        reached=float((whole.gradient != 0).double().mean()),
        outside=float(whole.gradient[~whole.top].mean() / whole.gradient[whole.top].mean()),
    )


class _Measured(NamedTuple):
    """Of edges: weight, size of the gradient, whether in the top; of graphs: share, mean weight."""

    weight: Tensor
    gradient: Tensor
    top: Tensor
    top_share: Tensor
    mean_weight: Tensor


def _measure(method: Method, batch: Batch, ratio: float) -> _Measured:
    edges = batch.edge_groups
    weights, gradients = message_weights(method, batch), score_gradients(method, batch)
    top = hard_top_r(weights, ratio, edges, batch.reverse)
    total, counts = edges.sum(weights), edges.counts(weights)
    shares = (edges.sum(weights * top) / total)[total > 0]
    return _Measured(weights, gradients, top, shares, (total / counts)[counts > 0])


@torch.no_grad()
def message_weights(method: Method, batch: Batch) -> Tensor:
    """What the messages of the edges are multiplied by ``[E]``, float64; 0 for a removed edge."""
    attention = method(batch).attention
    if not isinstance(method, (GSAT, DIR, CIGA, GSINA)) or attention is None:
        raise InputError(
            f"expected a model of gsat, dir, ciga or gsina, which weigh messages, got a "
            f"{type(method).__name__}."
        )
    weights: Tensor = attention.edge.double()
    if isinstance(method, (DIR, CIGA)):
        edges = batch.edge_groups
        weights = weights * hard_top_r(attention.scores, method.config.ratio, edges, batch.reverse)
    return weights


def score_gradients(method: Method, batch: Batch) -> Tensor:
    """Size of the gradient of the prediction loss at the score of every edge ``[E]``, float64."""
    kinds = (NormedScorer, PlainScorer, PairScorer)
    scorers = [module for module in method.modules() if isinstance(module, kinds)]
    if len(scorers) != 1:
        raise InputError(
            f"expected a model with one scorer of edges, got a {type(method).__name__} with "
            f"{len(scorers)}."
        )
    seen: list[Tensor] = []

    def remember(module: nn.Module, inputs: Any, scores: Tensor) -> None:
        seen.append(scores)

    handle = scorers[0].register_forward_hook(remember)
    try:
        with torch.enable_grad():
            loss = method.terms(batch)["prediction"]
    finally:
        handle.remove()
    (gradient,) = torch.autograd.grad(loss, seen[-1])
    return gradient.abs().double()


def property_result(run: Run, ratio: float, graphs: PackedGraphs, data: str) -> dict[str, Any]:
    """The result of a run with its measured properties, to be stored as a file.

    Args:
        run: A finished run of ``gsat``, ``dir``, ``cigav2`` or ``gsina``.
        ratio: Share r of the edges that counts as the top.
        graphs: The graphs to measure on.
        data: What these graphs are, for the page: ``"training graphs of SPMotif b = 0.5"``.
    """
    measured = measure_properties(run.method, graphs, ratio)
    return {**run.result, "properties": asdict(measured), "properties_of": data}
