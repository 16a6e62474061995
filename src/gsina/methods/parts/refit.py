"""The second stage of a method that extracts: a fresh predictor on hard subgraphs.

After GMT's: once the extractor is trained it is frozen, the edges with the highest scores are kept
whole, the others are left out, and a predictor learns from the beginning on what is left.
"""

from __future__ import annotations

from gsina.graphs.batch import Batch
from gsina.nn.attention import Attention
from gsina.nn.node_weights import node_attention
from gsina.ops.budget import Budget
from gsina.ops.edges import count_edges
from gsina.ops.hard_top_r import hard_top_r


def hard_part(attention: Attention, batch: Batch, budget: Budget) -> Attention:
    """The attention as a choice: weight 1 for the edges within the budget, 0 for the others.

    A node has the weight 1 if one of its edges is kept, else 0, as if it were deleted.

    Args:
        attention: Soft weights.
        batch: The graphs.
        budget: What may be kept of each graph.
    """
    edges = batch.edge_groups
    ratio = budget.ratios(count_edges(edges, batch.reverse, attention.edge.device).clamp(min=1))
    kept = hard_top_r(attention.edge.detach(), ratio, edges, batch.reverse)
    edge = kept.to(attention.edge.dtype)
    node = None
    if attention.node is not None:
        node = node_attention(edge, batch.edge_index, batch.num_nodes, 0.0, "max")
    return attention._replace(edge=edge, node=node)
