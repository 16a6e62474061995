"""Graphs on a device: batches of them are those of the host, and their sizes are known."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

import tiny
import tiny_nodes
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs

HERE = torch.device("cpu")


def same(left: Batch, right: Batch) -> None:
    for field in fields(Batch):
        one, other = getattr(left, field.name), getattr(right, field.name)
        if isinstance(one, torch.Tensor):
            assert torch.equal(one, other), field.name
        elif field.name != "most_nodes":
            assert one == other, field.name


@pytest.mark.parametrize("undirected", [False, True])
def test_batches_are_the_same(undirected: bool) -> None:
    graphs = tiny.ragged(undirected=undirected)
    placed = graphs.to(HERE)
    for ids in ([0, 1, 2], [5, 5, 3], [4], list(range(len(graphs)))):
        batch = placed.batch(ids)
        same(batch, graphs.batch(ids))
        assert batch.most_nodes == batch.largest == graphs.batch(ids).largest


def test_one_large_graph_stays_as_it_is() -> None:
    graphs = tiny_nodes.graphs(2, 20, mask=True)
    placed = graphs.to(HERE)
    same(placed.batch([1]), graphs.batch([1]))
    assert placed.batch([1]) is placed.batch([1])
    assert placed.batch([1]) is not graphs.batch([1])


def test_nothing_is_read_back_to_assemble_a_batch() -> None:
    """On the meta device nothing could be; sizes come from the offsets that the host has."""
    for graphs in (tiny.ragged(undirected=True), tiny_nodes.graphs(2, 20)):
        placed = graphs.to(torch.device("meta"))
        for ids in ([0, 1], [1]):
            batch, here = placed.batch(ids), graphs.batch(ids)
            assert batch.x.is_meta
            assert batch.x.shape == here.x.shape
            assert batch.edge_index.shape == here.edge_index.shape
            assert batch.largest == here.largest


def test_what_is_there_is_not_copied_again() -> None:
    known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    graphs = tiny.ragged(undirected=True)
    first = graphs.to(torch.device("meta"), known)
    again = graphs.to(torch.device("meta"), known)
    assert again.x is first.x
    assert again.reverse is first.reverse
    other = graphs[[0, 1]].to(torch.device("meta"), known)
    assert other.x is not first.x
    assert {id(value) for value, _ in known.values()}.isdisjoint({id(graphs.x)})


def test_memory_counts_all_tensors() -> None:
    graphs = PackedGraphs.one(torch.zeros(3, 2), torch.tensor([[0, 1], [1, 0]]))
    assert graphs.nbytes == 3 * 2 * 4 + 2 * 2 * 8 + 2 * 2 * 8 + 2 * 8
