"""What a page says about how far its explanations can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from gsina.explain.evidence.measure import Faithfulness, faithfulness
from gsina.explain.evidence.removal import Way
from gsina.explain.evidence.words import graph_lines, run_line, table
from gsina.graphs.packed import PackedGraphs
from gsina.models.answers import class_names
from gsina.models.model import Model
from gsina.ops.budget import Budget
from gsina.training.evaluate import Predictions

#: Edges of a graph beyond which a page does not measure: masks cost the memory of all messages.
LARGEST = 500_000


class PageEvidence(NamedTuple):
    """Evidence for the explanations of a page.

    Attributes:
        found: All that was measured.
        lines: One line per graph or node, as :func:`graph_lines` gives it.
        table: Rows of text.
        short: Those of them that a terminal has room for.
        words: All of it in one sentence; empty where no graph has edges to choose from.
    """

    found: Faithfulness
    lines: list[dict[str, Any]]
    table: list[list[str]]
    short: list[list[str]]
    words: str


def page_evidence(
    model: Model,
    graphs: PackedGraphs,
    predictions: Predictions,
    *,
    budget: Budget | None = None,
    ways: Sequence[Way] = ("delete",),
    train: PackedGraphs | None = None,
    edge_word: str = "edge",
    rows: Tensor | None = None,
) -> PageEvidence | None:
    """Measure the explanations of a page; ``None`` if it shows none, or of a very large graph.

    Args:
        model: The model.
        graphs: The graphs, whole ones.
        predictions: With weights of their edges.
        budget: How much is marked; by default what the model keeps.
        ways: Ways of removing; ``delete`` has to be among them, for the lines.
        train: Training graphs, which ``replace`` takes features from.
        edge_word: ``bond`` for molecules.
        rows: At node level, the nodes of the page.
    """
    beside_trees, model = model.architecture.trees is not None, model.network_alone()
    if predictions.edge is None or not predictions.edge.numel():
        return None
    if int(graphs.edge_ptr.diff().max()) > LARGEST:
        return None
    found = faithfulness(
        model, graphs, predictions.edge, budget=budget, ways=ways, shares=(), train=train
    )
    said = _own_answers(model, graphs) if beside_trees else None
    lines = graph_lines(found, graphs, edge_word=edge_word, rows=rows, of_network=said)
    words = run_line(found, edge_word=edge_word)
    return PageEvidence(found, lines, table(found), table(found, short=True), words)


def _own_answers(model: Model, graphs: PackedGraphs) -> list[str]:
    """The class that a model gives to every graph; empty texts for numbers and several targets."""
    task = model.task
    if task.kind == "regression" or (task.kind == "binary" and task.outputs > 1):
        return [""] * len(graphs)
    names = class_names(model)
    return [names[place] for place in model.classes(model.predict(graphs).logits).view(-1).tolist()]
