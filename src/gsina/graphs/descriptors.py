"""Features of whole graphs that are no molecules: shares of labels, degrees and surroundings.

A column of features that is 0 or 1 in all training graphs, or holds categories, is a mark of a
node (or an edge); others are numbers. Per graph there are

* the shares of nodes with each number of neighbours;
* mean and standard deviation of the numbers of nodes, and means of those of edges;
* the shares of nodes by their marks, and by those of their surroundings up to two steps away, as
  the test of Weisfeiler and Leman names them (1968), in :data:`BINS` bins each.

All are shares and means, none a count: graphs to predict may be larger than all training graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs

#: Bins of the names of surroundings, for each number of steps; nodes with more neighbours than
#: ``DEGREES - 1`` are taken together.
BINS, STEPS, DEGREES = 128, 2, 10

Names = NDArray[np.uint64]
Floats = NDArray[np.float64]
_ODD = np.uint64(0x9E3779B97F4A7C15)


def find_descriptors(train: PackedGraphs) -> dict[str, list[int]]:
    """What of the training graphs is needed to describe others alike; plain JSON.

    Args:
        train: The training graphs.

    Returns:
        The columns of ``node`` and ``edge`` features that are marks, and the descriptors that are
        ``kept``, as they vary among the graphs; if none does, the first, which tells nothing.
    """
    how = {"node": _marks(train.x), "edge": _marks(train.edge_attr)}
    values = _all(train, how)
    return how | {"kept": np.flatnonzero(values.min(0) < values.max(0)).tolist() or [0]}


def describe_graphs(graphs: PackedGraphs, how: Mapping[str, Sequence[int]]) -> Tensor:
    """Descriptors of every graph ``[G, kept]``, float32.

    Args:
        graphs: Graphs with the features of the training graphs.
        how: As :func:`find_descriptors` gives it.

    Raises:
        InputError: That is not for such graphs.
    """
    try:
        values = _all(graphs, how)[:, list(how["kept"])]
    except (KeyError, IndexError, TypeError) as error:
        raise InputError(
            "what the model keeps of the descriptors of its training graphs is not for graphs with "
            "these features; make the graphs as those it was trained on, or train it again."
        ) from error
    return torch.from_numpy(values.astype(np.float32))


def _marks(features: Tensor | None) -> list[int]:
    """The columns that are categories, or nothing but 0 and 1."""
    if features is None:
        return []
    if not features.is_floating_point():
        return list(range(features.size(1)))
    plain = ((features == 0) | (features == 1)).all(0)
    return plain.nonzero().flatten().tolist()


def _all(graphs: PackedGraphs, how: Mapping[str, Sequence[int]]) -> Floats:
    """All descriptors ``[G, F]``; of a graph without nodes or edges their shares are 0."""
    nodes, edges = graphs.node_ptr.diff().numpy(), graphs.edge_ptr.diff().numpy()
    of_node, of_edge = (np.repeat(np.arange(len(graphs)), count) for count in (nodes, edges))
    source, target = (graphs.edge_index + graphs.node_ptr[torch.from_numpy(of_edge)]).numpy()
    degree = np.bincount(target, minlength=len(of_node))
    x, marks = _parted(graphs.x, how["node"])
    numbers, edge_marks = _parted(graphs.edge_attr, how["edge"])
    mean, square = (_means(values, of_node, nodes) for values in (x, x**2))
    parts = [
        _shares(degree.clip(max=DEGREES - 1), DEGREES, of_node, nodes),
        mean,
        np.sqrt((square - mean**2).clip(0)),
        _means(numbers, of_edge, edges),
    ]
    names = _named(marks, len(of_node))
    by_edge = _named(edge_marks, len(of_edge))
    for step in range(STEPS + 1):
        if step:
            heard = np.zeros(len(names), np.uint64)
            np.add.at(heard, target, _mixed(names[source] + _ODD * by_edge))
            names = _mixed(names * _ODD + heard)
        parts.append(_shares((names % np.uint64(BINS)).astype(np.int64), BINS, of_node, nodes))
    return np.concatenate(parts, axis=1)


def _parted(features: Tensor | None, marks: Sequence[int]) -> tuple[Floats, NDArray[Any]]:
    """Columns that are numbers, and those that are marks."""
    if features is None:
        return np.zeros((0, 0)), np.zeros((0, 0))
    values = features.numpy()
    numbers = np.delete(values, list(marks), axis=1).astype(np.float64)
    return numbers, values[:, list(marks)]


def _named(marks: NDArray[Any], count: int) -> Names:
    """A number for every row of marks ``[N]``, the same for equal rows."""
    names = np.zeros(count, np.uint64)
    for column in marks.T:
        names = _mixed(names * _ODD + column.astype(np.int64).astype(np.uint64))
    return names


def _mixed(values: Names) -> Names:
    """Every bit depends on every other: the last step of SplitMix64 (Steele, Lea, Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _shares(
    values: NDArray[np.int64], most: int, owner: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Floats:
    """The share of every value below ``most`` among the nodes of each graph ``[G, most]``."""
    counts = np.bincount(owner * most + values, minlength=len(sizes) * most)
    return np.asarray(counts.reshape(-1, most) / sizes.clip(1)[:, None])


def _means(values: Floats, owner: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    """Mean of every column over the nodes or edges of each graph ``[G, F]``."""
    total = np.zeros((len(sizes), values.shape[1]))
    for column in range(values.shape[1]):
        total[:, column] = np.bincount(owner, values[:, column], minlength=len(sizes))
    return np.asarray(total / sizes.clip(1)[:, None])
