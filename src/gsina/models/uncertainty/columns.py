"""Confidence, sets or intervals and domain as columns of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gsina.models.answers import class_names, number_text, target_names
from gsina.models.model import Model
from gsina.models.uncertainty.answers import (
    COVERAGE,
    class_shares,
    domain_percentiles,
    prediction_intervals,
    prediction_sets,
    reference_of,
    structure_percentiles,
)
from gsina.models.uncertainty.shift import Shift
from gsina.molecules.fingerprints import packed_fingerprints

#: Columns that are named once, whatever the number of targets.
DOMAIN, STRUCTURE = "domain", "domain_structure"


@dataclass(frozen=True)
class TrustColumns:
    """The columns that say how far to trust a prediction.

    Of classes ``confidence``, the calibrated probability of the answer, and ``set``, a list of the
    classes that cannot be ruled out; of numbers ``low`` and ``high``; of both ``domain``, and of
    molecules ``domain_structure``, in percent. Several targets have their names behind the first.

    Attributes:
        model: The model.
        coverage: The share of sets or intervals that are to hold the truth.
        shift: How the rows differ from validation rows; ``None``: not at all.
    """

    model: Model
    coverage: float = COVERAGE
    shift: Shift | None = None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        one = self.model.task.kind == "multiclass" or self.model.task.outputs == 1
        ends = [""] if one else [f"_{name}" for name in target_names(self.model)]
        kinds = ("low", "high") if self.model.task.kind == "regression" else ("confidence", "set")
        known = reference_of(self.model)
        structure = [] if known.train_bits is None else [STRUCTURE]
        return [*(f"{kind}{end}" for kind in kinds for end in ends), DOMAIN, *structure]

    def cells(
        self, logits: Tensor, states: Tensor, smiles: Sequence[str] | None = None
    ) -> list[list[str]]:
        """The text of the cells, one list per row.

        Args:
            logits: ``[G, outputs]``, or values.
            states: ``[G, H]``.
            smiles: Of molecules, for models that know fingerprints.
        """
        model, asked = self.model, (self.coverage, self.shift, states)
        if model.task.kind == "regression":
            ends = prediction_intervals(model, logits, *asked)
            rows = [
                [*map(number_text, low), *map(number_text, high)]
                for low, high in zip(ends[..., 0].tolist(), ends[..., 1].tolist(), strict=True)
            ]
        else:
            sets = prediction_sets(model, logits, *asked)
            guess = model.classes(logits).view(len(logits), -1, 1)
            sure = class_shares(model, logits).gather(2, guess).squeeze(2)
            rows = [
                [*map(number_text, shares), *map(self._set, held)]
                for shares, held in zip(sure.tolist(), sets.tolist(), strict=True)
            ]
        found = [domain_percentiles(model, states)]
        if STRUCTURE in self.names:
            bits = packed_fingerprints(smiles or [""] * len(logits))
            structure = structure_percentiles(model, bits)
            assert structure is not None
            found.append(structure)
        far = torch.stack(found, dim=1).tolist()
        return [[*row, *map(number_text, more)] for row, more in zip(rows, far, strict=True)]

    def _set(self, held: list[bool]) -> str:
        names = class_names(self.model)
        inside = [name for name, there in zip(names, held, strict=True) if there]
        return json.dumps(inside, ensure_ascii=False)
