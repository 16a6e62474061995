"""Ways to divide a dataset."""

from __future__ import annotations

import numpy as np
import torch

from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs


def random_split(
    graphs: PackedGraphs, seed: int, *, train: float = 0.8, val: float = 0.1
) -> dict[str, PackedGraphs]:
    """Shuffle and cut into train, val and test (the rest).

    NumPy's legacy generator is used because the GSAT benchmark seeds it with the run index right
    before its shuffle: the same seed gives the same split there and here.
    """
    count = len(graphs)
    ids = np.arange(count)
    np.random.RandomState(seed).shuffle(ids)
    first, second = int(train * count), int(val * count)
    cuts = {"train": ids[:first], "val": ids[first : first + second], "test": ids[first + second :]}
    if not all(len(part) for part in cuts.values()):
        raise InputError(
            f"{count} graphs are too few to split; expected at least one each for train, val and "
            f"test with shares {train}, {val} and the rest."
        )
    return {name: graphs[torch.from_numpy(part)] for name, part in cuts.items()}


def first_tenth_for_val(pool: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide ids ``[M]`` into the training part and the first tenth, for validation."""
    cut = int(0.1 * len(pool))
    return pool[cut:], pool[:cut]
