"""Weights of edges for any method: its own attention, or those of a post-hoc explainer."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gsina.errors import InputError
from gsina.explainers.frozen import Explainer
from gsina.explainers.marked import mark
from gsina.explainers.registry import explain_split, make_explainer
from gsina.graphs.packed import PackedGraphs
from gsina.methods.base import Method
from gsina.ops.budget import Budget
from gsina.training.evaluate import Predictions

#: Explains methods without attention: long enough that weights can leave the middle.
DEFAULT = "gnnexplainer,steps=500,learning_rate=0.1"
#: The same at node level, where one mask explains the answers to all nodes of a large graph.
DEFAULT_NODES = "gnnexplainer,steps=100,learning_rate=0.1"
#: Who found the weights, where it is the method itself.
ATTENTION, CUT = "attention", "cut"


class NotExplainable(InputError):
    """No edge of a network can be weighed, as it sends no messages along edges."""


class Weighed(NamedTuple):
    """Predictions with weights of edges.

    Attributes:
        predictions: The model's, with ``edge``.
        explainer: ``attention``, or the name of the post-hoc explainer.
    """

    predictions: Predictions
    explainer: str

    @property
    def post_hoc(self) -> str:
        """The name of the explainer, empty for the method's own weights."""
        return "" if self.explainer in (ATTENTION, CUT) else self.explainer


def weigh(
    method: Method,
    graphs: PackedGraphs,
    found: Predictions,
    explainer: str | Explainer | None = None,
    *,
    train: PackedGraphs | None = None,
    seed: int = 0,
) -> Weighed:
    """Predictions with weights of edges: the method's own, or those of an explainer.

    Args:
        method: The trained method.
        graphs: The graphs, with features as the method takes them.
        found: What it says of these very graphs.
        explainer: A post-hoc explainer, by name or with settings. By default the method's own
            attention, and :data:`DEFAULT` for a method without.
        train: Training graphs, for explainers that learn.
        seed: Seeds the explainer.

    Raises:
        NotExplainable: The network sends no messages along the edges.
    """
    if explainer is None and found.edge is not None:
        return Weighed(found, ATTENTION)
    usual = DEFAULT_NODES if method.task.level == "node" else DEFAULT
    how = make_explainer(usual if explainer is None else explainer)
    name = type(how).__name__
    try:
        edge = explain_split(method, graphs, how, train=train, seed=seed)
    except InputError:
        raise
    except ValueError as error:  # PyG's, where the gradient of a mask is missing
        raise NotExplainable(
            f"{name} found no edge that the answers of this network hang on ({error}); explain a "
            "network that sends messages along the edges."
        ) from error
    return Weighed(replace(found, edge=edge.to(found.logits.dtype), node=None, scores=None), name)


def cut_off(method: Method, graphs: PackedGraphs, weighed: Weighed) -> Weighed:
    """Without the weights of edges that a method's hard top share leaves out.

    Such a method weighs all edges, so that its explanations are ranked, but predicts from a part.
    Other methods, and explanations by others, stay as they are.
    """
    found, budget = weighed.predictions, Budget.of_settings(method.config)
    if weighed.explainer != ATTENTION or not method.keeps_top_share or budget is None:
        return weighed
    if found.edge is None or found.scores is None:
        return weighed
    kept = mark(found.scores, graphs, budget)
    return Weighed(replace(found, edge=found.edge * kept), CUT)
