"""A gallery of extracted subgraphs from the folder of a run, drawn as suits its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gsina.datasets import ogbg
from gsina.datasets.text import sentences, sentigraph, text_graphs
from gsina.errors import InputError, check_name
from gsina.explain.pictures.graphs import draw_subgraphs
from gsina.explain.pictures.molecules import draw_molecules
from gsina.explain.pictures.sentences import draw_sentences
from gsina.explainers.weights import ATTENTION, CUT, Weighed, cut_off
from gsina.formats import FORMATS
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_names import SPLITS
from gsina.methods import METHODS
from gsina.ops.budget import Budget
from gsina.runs.run import Run
from gsina.training import Predictions, predict

CLASS_NAMES = {
    "spmotif": ("cycle", "house", "crane"),
    "ogbg-molhiv": ("does not inhibit HIV", "inhibits HIV"),
    "mnist-75sp": tuple(str(digit) for digit in range(10)),
    "sst2-text": ("negative", "positive"),
    "graph-sst2": ("negative", "positive"),
    "sst5-text": ("very negative", "negative", "neutral", "positive", "very positive"),
    "twitter-text": ("negative", "neutral", "positive"),
}


def draw_gallery(
    run: Run,
    path: Path,
    *,
    split: str = "test",
    columns: int | None = None,
    seed: int = 0,
    max_nodes: int = 40,
) -> list[int]:
    """Draw what a trained model looks at, for a few random graphs of every class.

    Widths, opacities and colours are the attention as the model gives it.

    Args:
        run: A finished run, as :func:`gsina.runs.trained.load_run` reads it.
        path: The picture.
        split: Which graphs to draw from.
        columns: Graphs of each class; by default as many as fit.
        seed: Seeds the choice of the graphs.
        max_nodes: Size of the largest graph to draw.

    Returns:
        Numbers of the drawn graphs in their split.

    Raises:
        InputError: The model predicts nodes, or there is no such split.
    """
    name = run.dataset.name
    if run.dataset.task.level == "node":
        raise InputError(
            f"a gallery draws whole graphs, but this model predicts the nodes of {name}; give a "
            "run on graphs, such as those of spmotif or ogbg-molhiv."
        )
    if run.dataset.task.kind == "regression":
        raise InputError(
            f"a gallery draws graphs class by class, but this model predicts numbers of {name}; "
            "look at the report.html of its run."
        )
    graphs = run.dataset.splits[check_name(split, run.dataset.splits, "split")]
    # As in evaluation: with scope batch the attention of a graph depends on its batch.
    found = predict(run.method, graphs, run.result["recipe"]["optimiser"]["batch_size"])
    found, whose = cut_off(run.method, graphs, Weighed(found, ATTENTION))
    options: dict[str, Any] = {
        "class_names": CLASS_NAMES.get(name) or run.dataset.class_names or None,
        "seed": seed,
        "max_nodes": max_nodes,
        "title": f"What {_describe(run)} looks at in {name}",
        "caption": f"Random {SPLITS.get(split, split)} graphs, attention as it is"
        + ("; edges that the model cuts off have none." if whose == CUT else "."),
    }
    if texts := _smiles(run, split):
        graphs, found = _first_task(graphs, found)
        return draw_molecules(graphs, found, texts, path, columns=columns or 4, **options)
    if name in sentences.CORPORA or name == "graph-sst2":
        words = _words(run, split)
        options |= {"max_nodes": min(max_nodes, 12), "min_nodes": 3}
        return draw_sentences(graphs, found, words, path, columns=columns or 2, **options)
    return draw_subgraphs(graphs, found, path, columns=columns or 5, **options)


def _smiles(run: Run, split: str) -> Sequence[str]:
    """SMILES of the molecules of a split; none for other graphs."""
    if run.dataset.name in ogbg.SOURCES:
        return ogbg.smiles(run.dataset.name, split)
    kind = run.dataset.origin.reading.get("kind")
    names = run.dataset.origin.names.get(split, ())
    return names if kind in FORMATS and FORMATS[kind].molecules else ()


def _words(run: Run, split: str) -> list[list[str]]:
    if run.dataset.name == "graph-sst2":
        return sentigraph.sst2_tokens(split)
    return text_graphs.tokens(run.dataset.name, split, **run.result["recipe"]["data"]["options"])


def _describe(run: Run) -> str:
    recipe = run.result["recipe"]
    budget = Budget.of_settings(run.method.config)
    setting = "" if budget is None else f" ({budget.symbol})"
    label = METHODS[recipe["method"]["name"]].label
    return f"{label}{setting} on {recipe['backbone']['name'].upper()}"


def _first_task(graphs: PackedGraphs, found: Predictions) -> tuple[PackedGraphs, Predictions]:
    """Rows of classes need one label per graph: that of the first task."""
    if graphs.y is None or graphs.y.dim() < 2 or graphs.y.size(1) == 1:
        return graphs, found
    return replace(graphs, y=graphs.y[:, :1]), replace(found, logits=found.logits[:, :1])
