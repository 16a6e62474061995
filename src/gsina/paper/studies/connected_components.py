"""One run of the connectivity table: train, then count the components of the subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.explain.components import count_components
from gsina.explainers.marked import mark
from gsina.graphs.packed import PackedGraphs
from gsina.listeners import Listener
from gsina.methods import Method
from gsina.ops.budget import Budget
from gsina.runs.recipe import Recipe
from gsina.runs.trained import trained
from gsina.training import predict


def run_components(
    recipe: Recipe, seed: int, *, folder: Path | None = None, listeners: Sequence[Listener] = ()
) -> dict[str, Any]:
    """The result of a run with ``pieces`` among its test metrics.

    Args:
        recipe: A recipe of a method with a ratio, such as GSINA.
        seed: Seed of the training.
        folder: Folder of the trained model, which is used if it exists.
        listeners: Notified of the training.
    """
    finished = trained(recipe, seed, folder, listeners=listeners)
    old = finished.result
    pieces = mean_components(finished.method, finished.dataset.test)
    test = {**old["metrics"]["test"], "pieces": pieces}
    return {**old, "metrics": {**old["metrics"], "test": test}}


def mean_components(method: Method, graphs: PackedGraphs) -> float:
    """Connected components of the top r of the attention, mean over the graphs with edges.

    Raises:
        InputError: The method has no attention, or no ratio that says how much its top is.
    """
    edge = predict(method, graphs).edge
    budget = Budget.of_settings(method.config)
    if edge is None or budget is None:
        raise InputError(
            f"expected a model with edge attention and a ratio, such as gsina, got a "
            f"{type(method).__name__}."
        )
    pieces = count_components(mark(edge, graphs, budget), graphs)[graphs.edge_ptr.diff() > 0]
    return float(pieces.double().mean())
