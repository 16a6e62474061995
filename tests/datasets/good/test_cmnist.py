"""Coloured digits, of images that the test draws."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gsina.datasets.good import cmnist
from gsina.datasets.good.shifts import COLOURS
from gsina.errors import InputError

pytest.importorskip("skimage")


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(split: str, *_: object) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        count = 100 if split == "train" else 20
        drawn = np.zeros((count, 28, 28), dtype=np.uint8)
        for number in range(count):
            row = number % 20
            drawn[number, row : row + 6, 4:24] = 200 + number % 50
        return drawn, (np.arange(count) % 10).astype(np.uint8)

    monkeypatch.setattr(cmnist, "read_split", read)


def test_colours_are_domains() -> None:
    dataset = cmnist.load(limit=110, jobs=1)
    assert sum(map(len, dataset.splits.values())) == 110
    for split, allowed in (("train", COLOURS[:5]), ("val", COLOURS[5:6]), ("test", COLOURS[6:7])):
        graphs = dataset.splits[split]
        assert graphs.edge_attr is None
        bright = graphs.x[graphs.x.sum(1) > 0.1]
        colours = {tuple(row) for row in (bright / bright.amax(1, keepdim=True)).tolist()}
        assert colours <= set(allowed)


def test_labels_prefer_other_colours_elsewhere() -> None:
    dataset = cmnist.load(shift="concept", jobs=1)
    assert len(dataset.train) == 52  # 42 % of 120, and what rounding leaves
    assert dataset.train.environment is not None
    assert set(dataset.train.environment.tolist()) == set(range(5))
    assert torch.equal(dataset.test.environment, torch.full((24,), 6))


def test_too_few_images() -> None:
    with pytest.raises(InputError, match="at least 100 images"):
        cmnist.load(limit=99)
