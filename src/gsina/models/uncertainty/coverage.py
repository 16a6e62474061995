"""How often sets and intervals hold the truth: a measurement on labelled data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.models.uncertainty.answers import (
    COVERAGE,
    prediction_intervals,
    prediction_sets,
    reference_of,
)
from gsina.models.uncertainty.shift import find_shift

if TYPE_CHECKING:
    from gsina.models.model import Model


@dataclass(frozen=True)
class Coverage:
    """What was promised and what was found, over all targets together.

    Attributes:
        wanted: The coverage that was asked for.
        found: Share of the labels that their set or interval holds.
        labels: Number of labels.
        size: Mean number of classes in a set, or mean width of an interval.
        by_class: Share per class; empty for numbers.
    """

    wanted: float
    found: float
    labels: int
    size: float
    by_class: dict[str, float]


def measure_coverage(
    model: Model, graphs: PackedGraphs, coverage: float = COVERAGE, *, shift: bool = False
) -> Coverage:
    """Coverage on the rows of a labelled split that count.

    Args:
        model: A trained model.
        graphs: The split.
        coverage: What sets or intervals are made for.
        shift: Weight validation rows by how likely they are in this split.
    """
    known, task = reference_of(model), model.task
    y = graphs.labels(task.level)
    if y is None:
        raise InputError("these graphs have no labels; coverage is measured on labelled ones.")
    found = model.predict(graphs, states="label")
    logits, states = found.logits, found.places
    if task.level == "node" and graphs.mask is not None:
        logits, states, y = logits[graphs.mask], states[graphs.mask], y[graphs.mask]
    ratio = find_shift(known.states, states) if shift else None
    if task.kind == "regression":
        ends = prediction_intervals(model, logits, coverage, ratio, states)
        labelled = ~y.isnan()
        inside = ((ends[..., 0] <= y) & (y <= ends[..., 1]))[labelled]
        size = (ends[..., 1] - ends[..., 0])[labelled].mean()
        return Coverage(coverage, _share(inside), len(inside), float(size), {})
    sets = prediction_sets(model, logits, coverage, ratio, states)
    classes = y.unsqueeze(1) if y.dim() == 1 else y.nan_to_num(-1).long()
    labelled = classes >= 0
    inside = sets.gather(2, classes.clamp(min=0).unsqueeze(2)).squeeze(2)
    names = model.class_names or range(sets.size(2))
    return Coverage(
        coverage,
        _share(inside[labelled]),
        int(labelled.sum()),
        float(sets.sum(2)[labelled].double().mean()),
        {
            str(name): _share(inside[classes == number])
            for number, name in enumerate(names)
            if bool((classes == number).any())
        },
    )


def _share(inside: torch.Tensor) -> float:
    return float(inside.double().mean()) if inside.numel() else math.nan
