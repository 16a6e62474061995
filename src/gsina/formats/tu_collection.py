"""Any dataset of the TU collection, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gsina.datasets.raw.sources import raw_file
from gsina.datasets.tu import read_archive, tu_file
from gsina.errors import InputError
from gsina.formats.assemble import assemble
from gsina.formats.json_graphs import graph_reading
from gsina.formats.pyg import label_columns
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.folds import Fold
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.splits import check_rule, divide

RULES = ("random", "size")


def read_tu_graphs(
    name: str,
    *,
    split: str = "random",
    kind: TargetKind = "auto",
    seed: int = 0,
    fold: Sequence[int] | None = None,
) -> Dataset:
    """Read a dataset of the TU collection from the data folder, or download it into it.

    Args:
        name: Name in the collection, such as ``PROTEINS``.
        split: ``random`` or ``size``.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.
        fold: Number of a fold and number of all folds, to test on that one; the rule must be
            ``random``.
    """
    check_rule(split, None, RULES)
    tested = Fold.check(fold, split)
    found = read_archive(raw_file(tu_file(name)))
    if found.graphs.y is None:
        raise InputError(f"{name} has no labels of graphs; expected something to predict.")
    if found.classes:
        columns = {"label": [str(found.classes[place]) for place in found.graphs.y.tolist()]}
    else:
        columns = label_columns(found.graphs.y.tolist())
    graphs = replace(found.graphs, y=None)
    rows = range(1, len(graphs) + 1)
    labels = read_labels(columns, rows, kind=kind)
    return assemble(
        name,
        graphs,
        labels,
        divide(split, labels, rows, graphs=graphs, column=None, cells=(), seed=seed, fold=tested),
        names=[str(row) for row in rows],
        rows=rows,
        origin=Origin(graph_reading(graphs), file=name),
    )


def reading_of(dataset: Dataset) -> dict[str, Any] | None:
    """Always ``None``: new graphs are read from JSON."""
    return None
