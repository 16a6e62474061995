"""The hard split of every graph into a kept part and the rest, by scores of its edges."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gsina.graphs.batch import Batch
from gsina.nn.attention import Attention
from gsina.nn.predictor import Predictor, embed
from gsina.nn.scorer import make_scorer
from gsina.nn.subgraph import edge_subgraph
from gsina.ops.edges import share_first, symmetrise
from gsina.ops.hard_top_r import hard_top_r


class Split(NamedTuple):
    """What a splitter makes of a batch.

    Attributes:
        states: Node states of the extractor ``[N, H]``.
        scores: One per directed edge ``[E]``, the same for both directions.
        kept: Which edges are in the kept part ``[E]``, bool.
    """

    states: Tensor
    scores: Tensor
    kept: Tensor

    @property
    def attention(self) -> Attention:
        """``sigmoid(score)`` of all edges, so that those outside the kept part stay ranked."""
        return Attention(self.scores.sigmoid(), None, self.scores.detach())


class Splitter(nn.Module):
    """Scores the edges and keeps the ``ceil(r E)`` highest of every graph.

    Args:
        extractor: Returns node states ``[N, H]``.
        channels: Width H.
        ratio: Share r to keep.
        scorer: ``plain`` or ``normed``.
    """

    def __init__(self, extractor: nn.Module, channels: int, ratio: float, scorer: str) -> None:
        super().__init__()
        self.extractor = extractor
        self.scorer = make_scorer(scorer, channels)
        self.ratio = ratio

    def score(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Node states ``[N, H]``, and the scores of the edges ``[E]``."""
        states = embed(self.extractor, batch)
        scores: Tensor = self.scorer(states, batch.edge_index, batch.edge_groups)
        return states, symmetrise(scores, batch.reverse)

    def forward(self, batch: Batch) -> Split:
        """Split all graphs at once; the choice itself has no gradient."""
        states, scores = self.score(batch)
        return Split(
            states, scores, hard_top_r(scores, self.ratio, batch.edge_groups, batch.reverse)
        )


def represent_part(predictor: Predictor, batch: Batch, edges: Tensor, weight: Tensor) -> Tensor:
    """Graph states ``[G, H]`` of the part with the marked edges and the nodes that they touch.

    Args:
        predictor: Has a readout.
        batch: Whole graphs, with the features that the predictor takes.
        edges: Which edges are in the part ``[E]``, bool.
        weight: Weight of every edge's messages ``[E]``, also of those outside.
    """
    part = edge_subgraph(batch, edges)
    if part.num_edges < batch.num_edges:
        weight = weight.index_select(0, edges.nonzero().squeeze(1))
    return predictor.represent(part, weight)


def with_features(batch: Batch, predict_from: str, states: Tensor) -> Batch:
    """The batch with its ``raw`` features, or the extractor's ``embedding`` in their place."""
    return replace(batch, x=states) if predict_from == "embedding" else batch


def logistic_noise(batch: Batch, like: Tensor) -> Tensor:
    """Standard logistic noise ``[E]``, the same for both directions of an edge."""
    return share_first(torch.logit(torch.rand_like(like), eps=1e-10), batch.reverse)
