"""Houses on a random graph, with colours."""

from __future__ import annotations

import pytest
import torch

from gsina.datasets.catalog import load_dataset
from gsina.datasets.good.shifts import COLOURS


def test_houses_hang_on_the_base() -> None:
    dataset = load_dataset("good-cbas")
    graph = dataset.train
    assert graph.node_y is not None
    assert torch.bincount(graph.node_y).tolist() == [300, 160, 160, 80]
    assert graph.undirected
    assert len(dataset.class_names) == 4
    colours = torch.tensor(COLOURS)
    for split, allowed in (("train", {0, 1, 2, 3, 4}), ("val", {5}), ("test", {6})):
        part = dataset.splits[split]
        found = (part.x[part.mask][:, None] == colours).all(2).nonzero()[:, 1]
        assert set(found.tolist()) == allowed


def test_every_node_is_in_one_split() -> None:
    for shift, sizes in (("covariate", [420, 70, 70, 70, 70]), ("concept", [140] * 5)):
        splits = load_dataset("good-cbas", shift=shift, seed=1).splits
        masks = torch.stack([part.mask for part in splits.values() if part.mask is not None])
        assert masks.sum(1).tolist() == sizes
        assert bool((masks.sum(0) == 1).all())


def test_the_concept_moves() -> None:
    dataset = load_dataset("good-cbas", shift="concept", seed=3)
    colour = (dataset.train.x[:, None] == torch.tensor(COLOURS)).all(2).nonzero()[:, 1]
    label = dataset.train.node_y
    assert label is not None
    own, away = dataset.train.mask, dataset.test.mask
    assert own is not None
    assert away is not None
    assert float((colour == label)[own].float().mean()) > 0.8
    assert float((colour == label)[away].float().mean()) == pytest.approx(0.25, abs=0.1)
