"""Grow boosted trees and forests on features of whole graphs, and turn them into tensors.

Boosted trees are scikit-learn's histogram boosting with its usual settings: 100 rounds, 31 leaves,
learning rate 0.1. A forest has at most 500 trees. One model per target, since targets may lack
different labels. Nothing is chosen on validation data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from threadpoolctl import threadpool_limits

from gsina.errors import InputError
from gsina.graphs.dataset import Dataset
from gsina.graphs.descriptors import describe_graphs, find_descriptors
from gsina.graphs.task import Task
from gsina.methods.trees import BoostedTrees, Forest
from gsina.molecules.descriptors import is_count

#: Called with the targets that are done, and with all there are.
OnTargets = Callable[[int, int], None]
#: Logit of a class without a training row.
ABSENT = -20.0
#: Trees of a forest per output: as many as fit, but not fewer and not more than these.
FEWEST_TREES, MOST_TREES, ALL_TREES = 100, 500, 2000
Ids = NDArray[np.int64]
#: One grown tree: its nodes as scikit-learn keeps them, and the output that it adds to.
Tree = tuple[NDArray[Any], int]


def grow_trees(dataset: Dataset, seed: int, on_targets: OnTargets | None = None) -> BoostedTrees:
    """Trees that are grown on ``train``; logits of classes, or numbers.

    They read all features but counts of fingerprints, which are a forest's. A target without
    labels, or with one class only, gets no trees and the logit of its share.

    Args:
        dataset: Graphs with features of whole graphs; weights of labels count.
        seed: Of the trees.
        on_targets: Told of the progress.

    """
    task = dataset.task
    trees: list[Tree] = []
    base = np.zeros(task.outputs)
    every = np.arange(dataset.train.num_graph_features)
    others = np.setdiff1d(every, count_columns(dataset))
    columns = others if len(others) else every
    for column, rows in enumerate(_targets(dataset, columns, on_targets)):
        grown, start = _grow(*rows, task, seed)
        first = 0 if task.kind == "multiclass" else column
        trees += [(nodes, first + output) for nodes, output in grown]
        base[first : first + len(start)] = start
    return as_tensors(trees, base, columns)


def grow_forest(dataset: Dataset, seed: int, on_targets: OnTargets | None = None) -> Forest | None:
    """A forest that is grown on ``train``: means of leaves, of classes their shares.

    It reads counts of fingerprints; ``None`` if there are none among the features. An output
    without labels, or with one class only, gets no trees but its share. Of several classes each
    has a forest of its own.

    Args:
        dataset: As for :func:`grow_trees`.
        seed: Of the forest.
        on_targets: Told of the progress.
    """
    task, columns = dataset.task, count_columns(dataset)
    if not len(columns):
        return None
    count = max(FEWEST_TREES, min(MOST_TREES, ALL_TREES // task.outputs))
    grown: list[tuple[Any, int]] = []
    base = np.zeros(task.outputs)
    for column, (x, y, weight) in enumerate(_targets(dataset, columns, on_targets)):
        for output in range(task.outputs) if task.kind == "multiclass" else [column]:
            told = (y == output).astype(float) if task.kind == "multiclass" else y
            if len(np.unique(told)) < 2:
                base[output] = told.mean() if len(told) else 0.5 * (task.kind != "regression")
                continue
            forest = _forest_of(task.kind, count, seed).fit(x, told, sample_weight=weight)
            grown += [(tree.tree_, output) for tree in forest.estimators_]
    return as_forest(grown, base, columns, task)


def _forest_of(kind: str, count: int, seed: int) -> Any:
    shared = {"n_estimators": count, "random_state": seed, "n_jobs": torch.get_num_threads()}
    if kind == "regression":
        return RandomForestRegressor(max_features=1 / 3, **shared)
    return RandomForestClassifier(**shared)


def count_columns(dataset: Dataset) -> Ids:
    """The features of whole graphs that are counts of fingerprints, for a forest."""
    names = dataset.origin.reading.get("descriptors", {}).get("names", ())
    found = [column for column, name in enumerate(names) if is_count(name)]
    return np.array(found, dtype=np.int64)


def _targets(
    dataset: Dataset, columns: Ids, on_targets: OnTargets | None
) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Features, labels and weights of the rows that have a label, target by target."""
    train, task = dataset.train, dataset.task
    assert train.graph_attr is not None
    assert train.y is not None
    x = train.graph_attr.float().numpy()[:, columns]
    y = train.y.double().numpy().reshape(len(train), -1)
    weight = np.ones_like(y)
    if train.label_weight is not None:
        weight = weight * train.label_weight.double().numpy().reshape(len(train), -1)
    for column in range(y.shape[1]):
        if on_targets is not None:
            on_targets(column, y.shape[1])
        known = np.isfinite(y[:, column]) & (weight[:, column] > 0)
        known &= (y[:, column] >= 0) | (task.kind == "regression")
        yield x[known], y[known, column], weight[known, column]
    if on_targets is not None:
        on_targets(y.shape[1], y.shape[1])


def check_level(level: str) -> None:
    """Refuse trees where nodes are predicted."""
    if level == "node":
        raise InputError(
            "boosted trees are for whole graphs, and this predicts nodes; leave the trees out "
            "(--no-trees, in Python trees=False)."
        )


def described(dataset: Dataset) -> tuple[Dataset, dict[str, list[int]]]:
    """Training graphs with something for trees to read, and how to make that of other graphs.

    Features of whole graphs that are there are taken; graphs without any are described by
    :mod:`gsina.graphs.descriptors`.

    Raises:
        InputError: Nodes are predicted.
    """
    check_level(dataset.task.level)
    if dataset.train.num_graph_features:
        return dataset, {}
    how = find_descriptors(dataset.train)
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


def as_tensors(trees: list[Tree], base: NDArray[Any], columns: Ids) -> BoostedTrees:
    """Trees side by side, filled up to the size of the largest.

    Args:
        trees: They number the features that they read from 0.
        base: What they start from, by output.
        columns: Those features.
    """
    width = max((len(nodes) for nodes, _ in trees), default=1)
    depth = max((int(nodes["depth"].max()) for nodes, _ in trees), default=0)
    made = BoostedTrees(len(trees), width, depth, len(base))
    made.base.copy_(torch.from_numpy(base))
    for row, (nodes, output) in enumerate(trees):
        count, leaf = len(nodes), nodes["is_leaf"].astype(bool)
        own = np.arange(count)
        made.output[row] = output
        made.feature[row, :count] = torch.from_numpy(
            np.where(leaf, 0, columns[nodes["feature_idx"]])
        )
        # Features are float32: rounded down, a threshold parts them as it did before.
        made.threshold[row, :count] = torch.from_numpy(_rounded_down(nodes["num_threshold"]))
        for name in ("left", "right"):
            child = np.where(leaf, own, nodes[name])
            getattr(made, name)[row, :count] = torch.from_numpy(child.astype(np.int32))
        made.value[row, :count] = torch.from_numpy(np.where(leaf, nodes["value"], 0.0))
    return made


def as_forest(
    trees: Sequence[tuple[Any, int]], base: NDArray[Any], columns: Ids, task: Task
) -> Forest:
    """scikit-learn's trees end to end, each with the output that it is about.

    Arguments as for :func:`as_tensors`. It writes the left child of a node behind it, as
    :class:`~gsina.methods.trees.Forest` wants it.
    """
    sizes = [tree.node_count for tree, _ in trees]
    depth = max((tree.max_depth for tree, _ in trees), default=0)
    made = Forest(len(trees), sum(sizes), depth, task)
    made.base.copy_(torch.from_numpy(base))
    start = 0
    for row, (tree, output) in enumerate(trees):
        rows, own = slice(start, start + tree.node_count), np.arange(tree.node_count)
        leaf = tree.children_left < 0
        assert (tree.children_left[~leaf] == own[~leaf] + 1).all()
        says = tree.value[:, 0, -1]  # of the second of two classes, or the number
        if task.kind != "regression":
            says = says / tree.value[:, 0].sum(-1)
        made.root[row], made.output[row] = start, output
        made.feature[rows] = torch.from_numpy(
            np.where(leaf, 0, columns[tree.feature]).astype(np.int16)
        )
        made.right[rows] = torch.from_numpy(
            np.where(leaf, 0, tree.children_right - own).astype(np.int32)
        )
        split = _rounded_down(tree.threshold)
        made.number[rows] = torch.from_numpy(np.where(leaf, says, split).astype(np.float32))
        start += tree.node_count
    return made


def _rounded_down(values: NDArray[np.float64]) -> NDArray[np.float32]:
    most = np.finfo(np.float32).max
    near = values.clip(-most, most).astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
