from __future__ import annotations

import numpy as np
import pytest
import torch

from gsina.datasets.random_split import first_tenth_for_val, random_split
from gsina.graphs.packed import PackedGraphs


def numbered(count: int) -> PackedGraphs:
    ptr = torch.arange(count + 1)
    x = torch.arange(count, dtype=torch.float)[:, None]
    return PackedGraphs(x, torch.zeros(2, 0, dtype=torch.long), ptr, torch.zeros_like(ptr))


def test_shares_and_no_overlap() -> None:
    parts = random_split(numbered(57), seed=3)
    assert [len(part) for part in parts.values()] == [45, 5, 7]
    seen = torch.cat([part.x for part in parts.values()]).flatten()
    assert sorted(seen.tolist()) == list(range(57))


def test_seed_decides_as_in_the_benchmark() -> None:
    # What seeding NumPy's global generator and shuffling gives.
    state = np.random.RandomState(1)
    ids = np.arange(20)
    state.shuffle(ids)
    parts = random_split(numbered(20), seed=1)
    assert parts["train"].x.flatten().tolist() == ids[:16].tolist()
    assert parts["test"].x.flatten().tolist() == ids[18:].tolist()
    assert random_split(numbered(20), seed=2)["train"].x.tolist() != parts["train"].x.tolist()


def test_too_few_graphs() -> None:
    with pytest.raises(ValueError, match="4 graphs are too few"):
        random_split(numbered(4), seed=0)


def test_first_tenth() -> None:
    train, val = first_tenth_for_val(torch.arange(25))
    assert (train.tolist(), val.tolist()) == (list(range(2, 25)), [0, 1])
