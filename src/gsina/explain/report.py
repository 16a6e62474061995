"""The page of a model on a user's graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.evidence.of_page import PageEvidence, page_evidence
from gsina.explain.evidence.removal import Way
from gsina.explain.neighbourhoods import HOPS, LARGEST, neighbourhoods
from gsina.explain.page import WholeGraph, page_graphs, write_page
from gsina.explain.page.carry import Carried, carry
from gsina.explain.pictures.scores import score_pictures
from gsina.formats import FORMATS
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_names import SPLITS
from gsina.graphs.task import Task
from gsina.methods.trees import WithTrees
from gsina.metrics import metric_label
from gsina.models.answers import class_names, target_names
from gsina.models.comparison import main_scores
from gsina.models.imbalance import counted_labels
from gsina.models.model import Model
from gsina.models.train import split_in_words
from gsina.nn.attention import GraphSinkhornAttention
from gsina.ops.budget import Budget
from gsina.ops.edges import count_edges
from gsina.ops.groups import Groups
from gsina.training.evaluate import Predictions

#: Graphs on the page of a run.
PAGE_GRAPHS = 500
#: Nodes whose neighbourhoods are on it.
PAGE_NODES = 100
#: Targets and classes that the head of the page names one by one.
NAMED = 8
#: What a drawing of a node shows, with attention or without.
NEIGHBOURHOOD = (
    f"Every drawing is the part of one graph within {HOPS} steps of the predicted node, at most "
    f"{LARGEST} nodes of it."
)
WHOLE_GRAPH = (
    "The weights are the model's, which shares them out over the whole graph: those of one drawing "
    "may all be large or all be small. The sliders solve over the whole graph too."
)
#: Where the model's weights are no soft top-r in every graph.
OTHER_ATTENTION = (
    "The weights are the model's own until a slider is moved; a slider solves the soft top-r in "
    "every graph, which this model does not do, so it keeps only the order of the edges."
)
#: Where the weights are found afterwards.
POST_HOC = (
    "This model has no attention. The weights are those of {}, which looks for the edges that the "
    "finished model needs for its answer: they explain the answer afterwards and had no part in "
    "it. A slider solves the soft top-r in every graph, which keeps only the order of the edges."
)
#: Where trees answer beside the network.
BESIDE_TREES = (
    "{:.0f} % of every answer is that of trees on descriptors of the whole graph, the rest that of "
    "the network. The weights, and the lines on how far to believe them, are about the network "
    "alone; where you take edges away in this page, the trees keep their answer, so that of the "
    "model seldom changes.{}"
)
#: Where the network does not always say what the model says.
OTHERWISE = (
    " In {} of the {} graphs here the network alone gives another answer than the model: there the "
    "weights do not speak for what is predicted."
)
#: Where the page cannot compute what the model does.
NOT_CARRIED = "This page cannot say what the model makes of a changed graph, as {}."


def write_report(
    path: Path, model: Model, dataset: Dataset, records: Sequence[Mapping[str, Any]] = ()
) -> None:
    """The page of up to 500 test graphs, or of the neighbourhoods of 100 test nodes.

    Of several test splits, and at node level of several graphs in one, the first is shown. Pictures
    show the training, and the answers to all rows of that split.

    Args:
        path: The page.
        model: The model.
        dataset: Its data.
        records: The epochs of its training.
    """
    tests = [split for split in dataset.splits if split.split("-")[0] == "test"]
    split = tests[0] if tests else "val"
    graphs, name, origin = dataset.splits[split], dataset.name, dataset.origin
    pictures = _pictures(model, graphs, split, records)
    rule = split_in_words(dataset)  # none of data that come divided
    summary = [("model", model.architecture.words), *([("split", rule)] if rule else [])]
    if model.task.level == "node":
        graphs = graphs[[0]]
        count = graphs.x.size(0)
        ids = torch.arange(count) if graphs.mask is None else graphs.mask.nonzero().flatten()
        chosen = _some(ids, PAGE_NODES)
        summary.append(("shown", f"{len(chosen)} of {len(ids)} nodes of the {split} split"))
        names = origin.names.get("all") or tuple(map(str, range(count)))
        node_page(
            path, model, graphs, chosen, names, name, summary, dataset.notes, pictures=pictures
        )
        return
    chosen = _some(torch.arange(len(graphs)), PAGE_GRAPHS)
    summary.append(("shown", f"{len(chosen)} of {len(graphs)} graphs of the {split} split"))
    graphs = graphs[chosen]
    known = origin.names.get(split)
    shown = [known[i] if known else f"{split} {i + 1}" for i in chosen.tolist()]
    found = model.predict(graphs)
    page(
        path,
        model,
        graphs,
        found,
        shown,
        name,
        summary,
        dataset.notes,
        named=known is not None,
        pictures=pictures,
        evidence=page_evidence(model, graphs, found, edge_word=edge_word(model)),
    )


def node_page(
    path: Path,
    model: Model,
    graphs: PackedGraphs,
    nodes: Tensor,
    names: Sequence[str],
    name: str,
    summary: Sequence[tuple[str, str]],
    notes: Sequence[str] = (),
    found: Predictions | None = None,
    ways: Sequence[Way] = ("delete",),
    **options: Any,
) -> PageEvidence | None:
    """Write the neighbourhoods of some nodes as a page; ``options`` go on to :func:`page`."""
    found = model.predict(graphs) if found is None else found
    evidence = page_evidence(model, graphs, found, ways=ways, rows=nodes)
    around = neighbourhoods(graphs, found, nodes, names)
    chosen = [names[i] for i in nodes.tolist()]
    whole = None
    if found.scores is not None:
        edges = count_edges(Groups.single(found.scores.numel()), graphs.reverse, "cpu")
        whole = WholeGraph(found.scores, int(edges))
    page(
        path,
        model,
        around.graphs,
        around.predictions,
        chosen,
        name,
        summary,
        (*notes, NEIGHBOURHOOD, *([WHOLE_GRAPH] if whole is not None else [])),
        whole=whole,
        node_labels=around.node_labels,
        centres=around.centres,
        evidence=evidence,
        **options,
    )
    return evidence


def page(
    path: Path,
    model: Model,
    graphs: PackedGraphs,
    predictions: Predictions,
    names: Sequence[str],
    name: str,
    summary: Sequence[tuple[str, str]],
    notes: Sequence[str] = (),
    whole: WholeGraph | None = None,
    node_labels: Sequence[Sequence[str]] | None = None,
    centres: Sequence[int] | None = None,
    scores_caption: str = "",
    order: str = "Order in the file",
    named: bool = True,
    pictures: Sequence[tuple[str, str]] = (),
    explainer: str = "",
    evidence: PageEvidence | None = None,
    certified: Budget | None = None,
) -> None:
    """Write graphs as a page, with the model's own budget, temperature and weights.

    Args:
        path: The page.
        model: The model.
        graphs: The graphs, or parts of one.
        predictions: The model's, for these.
        names: One name per graph.
        name: Name of the data, for the headline.
        summary: Names and values to show on top.
        notes: Sentences to show on top.
        whole: The one graph that the graphs are parts of, if they are.
        node_labels: Texts of the nodes of each graph.
        centres: The node of each graph that its prediction is about.
        scores_caption: What the table of scores holds.
        order: Name of the order that the graphs are in.
        named: Whether names come from the file: those of molecules are SMILES.
        pictures: Pictures of scores as ``svg`` elements, with captions.
        explainer: Who found the weights of edges, if they are not the model's own attention.
        evidence: How far the explanations can be believed.
        certified: What is marked, if that is not what the model keeps: where the slider starts.
    """
    config, attention = model.method.config, getattr(model.method, "attention", None)
    attends, solved = predictions.edge is not None, _solved_by_graph(model)
    if attends and model.architecture.trees is not None:
        notes = (*notes, _beside_trees(model, graphs, predictions))
    if attends and explainer:
        notes = (*notes, POST_HOC.format(explainer))
    elif attends and not solved and whole is None:
        notes = (*notes, OTHER_ATTENTION)
    molecules = named and _molecules(model)
    carried: Carried | None = None
    try:
        carried = carry(model, graphs)
    except InputError as why:
        notes = (*notes, NOT_CARRIED.format(why))
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
        own_weights=whole is not None or not solved,
        calibration=model.calibration,
        faithfulness=None if evidence is None else evidence.lines,
    )
    if evidence is not None and evidence.words:
        whose = "" if model.architecture.trees is None else "of the network alone: "
        summary = [*summary, ("faithful", f"{whose}{evidence.words}")]
    write_page(
        path,
        shown,
        title=f"{name}: what the model {'looks at' if attends else 'predicts'}",
        budget=Budget.of_settings(config) or Budget(share=0.5),
        certified=certified,
        temperature=_temperature(attention, config),
        node=str(getattr(attention, "node", "max")),
        regulariser=str(getattr(attention, "regulariser", "entropic")),
        summary=[("predicts", predicts(model)), *summary],
        scores_table=scores_table(model),
        scores_caption=scores_caption,
        comparison_table=comparison_table(model),
        evidence_table=() if evidence is None else evidence.table,
        verdict=model.baselines.get("verdict", ""),
        pictures=pictures,
        explainer=explainer,
        notes=notes,
        order=order,
        molecules=molecules,
        whole=whole,
        carried=carried,
    )


def _pictures(
    model: Model, graphs: PackedGraphs, split: str, records: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Pictures of the training and of the answers to a split, with captions."""
    y = counted_labels(graphs, model.task)
    if y is None:
        return []
    logits = model.predict(graphs).logits
    if model.task.level == "node" and graphs.mask is not None:
        logits = logits[graphs.mask]
    pictures = score_pictures(model, logits, y, records)
    where = f"{SPLITS.get(split, split)} rows"
    return [
        (one.svg, one.caption if one.title == "Training" else f"{one.caption} ({len(y):,} {where})")
        for one in pictures
    ]


def _molecules(model: Model) -> bool:
    """Whether the model's graphs are molecules."""
    kind = model.featuriser.get("kind")
    return kind in FORMATS and FORMATS[kind].molecules


def edge_word(model: Model) -> str:
    """What the edges of the model's graphs are called."""
    return "bond" if _molecules(model) else "edge"


def _temperature(attention: object, config: object) -> float:
    """The temperature of the weights that are shown, which may not be the one training had."""
    if isinstance(attention, GraphSinkhornAttention):
        return attention.evaluation_temperature
    return float(getattr(config, "temperature", 1.0))


def _solved_by_graph(model: Model) -> bool:
    """Whether a page finds the model's weights by solving the soft top-r in every graph."""
    attention = getattr(model.method, "attention", None)
    if not isinstance(attention, GraphSinkhornAttention):
        return False
    exact = attention.solver == "exact" and attention.transport == "exact"
    exact &= getattr(model.method.config, "refit_epoch", None) is None
    return attention.scope == "graph" and exact


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
        [SPLITS.get(split, split), *(_figure(row.get(name)) for name in names)]
        for split, row in model.metrics.items()
    ]
    return [["split", *(metric_label(name) for name in names)], *rows] if rows else []


def comparison_table(model: Model) -> list[list[str]]:
    """The main metric of the model and its baselines by split, with a header; empty without any."""
    if not model.baselines.get("metrics"):
        return []
    metric, splits = model.task.metric, list(model.metrics)
    scores = main_scores(model.architecture.method, model.metrics, model.baselines, metric)
    rows = [[name, *(row.get(split, "-") for split in splits)] for name, row in scores.items()]
    return [[metric_label(metric), *(SPLITS.get(split, split) for split in splits)], *rows]


def _some(ids: Tensor, most: int) -> Tensor:
    """A limited sample of the ids, always the same, in order."""
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


def _beside_trees(model: Model, graphs: PackedGraphs, predictions: Predictions) -> str:
    """How much of the answers the weights are about, and of how many graphs here."""
    assert isinstance(model.method, WithTrees)
    alone, others = model.network_alone(), 0
    if model.task.kind != "regression":
        said = alone.classes(alone.predict(graphs).logits), model.classes(predictions.logits)
        others = int((said[0] != said[1]).view(len(graphs), -1).any(1).sum())
    more = OTHERWISE.format(others, len(graphs)) if others else ""
    return BESIDE_TREES.format(100 * (1 - model.method.share), more)
