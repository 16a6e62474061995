"""`Reference`: what a model keeps of its validation and training data.

Numbers only, no rows of the user's files: how wrong the model was on each validation row, and where
the rows lie in its own space of states. At most :data:`MOST` validation rows are kept, and
:data:`MOST_TRAINED` training rows, with each of which every new row is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from gsina.errors import InputError

MOST, MOST_TRAINED = 5000, 2000


@dataclass(frozen=True)
class Reference:
    """V validation rows and R training rows, of T targets.

    Attributes:
        scores: How wrong the model was on a validation row ``[V, T]``: 1 minus the probability of
            the right class, or the size of the error; NaN where there is no label.
        classes: The right class ``[V, T]``, int64, -1 where there is no label; of numbers 0.
        states: States of the validation rows ``[V, H]``.
        train_states: States of training rows ``[R, H]``.
        distances: Distance of the validation rows to the training data ``[V]``.
        train_bits: Fingerprints of training molecules ``[R, bytes]``, uint8; ``None`` for others.
        bit_distances: Distance of the validation molecules to them ``[V]``.
    """

    scores: Tensor
    classes: Tensor
    states: Tensor
    train_states: Tensor
    distances: Tensor
    train_bits: Tensor | None = None
    bit_distances: Tensor | None = None

    def tensors(self) -> dict[str, Tensor]:
        """All tensors but ``None``, by name."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def of_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The inverse of :meth:`tensors`; sizes are checked, for a file may be anyone's.

        Raises:
            InputError: Tensors are missing or do not fit together.
        """
        try:
            made = cls(**tensors)
            fits = (
                made.scores.shape == made.classes.shape
                and made.scores.dim() == made.states.dim() == made.train_states.dim() == 2
                and made.states.size(1) == made.train_states.size(1)
                and len(made.scores) == len(made.states) == len(made.distances)
                and (made.train_bits is None) == (made.bit_distances is None)
            )
        except (TypeError, AttributeError, IndexError):
            fits = False
        if not fits:
            raise InputError(
                "what the model keeps of its validation data is damaged; copy or train the model "
                "again."
            )
        return made


def evenly(count: int, most: int = MOST) -> Tensor:
    """Numbers of at most ``most`` of ``count`` rows, spread evenly, ascending."""
    if count <= most:
        return torch.arange(count)
    return torch.linspace(0, count - 1, most, dtype=torch.double).round().long()
