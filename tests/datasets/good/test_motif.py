"""GOOD-Motif, rebuilt."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gsina.datasets.catalog import load_dataset
from gsina.datasets.good.motif import (
    AROUND,
    LABEL_NOISE,
    LADDER,
    PATH,
    SIZES,
    STAR,
    TREE,
    WHEEL,
    _skeleton,
)
from gsina.errors import InputError

NODES = 5


def degrees(base: int, size: int) -> list[int]:
    """Degrees of a base of its own, the smallest first."""
    edges = _skeleton(0, base, size)
    own = edges[:, :-NODES]  # the cycle comes last
    assert (own[0] < own[1]).all()
    assert len({tuple(edge) for edge in own.T.tolist()}) == own.shape[1]
    return sorted(np.bincount(own.ravel(), minlength=int(edges[0, -NODES])).tolist())


def test_bases() -> None:
    assert degrees(WHEEL, 6) == [3, 3, 3, 3, 3, 5]
    assert degrees(WHEEL, 3) == [2, 2, 2]
    assert degrees(WHEEL, 2) == [1, 1]
    assert degrees(TREE, 11) == [1, 1, 1, 1, 2, 3, 3]  # height 2
    assert degrees(TREE, 1) == [1, 1, 2]
    assert degrees(LADDER, 4) == [2, 2, 2, 2, 3, 3, 3, 3]
    assert degrees(LADDER, 1) == [1, 1]
    assert degrees(STAR, 5) == [1, 1, 1, 1, 4]
    assert degrees(PATH, 5) == [1, 1, 2, 2, 2]
    assert degrees(PATH, 1) == degrees(WHEEL, 1) == [0]


@pytest.mark.parametrize("domain", ["basis", "size"])
@pytest.mark.parametrize("shift", ["covariate", "concept", "none"])
def test_the_motif_is_the_label_but_for_the_noise(domain: str, shift: str) -> None:
    dataset = load_dataset("good-motif", domain=domain, shift=shift, count=2000)
    wrong = []
    for graphs in dataset.splits.values():
        assert graphs.undirected
        assert graphs.edge_truth is not None
        assert graphs.node_truth is not None
        assert graphs.y is not None
        own = torch.stack(
            [part.sum() for part in graphs.edge_truth.split(graphs.edge_ptr.diff().tolist())]
        )
        assert set(own.tolist()) == {10, 12}  # both ways; no extra edge inside the motif
        wrong += ((own == 10) != (graphs.y == 0)).tolist()
        assert int(graphs.node_truth.sum()) == NODES * len(graphs)
        assert bool((graphs.x == 1).all())
    # Of the blind labels a third are right, and house and crane are not told apart here.
    assert np.mean(wrong) == pytest.approx(LABEL_NOISE * 4 / 9, abs=0.02)


def test_a_twentieth_of_the_edges_is_extra() -> None:
    paths = load_dataset("good-motif", count=3000).test
    assert paths.edge_truth is not None
    nodes = paths.node_ptr.diff() - NODES
    outside = torch.stack(
        [(~part).sum() // 2 for part in paths.edge_truth.split(paths.edge_ptr.diff().tolist())]
    )
    extra = outside - nodes  # a path and the joint have as many edges as the path nodes
    assert set(extra.tolist()) == {0, 1}
    assert float(extra.float().mean()) > 0.1


def test_sizes_shift_with_their_domain() -> None:
    dataset = load_dataset("good-motif", domain="size", count=1000)
    middle = SIZES["covariate"]
    for split, at in (("val", 3), ("test", 4)):
        nodes = dataset.splits[split].node_ptr.diff() - NODES
        assert int(nodes.max()) in range(2 * middle[at], 2 * (middle[at] + AROUND) + 1)
    assert int((dataset.train.node_ptr.diff() - NODES).max()) == 2 * (middle[2] + AROUND)


def test_the_seed_decides() -> None:
    one, same, other = (load_dataset("good-motif", seed=seed, count=100) for seed in (1, 1, 2))
    assert torch.equal(one.train.edge_index, same.train.edge_index)
    assert not torch.equal(one.test.node_ptr, other.test.node_ptr)


def test_wrong_options() -> None:
    with pytest.raises(InputError, match="did you mean 'basis'"):
        load_dataset("good-motif", domain="base")
    with pytest.raises(InputError, match="at least 100 graphs, got 3"):
        load_dataset("good-motif", count=3)
