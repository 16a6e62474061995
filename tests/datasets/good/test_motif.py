"""GOOD-Motif, rebuilt."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from gsina.datasets.catalog import load_dataset
from gsina.datasets.good.motif import SIZES
from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs

NODES = 5


def degrees(graphs: PackedGraphs, at: int) -> Counter[int]:
    """How often every degree occurs in the base of a graph, without the edge to the motif."""
    graph = graphs[[at]]
    assert graph.node_truth is not None
    inside = ~graph.node_truth[graph.edge_index]
    found = torch.bincount(graph.edge_index[0, inside.all(0)], minlength=len(graph.node_truth))
    return Counter(found[~graph.node_truth].tolist())


def test_every_split_has_its_base() -> None:
    dataset = load_dataset("good-motif", count=300)
    for at in range(10):
        bases = dataset.splits["val"], dataset.test
        star, path = (degrees(graphs, at) for graphs in bases)
        assert star[1] == sum(star.values()) - 1
        assert path[1] == 2
        assert path[2] == sum(path.values()) - 2
    wheels = dataset.train[dataset.train.environment == 0]
    hub = degrees(wheels, 0)
    assert hub[3] == sum(hub.values()) - 1 == max(hub)


@pytest.mark.parametrize("domain", ["basis", "size"])
@pytest.mark.parametrize("shift", ["covariate", "concept", "none"])
def test_the_motif_is_the_label(domain: str, shift: str) -> None:
    dataset = load_dataset("good-motif", domain=domain, shift=shift, count=200)
    for graphs in dataset.splits.values():
        assert graphs.undirected
        assert graphs.edge_truth is not None
        assert graphs.node_truth is not None
        assert graphs.y is not None
        own = torch.stack(
            [part.sum() for part in graphs.edge_truth.split(graphs.edge_ptr.diff().tolist())]
        )
        assert torch.equal(own, torch.where(graphs.y == 0, 10, 12))  # both ways
        assert int(graphs.node_truth.sum()) == NODES * len(graphs)
        assert bool((graphs.x == 1).all())


def test_sizes_shift_with_their_domain() -> None:
    dataset = load_dataset("good-motif", domain="size", count=1000)
    for split, size in (("val", SIZES[3]), ("test", SIZES[4])):
        nodes = dataset.splits[split].node_ptr.diff() - NODES
        assert size[0] - 1 <= int(nodes.min())  # a ladder is even
        assert int(nodes.max()) <= size[1]
    assert int((dataset.train.node_ptr.diff() - NODES).max()) <= SIZES[2][1]


def test_the_seed_decides() -> None:
    one, same, other = (load_dataset("good-motif", seed=seed, count=100) for seed in (1, 1, 2))
    assert torch.equal(one.train.edge_index, same.train.edge_index)
    assert not torch.equal(one.test.node_ptr, other.test.node_ptr)


def test_wrong_options() -> None:
    with pytest.raises(InputError, match="did you mean 'basis'"):
        load_dataset("good-motif", domain="base")
    with pytest.raises(InputError, match="at least 100 graphs, got 3"):
        load_dataset("good-motif", count=3)
