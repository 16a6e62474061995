"""A promise about explanations: a budget whose marked part alone keeps the answer, mostly.

By conformal risk control (Angelopoulos, Bates, Fisch, Lei, Schuster, 2024). With n graphs that the
promise is calibrated on, let l_i(s) be 1 if the marked part of graph i gets another answer at the
share s of its edges or at any larger one, so that l_i falls as s grows and is 0 at 1. The smallest
share with

    (l_1(s) + ... + l_n(s) + 1) / (n + 1) <= 1 - confidence

keeps the answer to a new graph with a probability of at least ``confidence``, if that graph is
drawn as the n were. Nothing is assumed of the model or of the explanations: bad ones only make the
share large. On graphs of another kind nothing is promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.evidence.answers import Answers
from gsina.explain.evidence.removal import Way, answers_of_parts
from gsina.explainers.frozen import Explainer
from gsina.explainers.marked import mark
from gsina.explainers.registry import sample_graphs
from gsina.graphs.packed import PackedGraphs
from gsina.models.explanations import weigh_edges
from gsina.models.model import Model
from gsina.ops.budget import Budget

#: Shares that are tried.
GRID = tuple(step / 50 for step in range(1, 51))
#: Most graphs that a promise is calibrated on; more hardly sharpen it.
MOST = 1000


@dataclass(frozen=True)
class Certificate:
    """A share of the edges, and what it promises.

    Attributes:
        confidence: Probability that the marked part alone keeps the answer to a new graph.
        budget: The share of every graph's edges that is marked.
        graphs: Number of graphs that it was calibrated on.
        seen: Share of these whose answer it keeps.
    """

    confidence: float
    budget: Budget
    graphs: int
    seen: float

    def words(self, edge_word: str = "edge", graph_word: str = "graph") -> str:
        """The promise in one sentence."""
        assert self.budget.share is not None
        return (
            f"{100 * self.budget.share:.0f} % of the {edge_word}s: the marked part alone keeps the "
            f"answer to at least {100 * self.confidence:g} of 100 new {graph_word}s of the same "
            f"kind (calibrated on {self.graphs} validation {graph_word}s, where it keeps "
            f"{100 * self.seen:.0f} %)"
        )


def certify(
    model: Model,
    graphs: PackedGraphs,
    confidence: float = 0.9,
    explainer: str | Explainer | None = None,
    *,
    way: Way = "delete",
    train: PackedGraphs | None = None,
) -> Certificate:
    """The smallest share of the edges that keeps answers with a given probability.

    Args:
        model: A model of graphs and classes.
        graphs: Validation graphs; of many, :data:`MOST` random ones, always the same.
        confidence: Probability to promise, between 0 and 1.
        explainer: Who weighs the edges, as for :meth:`Model.explain`.
        way: How the other edges are taken away.
        train: Training graphs, for explainers that learn.

    Raises:
        InputError: There are too few graphs for the confidence, or the answers are no classes of
            graphs.
    """
    model = model.network_alone()
    check_certifiable(model, len(graphs), confidence)
    graphs = sample_graphs(graphs, MOST)
    found = weigh_edges(model, graphs, None, explainer, train=train).predictions
    assert found.edge is not None
    lost = lost_answers(model, graphs, found.edge, way=way)
    place = smallest_share(lost, confidence)
    seen = 1 - float(lost[place].mean())
    return Certificate(confidence, Budget(share=GRID[place]), len(graphs), seen)


def check_certifiable(model: Model, graphs: int, confidence: float) -> None:
    """Refuse what cannot be promised."""
    if not 0 < confidence < 1:
        raise InputError(f"a confidence lies between 0 and 1, such as 0.9; got {confidence:g}.")
    if model.task.level == "node" or model.task.kind == "regression":
        what = "nodes" if model.task.level == "node" else "numbers"
        raise InputError(
            f"got a model of {what}, but a part can be certified to keep a class of a graph only; "
            "leave --certify out."
        )
    needed = math.ceil(confidence / (1 - confidence) - 1e-9)
    if graphs < needed:
        raise InputError(
            f"got {graphs} validation graphs, but a confidence of {confidence:g} needs at least "
            f"{needed}; ask for less, or give more validation data."
        )


def lost_answers(
    model: Model, graphs: PackedGraphs, weights: Tensor, *, way: Way = "delete"
) -> Tensor:
    """Whether marked parts get another answer than the whole, at each share ``[S, n]`` in [0, 1].

    Of several targets it is the share of them that change.
    """
    answers = Answers(model, model.predict(graphs).logits)
    lost = []
    for share in GRID:
        part = mark(weights, graphs, Budget(share=share)).unsqueeze(0)
        lost.append(answers.changed(answers_of_parts(model, graphs, part, way))[0])
    return torch.stack(lost)


def smallest_share(lost: Tensor, confidence: float) -> int:
    """Place in :data:`GRID` of the smallest share that can be promised.

    Args:
        lost: As from :func:`lost_answers` ``[S, n]``.
        confidence: Probability to promise.
    """
    # At this share or at any larger one: only then does it fall as the share grows.
    ever = lost.flip(0).cummax(0).values.flip(0)
    bound = (ever.sum(1) + 1) / (lost.size(1) + 1)
    good = (bound <= 1 - confidence + 1e-9).nonzero().view(-1)
    return int(good[0]) if len(good) else len(GRID) - 1
