"""Predictions as columns of a table: what a user's row gets added."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.models.model import Model
from gsina.training.evaluate import Predictions

REASON = "reason"
#: Why a row that could be read has no answer.
NOT_FINITE = "the answer is not finite, as its features are far beyond those of the training"
#: Digits of probabilities, values and weights.
DIGITS = 6
WEIGHT_DIGITS = 4


def answer_names(model: Model) -> list[str]:
    """Names of the columns that :func:`answers` fills.

    One target: ``prediction``, and of classes ``probability_<class>`` for each. Several:
    ``prediction_<target>``, and of classes ``probability_<target>``, that of yes.
    """
    task = model.task
    if task.outputs == 1 or task.kind == "multiclass":
        if task.kind == "regression":
            return ["prediction"]
        return ["prediction", *(f"probability_{name}" for name in class_names(model))]
    names = [f"prediction_{name}" for name in target_names(model)]
    if task.kind == "binary":
        names += [f"probability_{name}" for name in target_names(model)]
    return names


def answers(model: Model, logits: Tensor) -> list[list[str]]:
    """The text of the cells, one row per graph (or node)."""
    task = model.task
    if task.kind == "regression":
        return [[number_text(value) for value in row] for row in logits.tolist()]
    shares = model.probabilities(logits)
    guess = model.classes(logits)
    if task.kind == "multiclass" or task.outputs == 1:
        if task.kind == "binary":
            shares, guess = torch.cat([1 - shares, shares], dim=1), guess[:, 0]
        names = class_names(model)
        return [
            [names[best], *map(number_text, row)]
            for best, row in zip(guess.tolist(), shares.tolist(), strict=True)
        ]
    return [
        [*map(str, yes), *map(number_text, row)]
        for yes, row in zip(guess.tolist(), shares.tolist(), strict=True)
    ]


def decision(model: Model) -> str:
    """Above which probability a yes-or-no answer is yes, as a sentence without a full stop.

    It is empty where no threshold was to be chosen; one that had too few validation labels to be
    chosen by answers yes as often as in training.
    """
    cuts, shares = model.calibration.cut, model.calibration.share
    if not cuts:
        return ""
    shown = [f"{one:.3g}" for one in model.thresholds]
    how = ", chosen on validation data" if any(cuts) else ""
    if len(cuts) == 1 and any(cuts) and any(shares):
        how = f", as {100 * shares[0]:.1f} % of the validation rows, the share of training labels"
    elif any(cuts) and any(shares):
        how += f" ({sum(map(bool, shares))} of them by the share of training labels)"
    if len(cuts) == 1:
        no, yes = class_names(model)
        return f"the answer is {yes} above a probability of {shown[0]}{how}, else {no}"
    each = [f"{name} {cut}" for name, cut in zip(target_names(model), shown, strict=True)]
    return f"the answer is yes above a probability of: {', '.join(each)}{how}"


def spread_names(model: Model) -> list[str]:
    """Names of the columns that :func:`spread_cells` fills: none, but of an ensemble."""
    if model.architecture.members == 1:
        return []
    one = model.task.kind == "multiclass" or model.task.outputs == 1
    return ["spread"] if one else [f"spread_{name}" for name in target_names(model)]


def spread_cells(model: Model, predictions: Predictions) -> list[list[str]]:
    """How far the members of an ensemble are apart, one row per graph (or node)."""
    return [[number_text(value) for value in row] for row in model.spread(predictions).tolist()]


def attention(graphs: PackedGraphs, predictions: Predictions) -> list[list[str]]:
    """JSON of ``[start, end, weight]`` of every edge, and of the weight of every node.

    The two directions of an edge share a weight and are listed once.
    """
    if predictions.edge is None:
        raise InputError("this model has no attention to write; leave --attention out.")
    edge_graph = torch.repeat_interleave(graphs.edge_ptr.diff())
    position = torch.arange(graphs.edge_index.size(1))
    reverse = graphs.reverse
    opposite = position if reverse is None else reverse + graphs.edge_ptr[edge_graph]
    once = position <= opposite
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), once.long().cumsum(0)])[graphs.edge_ptr]
    ends = graphs.edge_index[:, once].T.tolist()
    weights = _rounded(predictions.edge[once])
    edges = [[start, end, weight] for (start, end), weight in zip(ends, weights, strict=True)]
    nodes = None if predictions.node is None else _rounded(predictions.node)
    edge_ptr, node_ptr = ptr.tolist(), graphs.node_ptr.tolist()
    return [
        [
            json.dumps(edges[edge_ptr[graph] : edge_ptr[graph + 1]], separators=(",", ":")),
            ""
            if nodes is None
            else json.dumps(nodes[node_ptr[graph] : node_ptr[graph + 1]], separators=(",", ":")),
        ]
        for graph in range(len(graphs))
    ]


def confidence(model: Model, logits: Tensor) -> Tensor:
    """How sure the model is of each graph ``[G]``; of numbers, the value itself.

    It is minus infinity where the answer is not finite.
    """
    if model.task.kind == "regression":
        sure = logits.mean(-1)
    else:
        shares = model.probabilities(logits)
        binary = model.task.kind == "binary"
        sure = torch.maximum(shares, 1 - shares).mean(-1) if binary else shares.amax(-1)
    return sure.masked_fill(~logits.isfinite().all(-1), -math.inf)


def truth(model: Model, rows: Sequence[dict[str, str]]) -> Tensor | None:
    """Labels of rows that have the model's target columns, as its task has them; else ``None``."""
    names = target_names(model)
    if not rows or any(name not in rows[0] for name in names):
        return None
    columns = [[row.get(name, "").strip() for row in rows] for name in names]
    codes = [model.coding.encode(model.coding.read(cells)) for cells in columns]
    return codes[0] if len(codes) == 1 else torch.cat(codes, dim=1)


def class_names(model: Model) -> list[str]:
    """Text of the classes of a single target."""
    return [str(name) for name in model.coding.names]


def target_names(model: Model) -> list[str]:
    """Names of the targets; their numbers if they have none."""
    return list(model.target_names) or [str(i) for i in range(model.task.outputs)]


def free_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names for new columns: with ``gsina_`` in front where the file has such a column."""
    used = set(taken)
    free = []
    for name in names:
        while name in used:
            name = f"gsina_{name}"
        used.add(name)
        free.append(name)
    return free


def number_text(value: float) -> str:
    """A number as a cell."""
    return f"{value:.{DIGITS}g}"


def _rounded(values: Tensor) -> Any:
    return np.round(values.double().numpy(), WEIGHT_DIGITS).tolist()
