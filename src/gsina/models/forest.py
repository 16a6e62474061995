"""A random forest on Morgan fingerprints: what a model of molecules has to beat.

Settings are fixed and those of common use: 500 trees, 2,048 bits of radius 2, the square root of
their number tried at a split (for numbers a third), one forest per target, since targets may lack
different labels. Nothing is chosen on validation data but the thresholds of yes-or-no answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.formats import format_of, reading_of
from gsina.graphs.dataset import Dataset
from gsina.models.imbalance import ClassWeight, weighted
from gsina.molecules.fingerprints import packed_fingerprints

TREES = 500
#: Trees that are grown between two reports.
STEP = 50
#: The most training labels; beyond, a forest takes longer than the network.
MOST_LABELS = 200_000

#: Called with the trees that are grown, and with all there will be.
OnTrees = Callable[[int, int], None]


def has_molecules(dataset: Dataset) -> bool:
    """Whether every labelled graph of the dataset is a molecule whose SMILES is known."""
    try:
        molecules = format_of(reading_of(dataset)).molecules
    except InputError:
        return False
    return molecules and dataset.splits.keys() <= dataset.origin.names.keys()


def forest_logits(
    dataset: Dataset,
    *,
    class_weight: ClassWeight | None = None,
    seed: int = 0,
    on_trees: OnTrees | None = None,
) -> dict[str, Tensor]:
    """What a forest that is trained on ``train`` says of every split ``[G, outputs]``.

    Logits of classes, in which the share ``p`` of the trees counts as ``(500 p + 1/2) / 501`` (so
    that none is infinite), or numbers in the units of the targets.

    Args:
        dataset: Molecules (:func:`has_molecules`).
        class_weight: Weights of classes, as in the training of the network.
        seed: Of the forest.
        on_trees: Told of the progress.
    """
    task = dataset.task
    bits = {split: _bits(dataset.origin.names[split]) for split in dataset.splits}
    train = weighted(dataset, class_weight).train
    assert train.y is not None
    targets = train.y.unsqueeze(1) if task.kind == "multiclass" else train.y
    rows = np.ones(targets.shape) if train.label_weight is None else _rows(train.label_weight)
    found: dict[str, list[Tensor]] = {split: [] for split in dataset.splits}
    count = targets.size(1)
    for column in range(count):
        y = targets[:, column].double().numpy()
        known = ~np.isnan(y) & ((y >= 0) if task.kind == "multiclass" else True)
        weight = np.broadcast_to(rows, targets.shape)[known, column]

        def report(trees: int, before: int = column * TREES) -> None:
            if on_trees is not None:
                on_trees(before + trees, count * TREES)

        forest = _grow(bits["train"][known], y[known], weight, task.kind, seed, report)
        for split, values in bits.items():
            found[split].append(_answers(forest, values, task.kind, task.outputs))
    return {split: torch.cat(columns, 1).float() for split, columns in found.items()}


def _grow(
    bits: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[Any],
    kind: str,
    seed: int,
    report: Callable[[int], None],
) -> Any:
    """A forest, or nothing for a target without labels."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if not len(y):
        return None
    make, tried = (
        (RandomForestRegressor, 1 / 3) if kind == "regression" else (RandomForestClassifier, "sqrt")
    )
    forest = make(
        0,
        max_features=tried,
        random_state=seed,
        n_jobs=torch.get_num_threads(),
        warm_start=True,
    )
    for trees in range(STEP, TREES + 1, STEP):
        report(trees - STEP)
        forest.set_params(n_estimators=trees).fit(bits, y, sample_weight=weight)
    report(TREES)
    return forest


def _answers(forest: Any, bits: NDArray[Any], kind: str, outputs: int) -> Tensor:
    """Logits or numbers ``[G, 1]``, of several classes ``[G, classes]``."""
    width = outputs if kind == "multiclass" else 2
    if kind == "regression":
        values = np.zeros(len(bits)) if forest is None else forest.predict(bits)
        return torch.from_numpy(values).unsqueeze(1)
    share = torch.full((len(bits), width), 0.0, dtype=torch.double)
    if forest is None:
        share += 1 / width
    else:
        share[:, forest.classes_.astype(int)] = torch.from_numpy(forest.predict_proba(bits))
    logs = ((TREES * share + 0.5) / (TREES + 1)).log()
    return logs if kind == "multiclass" else logs[:, 1:] - logs[:, :1]


def _bits(smiles: tuple[str, ...]) -> NDArray[np.uint8]:
    return np.unpackbits(packed_fingerprints(smiles).numpy(), axis=1)


def _rows(weight: Tensor) -> NDArray[np.float64]:
    """Weights of labels as ``[G, 1]`` or ``[G, targets]``."""
    values = weight.double()
    return (values.unsqueeze(1) if values.dim() == 1 else values).numpy()
