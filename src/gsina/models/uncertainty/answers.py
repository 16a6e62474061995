"""Sets, intervals and the domain of new rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.models.uncertainty import domain
from gsina.models.uncertainty.conformal import (
    TOLERANCE,
    bound,
    check_coverage,
    class_bounds,
    fewest,
)
from gsina.models.uncertainty.reference import Reference
from gsina.models.uncertainty.shift import Shift

if TYPE_CHECKING:
    from gsina.models.model import Model

#: The coverage where none is asked for.
COVERAGE = 0.9


def reference_of(model: Model) -> Reference:
    """What the model knows of its validation data.

    Raises:
        InputError: It was trained by a version that kept nothing.
    """
    if model.reference is None:
        raise InputError(
            "this model was trained without a record of its validation data, which sets, intervals "
            "and the domain need; train it again with this version of gsina, or predict without "
            "--coverage and --shift."
        )
    return model.reference


def class_shares(model: Model, logits: Tensor) -> Tensor:
    """Calibrated probabilities of all classes of every target ``[G, T, classes]``."""
    shares = model.probabilities(logits)
    if model.task.kind == "multiclass":
        return shares.unsqueeze(1)
    return torch.stack([1 - shares, shares], dim=2)


def prediction_sets(
    model: Model,
    logits: Tensor,
    coverage: float = COVERAGE,
    shift: Shift | None = None,
    states: Tensor | None = None,
) -> Tensor:
    """Which classes cannot be ruled out ``[G, T, classes]``, bool; the answer is one of them.

    Args:
        model: A classifier.
        logits: Of new rows ``[G, outputs]``.
        coverage: The share of rows, in every class, whose set is to hold the right one.
        shift: How new rows differ from validation rows; ``None``: not at all.
        states: Of the new rows ``[G, H]``, for a shift.
    """
    known, coverage = reference_of(model), check_coverage(coverage)
    if model.task.kind == "regression":
        raise InputError("this model predicts numbers, which have intervals and no sets.")
    old, new = _weights(known, shift, states)
    shares = class_shares(model, logits)
    sets = torch.empty_like(shares, dtype=torch.bool)
    for target in range(shares.size(1)):
        scores, classes = known.scores[:, target], known.classes[:, target]
        most = class_bounds(scores, classes, shares.size(2), coverage, old, new)
        sets[:, target] = 1 - shares[:, target].double() <= most + TOLERANCE
    guess = model.classes(logits).view(len(logits), -1, 1)
    return sets.scatter(2, guess, True)


def prediction_intervals(
    model: Model,
    values: Tensor,
    coverage: float = COVERAGE,
    shift: Shift | None = None,
    states: Tensor | None = None,
) -> Tensor:
    """Lower and upper end of every target ``[G, T, 2]``, in the units of the targets.

    The arguments are those of :func:`prediction_sets`, with predicted values ``[G, T]``.
    """
    known, coverage = reference_of(model), check_coverage(coverage)
    if model.task.kind != "regression":
        raise InputError("this model predicts classes, which have sets and no intervals.")
    old, new = _weights(known, shift, states)
    most = torch.stack([bound(scores, coverage, old, new) for scores in known.scores.T], dim=1)
    return torch.stack([values.double() - most, values.double() + most], dim=2)


def domain_percentiles(model: Model, states: Tensor) -> Tensor:
    """Share in percent of the validation rows that are nearer to the training data ``[G]``."""
    known = reference_of(model)
    found = domain.distances(states.float(), known.train_states)
    return domain.percentiles(found, known.distances)


def structure_percentiles(model: Model, bits: Tensor) -> Tensor | None:
    """The same by fingerprints ``[G, bytes]``; ``None`` for a model that knows none."""
    known = reference_of(model)
    if known.train_bits is None or known.bit_distances is None:
        return None
    return domain.percentiles(domain.bit_distances(bits, known.train_bits), known.bit_distances)


def coverage_notes(model: Model, coverage: float) -> list[str]:
    """What sets or intervals cannot promise, as validation rows are too few; one sentence each."""
    known, needed = reference_of(model), fewest(check_coverage(coverage))
    names = model.target_names if len(model.target_names) > 1 else ("",) * known.scores.size(1)
    found = []
    for target, name in enumerate(names):
        of = f" of {name}" if name else ""
        rows = int((known.classes[:, target] >= 0).sum())
        if model.task.kind == "regression":
            if rows < needed:
                found.append(
                    f"intervals{of} are infinite: a coverage of {coverage:g} needs {needed} "
                    f"validation rows, and the model had {rows}."
                )
            continue
        count = model.task.outputs if model.task.kind == "multiclass" else 2
        bounds = class_bounds(known.scores[:, target], known.classes[:, target], count, coverage)
        always = [number for number in range(count) if math.isinf(float(bounds[0, number]))]
        if always:
            classes = ", ".join(str((model.class_names or range(count))[one]) for one in always)
            found.append(
                f"every set{of} holds {classes}: a coverage of {coverage:g} needs {needed} "
                "validation rows, of each class or of the rare ones together."
            )
    return found


def _weights(
    known: Reference, shift: Shift | None, states: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Density ratios at validation rows and at new rows; ``None`` without a shift."""
    if shift is None:
        return None, None
    if states is None:
        raise InputError("a shift needs the states of the rows; predict them with states.")
    return shift.weights(known.states), shift.weights(states)
