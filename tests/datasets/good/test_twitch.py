"""Streamers in six languages, of small graphs that stand in for the files."""

from __future__ import annotations

import pytest
import torch

from gsina.datasets.catalog import load_dataset
from gsina.datasets.good import twitch
from gsina.datasets.nodes.twitch import SPLITS
from gsina.datasets.nodes.whole_graphs import NodeGraph, pack
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(**_: object) -> Dataset:
        splits = {}
        for number, split in enumerate(SPLITS):
            nodes = 60 + 20 * number
            y = (torch.arange(nodes) % 2).float()[:, None]
            x = torch.full((nodes, 3), number, dtype=torch.uint8)
            edges = torch.stack([torch.arange(nodes), torch.arange(nodes).roll(1)])
            splits[split] = pack([NodeGraph(x, edges, y)], [number])
        return Dataset("twitch", Task("binary", 1, "roc_auc", "node"), splits)

    monkeypatch.setattr(twitch.twitch, "load", load)


@pytest.mark.usefixtures("_small")
def test_languages_are_domains() -> None:
    dataset = twitch.load()
    assert [len(dataset.splits[split]) for split in ("train", "val", "test")] == [3, 1, 2]
    masks = [dataset.splits[split].mask for split in ("train", "id_val", "id_test")]
    found = torch.stack([mask for mask in masks if mask is not None])
    assert bool((found.sum(0) == 1).all())
    assert found.sum(1).tolist() == [240 - 2 * 66, 66, 66]  # a tenth of 660 nodes each
    assert dataset.test.environment is not None
    assert dataset.test.environment.tolist() == [4, 5]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("shift", ["concept", "none"])
def test_every_node_is_in_one_split(shift: str) -> None:
    dataset = twitch.load(shift=shift)  # type: ignore[arg-type]
    masks = [part.mask for part in dataset.splits.values()]
    found = torch.stack([mask for mask in masks if mask is not None])
    assert bool((found.sum(0) == 1).all())


@pytest.mark.data
def test_published_numbers_of_nodes() -> None:
    """But for two French streamers: 14448, 3412, 3412, 6551 and 6297 are published."""
    splits = load_dataset("good-twitch").splits
    counts = {split: part.x.size(0) for split, part in splits.items()}
    assert counts == {"train": 21272, "id_val": 21272, "id_test": 21272, "val": 6549, "test": 6297}
    mask = splits["train"].mask
    assert mask is not None
    assert int(mask.sum()) == 14450
