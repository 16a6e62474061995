"""The same scores with another budget: what stands out if less may be kept."""

from __future__ import annotations

from dataclasses import replace

import torch

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.nn.node_weights import node_attention
from gsina.ops.budget import Budget
from gsina.ops.soft_top_r import soft_top_r
from gsina.training.evaluate import Predictions


def with_budget(
    predictions: Predictions, graphs: PackedGraphs, budget: Budget, temperature: float = 1.0
) -> Predictions:
    """Predictions whose attention is solved again from its scores, for another budget.

    The answers stay those of the model, and so does the order of the edges of a graph; only how
    many of them stand out changes.

    Args:
        predictions: Of these very graphs, with the scores of edges ``[E]``.
        graphs: The graphs.
        budget: What the attention of every graph may hold.
        temperature: Softness of the attention.
    """
    if predictions.scores is None:
        raise InputError("these predictions come without scores of edges; take those of GSINA.")
    counts = (graphs.edge_ptr[1:] - graphs.edge_ptr[:-1]).double()
    index = torch.repeat_interleave(torch.arange(len(graphs)), counts.long())
    pairs = counts / 2 if graphs.undirected else counts
    ratio = torch.as_tensor(budget.ratios(pairs.clamp(min=1)), dtype=torch.float64)
    ratio = ratio.expand(len(graphs))
    edge = soft_top_r(
        predictions.scores, ratio, index, temperature=temperature, num_groups=len(graphs)
    )
    nodes = graphs.node_ptr[1:] - graphs.node_ptr[:-1]
    isolated = ratio.repeat_interleave(nodes)
    ends = graphs.edge_index + graphs.node_ptr[index]
    node = node_attention(edge, ends, len(graphs.x), isolated, "max")
    return replace(predictions, edge=edge, node=None if predictions.node is None else node)
