"""What estimators take: graphs of any kind, checked, and labels beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.formats import reading_of
from gsina.formats.objects import ReadObjects, read_objects
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import find_scaling
from gsina.graphs.task import Level
from gsina.methods.registry import check_graph_features
from gsina.models.imbalance import AUTO
from gsina.molecules.descriptors import USUAL, check_kinds, choose, varying
from gsina.training.evaluate import Predictions

#: One graph in so many is held out for validation if none are given.
HELD_OUT = 10


def feature_kinds(
    features: str | Sequence[str] | None, method: str, trees: bool | str
) -> tuple[str, ...]:
    """The features of whole molecules that an estimator is to add, if its method can use them."""
    if features is None or features == AUTO:
        return () if features is None or not trees else USUAL
    kinds = features.split(",") if isinstance(features, str) else features
    found = tuple(kind.strip() for kind in kinds)
    check_kinds(found)
    if found and not trees:  # the network is to read them
        check_graph_features(method)  # before they are computed
    return found


def read_graphs(
    graphs: Any,
    level: Level = "graph",
    reading: dict[str, Any] | None = None,
    features: Sequence[str] = (),
    *,
    if_molecules: bool = False,
) -> ReadObjects:
    """Graphs to train on: :func:`~gsina.formats.objects.read_objects` with finite features."""
    found = read_objects(graphs, level, reading, features, if_molecules=if_molecules)
    check_features(found.graphs, found.reading)
    return found


def with_reading(dataset: Dataset, found: ReadObjects) -> Dataset:
    """The dataset, which says how its graphs were made of objects.

    Of features of whole molecules, those that vary among the training molecules are kept, scaled.
    """
    dataset = replace(dataset, node_sizes=found.node_sizes, edge_sizes=found.edge_sizes)
    if not found.reading:
        return dataset
    reading = {**reading_of(dataset), **found.reading}
    if known := reading.get("descriptors"):
        values: dict[str, Any] = {part: one.graph_attr for part, one in dataset.splits.items()}
        kept = varying(values["train"].numpy(), known["names"])
        splits = {}
        for part, graphs in dataset.splits.items():
            chosen = torch.from_numpy(choose(values[part].numpy(), known["names"], kept))
            splits[part] = replace(graphs, graph_attr=chosen)
        dataset = replace(dataset, splits=splits, scaling=find_scaling(splits["train"]))
        reading["descriptors"] = {**known, "names": kept}
    return replace(dataset, origin=Origin(reading))


def check_answers(found: Predictions) -> Predictions:
    """The predictions, if they are finite; otherwise they would be classes without a reason."""
    lost = (~found.logits.isfinite().all(-1)).nonzero().view(-1)
    if len(lost):
        raise InputError(
            f"the answer for row {int(lost[0])} of the input is not finite ({len(lost)} in all); "
            "its features are far beyond those of the training: correct it or leave it out."
        )
    return found


def check_features(graphs: PackedGraphs, reading: Mapping[str, Any]) -> None:
    """Refuse features that are not finite: a network would answer nonsense without a word.

    Args:
        graphs: The graphs.
        reading: How they are read; descriptors of molecules may have gaps, which scaling fills.
    """
    one_each = torch.arange(len(graphs) + 1)
    for values, what, ptr in (
        (graphs.x, "node", graphs.node_ptr),
        (graphs.edge_attr, "edge", graphs.edge_ptr),
        (None if "descriptors" in reading else graphs.graph_attr, "graph", one_each),
    ):
        if values is None or not values.is_floating_point():
            continue
        wrong = (~values.isfinite()).flatten(1).any(1).nonzero()
        if len(wrong):
            graph = int(torch.searchsorted(ptr, wrong[0], right=True)) - 1
            raise InputError(
                f"the {what} features of graph {graph} hold NaN or infinite values; fill in what "
                "is missing, or leave the graph out."
            )


def check_mask(mask: Any, name: str, count: int, level: Level) -> Tensor:
    """A mask as a tensor ``[count]``, if it is one of truth values for all graphs or nodes."""
    found = torch.as_tensor(mask)
    if found.dtype != torch.bool or found.shape != (count,):
        raise InputError(
            f"{name} must be a truth value for each of {count} {level}s, got {found.dtype} of "
            f"shape {list(found.shape)}; of several columns choose one."
        )
    return found


def hold_out(classes: Tensor | None, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Rows to train on and rows to validate on, every class in proportion.

    Args:
        classes: Class of every row ``[count]``, or ``None``.
        count: Number of rows; a single one serves for both.
        seed: Of the draw.
    """
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    if count < 2:
        return order, order
    if classes is not None:
        order = order[classes[order].argsort(stable=True)]
    step = min(HELD_OUT, count)
    out = torch.zeros(count, dtype=torch.bool)
    out[order[step // 2 :: step]] = True
    return (~out).nonzero().flatten(), out.nonzero().flatten()


def with_labels(graphs: PackedGraphs, y: Tensor, level: Level = "graph") -> PackedGraphs:
    """The graphs with these labels."""
    return replace(graphs, node_y=y, y=None) if level == "node" else replace(graphs, y=y)
