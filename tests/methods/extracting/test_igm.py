"""IGM: the mixed graphs one by one, the limits of the invariant part, and the loss."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.packed import PackedGraphs
from gsina.methods.extracting.igm import IGM, IGMConfig
from gsina.methods.parts.mixing import join_parts, partners
from gsina.nn.predictor import NetworkSpec
from gsina.nn.subgraph import edge_subgraph

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def model(**options: Any) -> IGM:
    torch.manual_seed(0)
    return IGM.build(SPEC, tiny.CLASSES, IGMConfig(**options))


def test_partners_are_of_the_next_class() -> None:
    torch.manual_seed(0)
    y = torch.tensor([5, 0, 3, 0, 5, 5])
    following = {0: 3, 3: 5, 5: 0}
    drawn = set()
    for _ in range(30):
        found = partners(y)
        assert all(following[int(y[i])] == int(y[j]) for i, j in enumerate(found))
        drawn.add(int(found[2]))
    assert drawn == {0, 4, 5}
    assert set(partners(torch.tensor([1, 1])).tolist()) <= {0, 1}
    nan = torch.full((3, 2), torch.nan)
    assert partners(nan).shape == (3,)


@pytest.mark.parametrize("undirected", [False, True])
def test_mixed_graphs_one_by_one(undirected: bool) -> None:
    graphs = tiny.ragged(undirected=undirected)
    batch = tiny.whole(graphs)
    torch.manual_seed(3)
    kept = torch.rand(batch.num_edges) < 0.5
    first, second = edge_subgraph(batch, kept), edge_subgraph(batch, ~kept)
    partner = torch.tensor([5, 4, 4, 0, 6, 2, 1])
    weight = (torch.rand(first.num_edges), torch.rand(second.num_edges))
    mixed, weights = join_parts(first, second, partner, weight, both_ways=undirected)
    assert torch.equal(mixed.labels, batch.labels)
    # Each is a graph of its own: packing checks that no edge leaves it.
    ours, ones, twos = (PackedGraphs.from_batch(part).to_pyg() for part in (mixed, first, second))
    for number, graph in enumerate(ours):
        one, two = ones[number], twos[int(partner[number])]
        assert torch.equal(graph.x, torch.cat([one.x, two.x]))
        inner = torch.cat([one.edge_index, two.edge_index + one.num_nodes], dim=1)
        bridges = graph.edge_index[:, inner.size(1) :]
        assert torch.equal(graph.edge_index[:, : inner.size(1)], inner)
        own = weights[mixed.edge_graph == number]
        expected = torch.cat(
            [
                weight[0][first.edge_graph == number],
                weight[1][second.edge_graph == int(partner[number])],
                torch.ones(bridges.size(1)),
            ]
        )
        assert torch.equal(own, expected)
        linked = one.num_nodes > 0 and two.num_nodes > 0
        assert bridges.size(1) == (0 if not linked else 4 if undirected else 2)
        side = bridges < one.num_nodes
        assert bool((side[0] != side[1]).all())
        if not undirected:
            assert bool(side[1].all())  # the messages reach the first part
        assert torch.equal(graph.edge_attr[inner.size(1) :], torch.zeros(bridges.size(1), 1))


def test_share_of_the_invariant_part_has_limits() -> None:
    graphs = tiny.motifs(6)
    batch = tiny.whole(graphs)
    for ratio in (0.5, 0.7, 0.9):
        igm = model(ratio=ratio)
        for bias in (-20.0, 0.0, 20.0):
            igm.splitter.scorer.last.bias.data.fill_(bias)  # type: ignore[union-attr]
            split, weight = igm.train()._split(batch)
            count = batch.edge_groups.counts(weight)
            share = batch.edge_groups.sum(split.kept.float()) / count
            assert bool((share >= 1 - ratio - 1e-6).all())
            assert bool((share <= ratio + 1 / count).all())
            inside = (weight > 0.5) == split.kept
            free = (share > 1 - ratio + 1 / count) & (share < ratio - 1 / count)
            assert bool(inside[free[batch.edge_graph]].all())


def test_loss_adds_up() -> None:
    igm = model(environment_mixup=0.3, vrex=2.0, invariant_mixup=0.0).eval()
    batch = tiny.whole(tiny.motifs(3))
    terms = igm.loss(batch)
    risk, mixed = terms["prediction"], terms["environment_mixup"] / 0.3
    torch.testing.assert_close(terms["vrex"], 2 * torch.stack([risk, mixed]).var())
    assert float(terms["invariant_mixup"].detach()) == 0
    for name in ("environment_mixup", "vrex"):
        found = torch.autograd.grad(
            terms[name], list(igm.splitter.parameters()), retain_graph=True, allow_unused=True
        )
        assert any(grad is not None and bool(grad.abs().sum() > 0) for grad in found), name


def test_mixed_graphs_do_not_enter_the_running_statistics() -> None:
    batch = tiny.whole(tiny.motifs(2))
    one, same = model(), model()
    torch.manual_seed(5)
    one(batch)
    torch.manual_seed(5)
    same.loss(batch)
    after = dict(same.named_buffers())
    for name, value in one.named_buffers():
        torch.testing.assert_close(value, after[name], msg=name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.4}, r"ratio must lie in \[0.5, 1\], got 0.4"),
        ({"vrex": -1.0}, "vrex must be 0 or more, got -1.0"),
        ({"beta": 0.0}, "beta must be above 0, got 0.0"),
        ({"scorer": "plan"}, "did you mean 'plain'"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IGMConfig(**options)
