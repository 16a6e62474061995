"""Datasets from lists of PyG ``Data`` objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.formats.assemble import assemble
from gsina.formats.json_graphs import cell, graph_reading
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.pyg import one_by_one
from gsina.graphs.split_rules import Parts
from gsina.graphs.splits import check_rule, divide, finish

RULES = ("random", "size", "column", "time", "own")


def from_pyg(
    train: Iterable[Any],
    val: Iterable[Any] | None = None,
    test: Iterable[Any] | None = None,
    *,
    split: str = "random",
    split_column: str | None = None,
    kind: TargetKind = "auto",
    seed: int = 0,
    name: str = "graphs",
) -> Dataset:
    """A dataset of PyG ``Data`` objects with ``y``, already split or to be split.

    Args:
        train: Graphs to train on; all graphs, if neither ``val`` nor ``test`` is given.
        val: Graphs for validation; drawn from ``train`` if only ``test`` is given.
        test: Graphs to test on.
        split: How to divide one list: ``random``, ``size``, ``column``, ``time`` or ``own``.
        split_column: The attribute of the objects that the last three of them read.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.
        name: Name of the dataset.
    """
    given = {
        part: [] if some is None else list(one_by_one(some))
        for part, some in (("train", train), ("val", val), ("test", test))
    }
    everything = [graph for part in given.values() for graph in part]
    graphs = PackedGraphs.from_pyg(everything)
    graphs = replace(graphs, x=_numbers(graphs.x, "x"), edge_attr=_edge_attr(graphs), y=None)
    rows = range(1, len(everything) + 1)
    labels = read_labels(_targets(everything), rows, kind=kind)
    if val is None and test is None:
        check_rule(split, split_column, RULES)
        cells = [cell(_plain(getattr(g, split_column or "", None))) for g in everything]
        parts = divide(
            split, labels, rows, graphs=graphs, column=split_column, cells=cells, seed=seed
        )
    else:
        starts = np.cumsum([0, *(len(part) for part in given.values())])
        given_parts: Parts = {
            part: np.arange(start, end)
            for part, start, end in zip(given, starts[:-1], starts[1:], strict=True)
        }
        parts = finish(given_parts, labels, rule="own", seed=seed, needed=("train",))
    return assemble(
        name,
        graphs,
        labels,
        parts,
        names=[str(getattr(graph, "id", row)) for graph, row in zip(everything, rows, strict=True)],
        rows=rows,
        origin=Origin(graph_reading(graphs)),
    )


def _targets(graphs: Sequence[Any]) -> dict[str, list[str]]:
    """Cells of ``y`` of every object."""
    values = []
    for place, graph in enumerate(graphs):
        y = getattr(graph, "y", None)
        if y is None:
            raise InputError(f"graph {place} has no y; expected a label on every graph.")
        values.append(torch.as_tensor(y).flatten().tolist())
    if len({len(value) for value in values}) > 1:
        raise InputError("graphs have different numbers of labels in y; expected as many in each.")
    return label_columns(values)


def label_columns(values: list[list[float]]) -> dict[str, list[str]]:
    """Labels ``[G, targets]`` as the text of cells, one column per target."""
    width = len(values[0])
    names = ["label"] if width == 1 else [f"label {i}" for i in range(1, width + 1)]
    return {name: [str(value[place]) for value in values] for place, name in enumerate(names)}


def _numbers(values: Tensor, what: str) -> Tensor:
    values = values.float()
    if not bool(values.isfinite().all()):
        raise InputError(f"{what} of the graphs has values that are missing or not finite.")
    return values


def _edge_attr(graphs: PackedGraphs) -> Tensor | None:
    return None if graphs.edge_attr is None else _numbers(graphs.edge_attr, "edge_attr")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value
