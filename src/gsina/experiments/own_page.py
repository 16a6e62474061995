"""The page of a model on a user's graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from gsina.data.own import OwnData
from gsina.data.packed import PackedGraphs
from gsina.data.task import Task
from gsina.experiments.own_answers import class_names, target_names
from gsina.experiments.own_nodes import neighbourhoods
from gsina.explain.page import page_graphs, write_page
from gsina.training.evaluate import Predictions
from gsina.training.model import Model

#: Graphs on the page of a run.
PAGE_GRAPHS = 500
#: Nodes whose neighbourhoods are on it.
PAGE_NODES = 100
#: Targets and classes that the head of the page names one by one.
NAMED = 8
WHOLE_GRAPH = (
    "The share of the edges holds over the whole graph, so within one neighbourhood the model's "
    "own weights may be larger or smaller than drawn here."
)


def write_report(path: Path, model: Model, own: OwnData) -> None:
    """The page of up to 500 test graphs, or of the neighbourhoods of 100 test nodes."""
    split = "test" if "test" in own.dataset.splits else "val"
    graphs = own.dataset.splits[split]
    title = f"{own.dataset.name}: what the model looks at"
    summary = [
        ("model", f"{model.architecture.method} on {model.architecture.backbone}"),
        ("split", split_in_words(own)),
    ]
    if model.task.level == "node":
        ids = (graphs.x[:, 0] == graphs.x[:, 0] if graphs.mask is None else graphs.mask).nonzero()
        chosen = _some(ids.flatten(), PAGE_NODES)
        summary.append(("shown", f"{len(chosen)} of {len(ids)} nodes of the {split} split"))
        node_page(path, model, graphs, chosen, own.names["all"], title, summary, own.warnings)
        return
    chosen = _some(torch.arange(len(graphs)), PAGE_GRAPHS)
    summary.append(("shown", f"{len(chosen)} of {len(graphs)} graphs of the {split} split"))
    graphs = graphs[chosen]
    names = [own.names[split][i] for i in chosen.tolist()]
    page(path, model, graphs, model.predict(graphs), names, title, summary, own.warnings)


def node_page(
    path: Path,
    model: Model,
    graphs: PackedGraphs,
    nodes: Tensor,
    names: Sequence[str],
    title: str,
    summary: Sequence[tuple[str, str]],
    notes: Sequence[str] = (),
    **said: str,
) -> None:
    """Write the neighbourhoods of some nodes as a page; ``said`` goes on to :func:`page`."""
    around = neighbourhoods(graphs, model.predict(graphs), nodes, names)
    chosen = [names[i] for i in nodes.tolist()]
    page(
        path,
        model,
        around.graphs,
        around.predictions,
        chosen,
        title,
        summary,
        (*notes, WHOLE_GRAPH),
        node_labels=around.node_labels,
        centres=around.centres,
        **said,
    )


def page(
    path: Path,
    model: Model,
    graphs: PackedGraphs,
    predictions: Predictions,
    names: Sequence[str],
    title: str,
    summary: Sequence[tuple[str, str]],
    notes: Sequence[str] = (),
    node_labels: Sequence[Sequence[str]] | None = None,
    centres: Sequence[int] | None = None,
    scores_caption: str = "",
    order: str = "Order in the file",
) -> None:
    """Write graphs as a page, with the model's own ratio and temperature."""
    config = model.method.config
    molecules = model.featuriser.get("kind") == "molecules"
    task: Task = replace(model.task, level="graph")
    shown = page_graphs(
        graphs,
        predictions,
        task,
        names=names,
        smiles=names if molecules else None,
        node_labels=node_labels,
        centres=centres,
        class_names=[str(name) for name in model.class_names],
        target_names=model.target_names,
    )
    write_page(
        path,
        shown,
        title=title,
        ratio=float(getattr(config, "ratio", 0.5)),
        temperature=float(getattr(config, "temperature", 1.0)),
        node=str(getattr(getattr(model.method, "attention", None), "node", "max")),
        summary=[("predicts", predicts(model)), *summary],
        scores_table=scores_table(model),
        scores_caption=scores_caption,
        notes=notes,
        order=order,
        molecules=molecules,
    )


def predicts(model: Model) -> str:
    """The targets of a model in words, and of a single one its classes."""
    targets = _first(target_names(model))
    if model.task.kind == "regression" or (model.task.kind == "binary" and model.task.outputs > 1):
        return targets
    what = ", ".join(map(str, model.target_names)) or "class"
    return f"{what} ({_first(class_names(model))})"


def scores_table(model: Model) -> list[list[str]]:
    """The scores of every split as rows of text, with a header; empty if there are none."""
    names = list(dict.fromkeys(name for row in model.metrics.values() for name in row))
    rows = [
        [split, *(_figure(row.get(name)) for name in names)] for split, row in model.metrics.items()
    ]
    return [["split", *names], *rows] if rows else []


def split_in_words(own: OwnData) -> str:
    """Which rule divided the data, and by which column."""
    split = own.source.get("split")
    if not isinstance(split, dict):
        return str(split or "")
    # A split that could not be made has fallen back to one that reads no column.
    column = split.get("column") if split.get("used") == split.get("rule") else None
    return f"{split.get('used')}{f' by {column}' if column else ''}"


def _some(ids: Tensor, most: int) -> Tensor:
    """At most so many ids, drawn always alike and in order."""
    if len(ids) <= most:
        return ids
    drawn = torch.randperm(len(ids), generator=torch.Generator().manual_seed(0))[:most]
    return ids[drawn.sort().values]


def _first(names: Sequence[str]) -> str:
    """Names in a row, the first few of many."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _figure(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"
