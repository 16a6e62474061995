"""Datasets in notebooks and in the console."""

from __future__ import annotations

from dataclasses import replace

import tiny
import tiny_nodes
from gsina.graphs.dataset import Origin
from html_texts import texts


def test_a_dataset_shows_its_task_and_its_splits() -> None:
    dataset = replace(
        tiny.dataset(4),
        name="<motifs>",
        class_names=("cycle", "house", "crane"),
        notes=("a note",),
        origin=Origin(file="mine.csv", unreadable=((3, "no graph"),)),
    )
    found = texts(dataset)
    assert "<motifs>" in found
    assert "one of 3 classes (cycle, house, crane) per graph" in found
    assert {"mine.csv", "1", "a note", "training", "validation", "accuracy"} <= set(found)
    for split in dataset.splits.values():
        assert {f"{len(split):,}", f"{split.x.size(0):,}", f"{split.edge_index.size(1):,}"} <= set(
            found
        )
    assert repr(dataset).startswith("Dataset('<motifs>', multiclass of graphs, train: 12, val: ")
    assert len(repr(dataset)) < 200


def test_of_nodes_those_that_count() -> None:
    assert "train: 60" in repr(tiny_nodes.dataset(nodes=60))
    dataset = tiny_nodes.dataset(mask=True)
    assert dataset.train.mask is not None
    counted = int(dataset.train.mask.sum())
    assert f"train: {counted}" in repr(dataset)
    assert f"{counted:,}" in texts(dataset)
    assert "nodes that count" in texts(dataset)
