"""Grow boosted trees on features of whole graphs, and turn them into tensors.

scikit-learn's histogram boosting with its usual settings: 100 rounds, 31 leaves, learning rate 0.1;
one model per target, since targets may lack different labels. Nothing is chosen on validation data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from gsina.errors import InputError
from gsina.graphs.dataset import Dataset
from gsina.graphs.descriptors import describe_graphs, find_descriptors
from gsina.graphs.task import Task
from gsina.methods.trees import BoostedTrees

#: Called with the targets that are done, and with all there are.
OnTargets = Callable[[int, int], None]
#: Logit of a class without a training row.
ABSENT = -20.0
#: One grown tree: its nodes as scikit-learn keeps them, and the output that it adds to.
Tree = tuple[NDArray[Any], int]


def grow_trees(dataset: Dataset, seed: int, on_targets: OnTargets | None = None) -> BoostedTrees:
    """Trees that are grown on ``train``; logits of classes, or numbers.

    A target without labels, or with one class only, gets no trees and the logit of its share.

    Args:
        dataset: Graphs with features of whole graphs; weights of labels count.
        seed: Of the trees.
        on_targets: Told of the progress.

    """
    train, task = dataset.train, dataset.task
    assert train.graph_attr is not None
    assert train.y is not None
    x = train.graph_attr.float().numpy()
    y = train.y.double().numpy().reshape(len(train), -1)
    weight = np.ones_like(y)
    if train.label_weight is not None:
        weight = weight * train.label_weight.double().numpy().reshape(len(train), -1)
    trees: list[Tree] = []
    base = np.zeros(task.outputs)
    for column in range(y.shape[1]):
        if on_targets is not None:
            on_targets(column, y.shape[1])
        known = np.isfinite(y[:, column]) & (weight[:, column] > 0)
        known &= (y[:, column] >= 0) | (task.kind == "regression")
        rows = x[known], y[known, column], weight[known, column]
        grown, start = _grow(*rows, task, seed)
        first = 0 if task.kind == "multiclass" else column
        trees += [(nodes, first + output) for nodes, output in grown]
        base[first : first + len(start)] = start
    if on_targets is not None:
        on_targets(y.shape[1], y.shape[1])
    return as_tensors(trees, base)


def described(dataset: Dataset) -> tuple[Dataset, dict[str, list[int]]]:
    """Training graphs with something for trees to read, and how to make that of other graphs.

    Features of whole graphs that are there are taken; graphs without any are described by
    :mod:`gsina.graphs.descriptors`.

    Raises:
        InputError: Nodes are predicted, or all graphs have the same descriptors.
    """
    if dataset.task.level == "node":
        raise InputError(
            "boosted trees are for whole graphs, and this predicts nodes; leave the trees out "
            "(--no-trees, in Python trees=False)."
        )
    if dataset.train.num_graph_features:
        return dataset, {}
    how = find_descriptors(dataset.train)
    if not how["kept"]:
        raise InputError(
            "boosted trees need features in which graphs differ, and these training graphs differ "
            "in none; leave the trees out (--no-trees)."
        )
    train = replace(dataset.train, graph_attr=describe_graphs(dataset.train, how))
    return replace(dataset, splits={**dataset.splits, "train": train}), how


def _grow(
    x: NDArray[Any], y: NDArray[Any], weight: NDArray[Any], task: Task, seed: int
) -> tuple[list[Tree], NDArray[Any]]:
    """Trees of one target, with the number of the output of each, and what they start from."""
    outputs = task.outputs if task.kind == "multiclass" else 1
    if task.kind != "regression" and len(np.unique(y)) < 2:
        shares = np.bincount(y.astype(int), weight, max(outputs, 2)) + 0.5
        logs = np.log(shares / shares.sum())
        return [], logs if outputs > 1 else logs[1:] - logs[:1]
    if not len(y):
        return [], np.zeros(outputs)
    make = (
        HistGradientBoostingRegressor
        if task.kind == "regression"
        else HistGradientBoostingClassifier
    )
    # Threads that wait for each other on fewer cores take a hundred times as long.
    with warnings.catch_warnings(), threadpool_limits(torch.get_num_threads()):
        warnings.simplefilter("ignore", UserWarning)  # few rows of a class
        model = make(random_state=seed, early_stopping=False).fit(x, y, sample_weight=weight)
    start, base = np.full(outputs, ABSENT), np.asarray(model._baseline_prediction).reshape(-1)
    seen = [0] if outputs == 1 else model.classes_.astype(int).tolist()
    start[seen] = 0.0
    told = seen[-len(base) :]  # of two of several classes, one sum of trees tells the second
    start[told] = base
    grown = [
        (predictor.nodes, told[place])
        for round_ in model._predictors
        for place, predictor in enumerate(round_)
    ]
    return grown, start


def as_tensors(trees: list[Tree], base: NDArray[Any]) -> BoostedTrees:
    """Trees side by side, filled up to the size of the largest."""
    width = max((len(nodes) for nodes, _ in trees), default=1)
    depth = max((int(nodes["depth"].max()) for nodes, _ in trees), default=0)
    made = BoostedTrees(len(trees), width, depth, len(base))
    made.base.copy_(torch.from_numpy(base))
    for row, (nodes, output) in enumerate(trees):
        count, leaf = len(nodes), nodes["is_leaf"].astype(bool)
        own = np.arange(count)
        made.output[row] = output
        made.feature[row, :count] = torch.from_numpy(np.where(leaf, 0, nodes["feature_idx"]))
        # Features are float32: rounded down, a threshold parts them as it did before.
        made.threshold[row, :count] = torch.from_numpy(_rounded_down(nodes["num_threshold"]))
        for name in ("left", "right"):
            child = np.where(leaf, own, nodes[name])
            getattr(made, name)[row, :count] = torch.from_numpy(child.astype(np.int32))
        made.value[row, :count] = torch.from_numpy(np.where(leaf, nodes["value"], 0.0))
    return made


def _rounded_down(values: NDArray[np.float64]) -> NDArray[np.float32]:
    most = np.finfo(np.float32).max
    near = values.clip(-most, most).astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
