"""Fit on validation data what a trained model needs to say how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.formats import format_of
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.models.imbalance import (
    best_cuts,
    class_weights,
    counted_labels,
    too_few,
    training_shares,
)
from gsina.models.uncertainty.answers import class_shares
from gsina.models.uncertainty.calibration import Calibration, fit_temperature
from gsina.models.uncertainty.domain import bit_distances, distances
from gsina.models.uncertainty.reference import MOST_TRAINED, Reference, evenly
from gsina.molecules.fingerprints import packed_fingerprints

if TYPE_CHECKING:
    from gsina.models.model import Model


def with_uncertainty(model: Model, dataset: Dataset, *, threshold: bool = False) -> Model:
    """The model with its calibration and reference; other splits are not looked at.

    Args:
        model: A trained model.
        dataset: The data that it was trained and selected on.
        threshold: Whether to choose the thresholds of yes-or-no answers.
    """
    task, y = model.task, counted_labels(dataset.val, model.task)
    if y is None:
        return model
    logits, states = _answers(model, dataset.val)
    if not len(logits):
        return model
    if task.kind != "regression":
        offset = _offset(model, dataset)
        moved = Calibration(offset=offset).apply(logits)
        calibration = Calibration(fit_temperature(moved, y, task), offset)
        if threshold:
            shares = training_shares(dataset)
            calibration = replace(
                calibration,
                cut=best_cuts(logits, y, task, shares),
                share=tuple(
                    share if too_few(labels) else 0.0
                    for share, labels in zip(shares, y.T, strict=True)
                ),
            )
        model = replace(model, calibration=calibration)
    scores, classes = errors(model, logits, y)
    kept = evenly(len(scores))
    train_rows, train_states = _train_states(model, dataset.train)
    smiles = {split: _smiles(model, dataset, split) for split in ("train", "val")}
    bits = val_bits = None
    if smiles["train"] and smiles["val"]:
        bits = packed_fingerprints([smiles["train"][row] for row in train_rows.tolist()])
        val_bits = packed_fingerprints([smiles["val"][row] for row in kept.tolist()])
    reference = Reference(
        scores=scores[kept],
        classes=classes[kept],
        states=states[kept],
        train_states=train_states,
        distances=distances(states[kept], train_states),
        train_bits=bits,
        bit_distances=None if bits is None or val_bits is None else bit_distances(val_bits, bits),
    )
    return replace(model, reference=reference)


def errors(model: Model, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """How wrong answers are ``[G, T]``, NaN without a label, and the right classes ``[G, T]``."""
    if model.task.kind == "regression":
        classes = torch.where(y.isnan(), -1, 0)
        return (logits.double() - y.double()).abs().float(), classes
    classes = y.unsqueeze(1) if y.dim() == 1 else y.nan_to_num(-1).long()
    shares = class_shares(model, logits)
    right = shares.gather(2, classes.clamp(min=0).unsqueeze(2)).squeeze(2)
    return torch.where(classes < 0, torch.nan, 1 - right).float(), classes


def _answers(model: Model, graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """Logits and states of the rows that count in a split."""
    found = model.predict(graphs, states="label")
    logits, states = found.logits, found.places.float()
    if model.task.level == "node" and graphs.mask is not None:
        return logits[graphs.mask], states[graphs.mask]
    return logits, states


def _train_states(model: Model, train: PackedGraphs) -> tuple[Tensor, Tensor]:
    """Numbers of some training rows that count, and their states."""
    if model.task.level == "graph":
        rows = evenly(len(train), MOST_TRAINED)
        return rows, _answers(model, train if len(rows) == len(train) else train[rows])[1]
    states = _answers(model, train)[1]
    rows = evenly(len(states), MOST_TRAINED)
    return rows, states[rows]


def _offset(model: Model, dataset: Dataset) -> tuple[float, ...]:
    """What undoes, in the logits, the weights that classes had in the loss ``[outputs]``."""
    weights = model.training.get("settings", {}).get("class_weight")
    if weights is None:
        return ()
    log = class_weights(dataset, weights).double().log()
    offset: list[float] = (
        -log[0] if model.task.kind == "multiclass" else log[:, 0] - log[:, 1]
    ).tolist()
    return tuple(offset)


def _smiles(model: Model, dataset: Dataset, split: str) -> Sequence[str]:
    """SMILES of the molecules of a split; nothing where graphs are no molecules."""
    try:
        molecules = format_of(model.featuriser).molecules
    except InputError:
        return ()
    return dataset.origin.names.get(split, ()) if molecules else ()
