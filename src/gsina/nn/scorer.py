"""Scorers: one number per edge, from the embeddings of its two ends, or one per node."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.errors import InputError, check_name
from gsina.ops.compiled import MANY_EDGES
from gsina.ops.groups import Groups
from gsina.ops.instance_norm import norm_relu_dropout
from gsina.ops.pair_scores import compiled_scores, pair_scores


class PairLinear(nn.Linear):
    """A linear layer on ``[h_source, h_target]``, computed on the nodes and gathered.

    The same parameters and values as ``nn.Linear(2 * channels, out)`` on the concatenation, at the
    cost of nodes instead of edges.
    """

    def __init__(self, channels: int, out_channels: int) -> None:
        super().__init__(2 * channels, out_channels)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:  # type: ignore[override]
        """``[N, channels]`` and ``[2, E]`` to ``[E, out_channels]``."""
        source, target = self.halves(h)
        return source.index_select(0, edge_index[0]) + target.index_select(0, edge_index[1])

    def halves(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """What every node adds as a source and as a target, ``[N, out_channels]`` each."""
        for_source, for_target = self.weight.chunk(2, dim=1)
        return F.linear(h, for_source), F.linear(h, for_target, self.bias)


class _Normed(nn.Module):
    """A first layer, a second one down to H, and the score.

    Instance norm within each graph, ReLU and dropout after both hidden layers.
    """

    def __init__(self, first: nn.Linear, channels: int, dropout: float) -> None:
        super().__init__()
        self.first = first
        self.second = nn.Linear(first.out_features, channels)
        self.last = nn.Linear(channels, 1)
        self.dropout = dropout

    def _score(self, z: Tensor, graphs: Groups) -> Tensor:
        z = self._finish(self.second(self._finish(z, graphs)), graphs)
        scores: Tensor = self.last(z)
        return scores.squeeze(-1)

    def _finish(self, z: Tensor, graphs: Groups) -> Tensor:
        return norm_relu_dropout(z, graphs, self.dropout, self.training)


class NormedScorer(_Normed):
    """The GSAT benchmark's scorer, 2H -> 4H -> H -> 1, normed over the edges of each graph."""

    def __init__(self, channels: int, dropout: float = 0.5) -> None:
        super().__init__(PairLinear(channels, 4 * channels), channels, dropout)

    def forward(self, h: Tensor, edge_index: Tensor, graphs: Groups) -> Tensor:
        """Scores ``[E]`` from embeddings ``[N, H]`` and the graph of every edge."""
        return self._score(self.first(h, edge_index), graphs)


class NodeScorer(_Normed):
    """The same for nodes, H -> 2H -> H -> 1, normed over the nodes of each graph."""

    def __init__(self, channels: int, dropout: float = 0.5) -> None:
        super().__init__(nn.Linear(channels, 2 * channels), channels, dropout)

    def forward(self, h: Tensor, graphs: Groups) -> Tensor:
        """Scores ``[N]`` from embeddings ``[N, H]`` and the graph of every node."""
        return self._score(self.first(h), graphs)


class PlainScorer(nn.Module):
    """The two-layer scorer of the paper's text, 2H -> 4H -> 1 with ReLU.

    With more than ``many`` edges the hidden layer is made block by block, and again in the backward
    pass, so that only the scores are kept; with fewer, compiled kernels do the same in one pass.
    """

    many = MANY_EDGES

    def __init__(self, channels: int, width: int = 4) -> None:
        super().__init__()
        self.first = PairLinear(channels, width * channels)
        self.last = nn.Linear(width * channels, 1)

    def forward(self, h: Tensor, edge_index: Tensor, graphs: Groups) -> Tensor:
        """Scores ``[E]`` from embeddings ``[N, H]``; ``graphs`` is not needed here."""
        if edge_index.size(1) > self.many:
            table = torch.cat(self.first.halves(h))
            return pair_scores(table, self.last.weight[0], edge_index) + self.last.bias
        first, last = ((one.weight, one.bias) for one in (self.first, self.last))
        found = compiled_scores(h, edge_index, first, last)
        if found is not None:
            return found
        scores: Tensor = self.last(F.relu(self.first(h, edge_index)))
        return scores.squeeze(-1)


class NarrowScorer(PlainScorer):
    """The same with a hidden layer as wide as the embeddings, 2H -> H -> 1, for large graphs."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, width=1)


class PairScorer(nn.Module):
    """Any module of the user's, applied to ``[h_source, h_target]`` of every edge."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, h: Tensor, edge_index: Tensor, graphs: Groups) -> Tensor:
        """Scores ``[E]`` from the concatenation ``[E, 2H]``."""
        pair = torch.cat([h.index_select(0, edge_index[0]), h.index_select(0, edge_index[1])], 1)
        scores: Tensor = self.module(pair)
        if scores.numel() != edge_index.size(1):
            raise InputError(
                f"the scorer must return one score per edge, that is {edge_index.size(1)} numbers, "
                f"got shape {list(scores.shape)}."
            )
        return scores.reshape(-1)


SCORERS: dict[str, Callable[[int], nn.Module]] = {
    "normed": NormedScorer,
    "plain": PlainScorer,
    "narrow": NarrowScorer,
}


def make_scorer(scorer: str | nn.Module, channels: int) -> nn.Module:
    """A scorer by name (``normed``, ``plain``, ``narrow``), or the user's module wrapped."""
    if isinstance(scorer, (NormedScorer, PlainScorer)):
        return scorer
    if isinstance(scorer, nn.Module):
        return PairScorer(scorer)
    return SCORERS[check_name(scorer, SCORERS, "scorer")](channels)
