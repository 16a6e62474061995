"""Turn packed graphs and predictions into the graphs of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.page.graph import PageGraph
from gsina.explain.page.graph_predictions import graph_predictions
from gsina.explain.page.molecule import MoleculeDrawing, draw_molecule
from gsina.graphs.layout import layout
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task
from gsina.models.uncertainty.calibration import Calibration
from gsina.training.evaluate import Predictions

__all__ = ["PageGraph", "page_graphs"]


def page_graphs(
    graphs: PackedGraphs,
    predictions: Predictions,
    task: Task,
    *,
    names: Sequence[str],
    smiles: Sequence[str] | None = None,
    node_labels: Sequence[Sequence[str]] | None = None,
    centres: Sequence[int] | None = None,
    class_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
    own_weights: bool = False,
    calibration: Calibration | None = None,
    faithfulness: Sequence[Mapping[str, Any]] | None = None,
) -> list[PageGraph]:
    """Lay out graphs and put predictions and truth into words.

    The scores of GSINA are stored after their standardisation, so the page's weights at the model's
    budget and temperature are the model's own. Where that cannot be (parts of a graph,
    ``scope="batch"``, Sinkhorn sweeps, an attention that is no soft top-r), ``own_weights`` stores
    the model's weights besides, to be shown until a slider is moved. From then on the page solves
    the soft top-r from the scores, or, where there are only weights, from their logits.

    Args:
        graphs: The graphs G, in the order of the predictions.
        predictions: What :func:`gsina.training.predict` returned for these very graphs.
        task: The kind of labels.
        names: One name per graph.
        smiles: One SMILES string per graph: molecules are drawn by RDKit. A string that cannot be
            read, or has other atoms than its graph, leaves that graph to the general layout.
        node_labels: Texts of the nodes of each graph; by default the elements of molecules.
        centres: The node of each graph that its prediction is about, if it is about one.
        class_names: Names of the classes; by default their numbers.
        target_names: Names of the columns of several targets; by default their numbers.
        own_weights: Whether to store the weights of the predictions besides the scores.
        calibration: How logits become probabilities and decisions; by default plainly.
        faithfulness: The line of each graph, as
            :func:`~gsina.explain.evidence.words.graph_lines` gives it.
    """
    per_graph: tuple[tuple[str, Sequence[object] | None], ...] = (
        ("names", names),
        ("SMILES", smiles),
        ("lists of labels", node_labels),
        ("centres", centres),
        ("lines of faithfulness", faithfulness),
    )
    for what, given in per_graph:
        if given is not None and len(given) != len(graphs):
            raise InputError(
                f"got {len(given)} {what} for {len(graphs)} graphs; expected one each."
            )
    expected = graphs.x.size(0) if task.level == "node" else len(graphs)
    if predictions.logits.shape != (expected, task.outputs):
        raise InputError(
            f"got predictions of shape {list(predictions.logits.shape)}, expected "
            f"{[expected, task.outputs]}; pass the predictions for these very graphs."
        )
    pairs = _pairs(graphs, predictions)
    found = graph_predictions(
        predictions.logits, graphs, task, class_names, target_names, calibration or Calibration()
    )
    counts, ptr = graphs.node_ptr.diff().tolist(), pairs.ptr.tolist()
    first = graphs.node_ptr.tolist()
    weights, of_nodes = (pairs.weights, predictions.node) if own_weights else (None, None)
    ahead, back = pairs.features
    result = []
    for graph, prediction in enumerate(found):
        rows = slice(ptr[graph], ptr[graph + 1])
        members = slice(first[graph], first[graph + 1])
        edges = pairs.edges[:, rows]
        drawing = _drawing(counts[graph], edges, smiles[graph] if smiles else None)
        symbols = () if drawing is None else drawing.symbols
        result.append(
            PageGraph(
                name=str(names[graph]),
                positions=_places(counts[graph], edges, drawing),
                edges=edges,
                scores=None if pairs.scores is None else pairs.scores[rows],
                copies=pairs.copies[rows],
                node_labels=tuple(map(str, node_labels[graph])) if node_labels else symbols,
                drawing=drawing,
                edge_truth=None if pairs.truth is None else pairs.truth[rows],
                centre=centres[graph] if centres else None,
                weights=None if weights is None else weights[rows],
                node_weights=None if of_nodes is None else of_nodes[members],
                features=graphs.x[members],
                edge_features=None if ahead is None else ahead[rows],
                back_features=None if back is None else back[rows],
                logits=() if task.level == "node" else tuple(predictions.logits[graph].tolist()),
                faithfulness=faithfulness[graph] if faithfulness else {},
                **prediction._asdict(),
            )
        )
    return result


class _Pairs(NamedTuple):
    """Edges of all graphs, the two directions of one as one pair.

    Attributes:
        edges: Ends ``[2, P]``, local to the graph.
        ptr: Offsets of the pairs of each graph ``[G + 1]``.
        copies: Stored edges of each pair ``[P]``.
        scores: One per pair ``[P]``, or ``None``.
        truth: One per pair ``[P]``, bool, or ``None``.
        weights: One per pair ``[P]``, or ``None``.
        features: Those of the two directions ``[P, D]`` each, or ``None``; the second also where
            it is the first.
    """

    edges: Tensor
    ptr: Tensor
    copies: Tensor
    scores: Tensor | None
    truth: Tensor | None
    weights: Tensor | None
    features: tuple[Tensor | None, Tensor | None]


def _pairs(graphs: PackedGraphs, predictions: Predictions) -> _Pairs:
    position = torch.arange(graphs.edge_index.size(1))
    edge_graph = torch.repeat_interleave(graphs.edge_ptr.diff())
    reverse = graphs.reverse
    opposite = position if reverse is None else reverse + graphs.edge_ptr[edge_graph]
    first = position <= opposite
    back = opposite[first]
    scores, truth, weights = _scores(predictions), graphs.edge_truth, predictions.edge
    if scores is not None and scores.shape != position.shape:
        raise InputError(
            f"got attention of {scores.numel()} edges for graphs with {position.numel()}; pass the "
            "predictions for these very graphs."
        )
    return _Pairs(
        edges=graphs.edge_index[:, first],
        ptr=offsets(torch.bincount(edge_graph[first], minlength=len(graphs))),
        copies=1 + (back != position[first]).long(),
        # Halves before the sum: the two are mostly equal, and so stay exactly what they are.
        scores=None if scores is None else scores[first] / 2 + scores[back] / 2,
        truth=None if truth is None else truth[first] | truth[back],
        weights=None if weights is None else weights[first] / 2 + weights[back] / 2,
        features=_features(graphs.edge_attr, first, back),
    )


def _features(
    edge_attr: Tensor | None, first: Tensor, back: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    if edge_attr is None:
        return None, None
    ahead, behind = edge_attr[first], edge_attr[back]
    return ahead, None if torch.equal(ahead, behind) else behind


def _scores(predictions: Predictions) -> Tensor | None:
    if predictions.scores is not None or predictions.edge is None:
        return predictions.scores
    return torch.logit(predictions.edge.float(), eps=1e-4) / 2


def _drawing(num_nodes: int, edges: Tensor, smiles: str | None) -> MoleculeDrawing | None:
    """RDKit's drawing of a graph that is this very molecule."""
    drawing = None if smiles is None else draw_molecule(smiles)
    ends = [(int(start), int(end)) for start, end in edges.T.tolist()]
    return drawing if drawing is not None and drawing.matches(num_nodes, ends) else None


def _places(num_nodes: int, edges: Tensor, drawing: MoleculeDrawing | None) -> Tensor:
    if drawing is not None:
        return torch.from_numpy(drawing.positions)
    return torch.from_numpy(layout(num_nodes, edges.numpy()))
