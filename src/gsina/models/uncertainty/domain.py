"""The applicability domain: how far a row lies from the training data."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

#: Of so many nearest training rows the distances are averaged.
NEIGHBOURS = 5
#: Rows whose distances are computed at once.
PIECE = 256
#: Distances that differ by this part are taken as equal: rounding depends on the batch.
TOLERANCE = 1e-4


def distances(states: Tensor, train: Tensor) -> Tensor:
    """Mean distance to the nearest training rows ``[G]``, in standard deviations of the states.

    Args:
        states: ``[G, H]``.
        train: States of training rows ``[R, H]``.
    """
    spread, centre = torch.std_mean(train.double(), dim=0, correction=0)
    scale = torch.where(spread > 0, spread, 1.0)
    train, states = ((values - centre) / scale for values in (train, states.double()))
    nearest = min(NEIGHBOURS, len(train))
    # Not by a matrix product, whose rounding depends on how many rows there are.
    exact = "donot_use_mm_for_euclid_dist"
    found = [
        torch.cdist(piece, train, compute_mode=exact).topk(nearest, largest=False).values.mean(1)
        for piece in torch.split(states, PIECE)
    ]
    return torch.cat(found).float() if found else states.new_zeros(0).float()


def bit_distances(bits: Tensor, train: Tensor) -> Tensor:
    """1 minus the Tanimoto similarity to the nearest training molecule ``[G]``.

    Args:
        bits: Packed fingerprints ``[G, bytes]``, uint8.
        train: Those of training molecules ``[R, bytes]``.
    """
    known = _unpacked(train)
    sizes, by_bit = known.sum(1), known.T.contiguous()
    found = []
    for piece in torch.split(bits, PIECE):
        some = _unpacked(piece)
        count = some.sum(1, keepdim=True)
        # A molecule has few bits: adding up their columns is less work than a matrix product, and
        # as exact, as all are whole numbers.
        first = count.long().cumsum(0)[:, 0] - count.long()[:, 0]
        both = torch.nn.functional.embedding_bag(some.nonzero()[:, 1], by_bit, first, mode="sum")
        either = count + sizes - both
        found.append(1 - (both / either.clamp(min=1)).amax(1))
    return torch.cat(found) if found else torch.zeros(0)


def percentiles(found: Tensor, reference: Tensor) -> Tensor:
    """Share in percent of the validation rows that lie nearer to the training data ``[G]``.

    Of rows like those of the validation split every value is equally likely; 100 is farther away
    than all of them.
    """
    ordered = reference.sort().values.double() * (1 + TOLERANCE)
    nearer = torch.searchsorted(ordered, found.double())
    return (100 * nearer / max(1, len(ordered))).float()


def _unpacked(bits: Tensor) -> Tensor:
    return torch.from_numpy(np.unpackbits(bits.numpy(), axis=1).astype(np.float32))
