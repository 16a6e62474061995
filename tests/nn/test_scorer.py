"""The scorers: sizes, the pair layer, and the benchmark's three layers written out."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

import tiny
from gsina.nn.scorer import NormedScorer, PairLinear, PairScorer, PlainScorer, make_scorer
from gsina.ops.groups import Groups


def example(channels: int = 6) -> tuple[Tensor, Tensor, Tensor, Groups]:
    batch = tiny.whole(tiny.ragged())
    h = torch.randn(batch.num_nodes, channels, dtype=torch.float64)
    groups = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    return h, batch.edge_index, batch.edge_graph, groups


def pairs(h: Tensor, edge_index: Tensor) -> Tensor:
    return torch.stack([torch.cat([h[i], h[j]]) for i, j in edge_index.T.tolist()])


@pytest.mark.parametrize(("channels", "parameters"), [(64, 49_537), (80, 77_281), (32, 12_481)])
def test_size_of_the_benchmarks_scorer(channels: int, parameters: int) -> None:
    assert sum(p.numel() for p in NormedScorer(channels).parameters()) == parameters


def test_pair_linear_is_a_linear_layer_on_the_concatenation() -> None:
    h, edge_index, _, _ = example()
    h.requires_grad_()
    mine = PairLinear(6, 5).double()
    plain = nn.Linear(12, 5).double()
    plain.load_state_dict(mine.state_dict())
    found, expected = mine(h, edge_index), plain(pairs(h, edge_index))
    torch.testing.assert_close(found, expected)
    weight = torch.randn_like(found)
    ours = torch.autograd.grad((found * weight).sum(), [h, mine.weight, mine.bias])
    theirs = torch.autograd.grad((expected * weight).sum(), [h, plain.weight, plain.bias])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_normed_scorer_written_out() -> None:
    h, edge_index, edge_graph, groups = example()
    scorer = NormedScorer(6).double().eval()

    def normed(z: Tensor) -> Tensor:
        out = torch.empty_like(z)
        for graph in edge_graph.unique():
            rows = z[edge_graph == graph]
            spread = (rows.var(0, unbiased=False) + 1e-5).sqrt()
            out[edge_graph == graph] = (rows - rows.mean(0)) / spread
        return out.relu()

    first, second, last = scorer.first, scorer.second, scorer.last
    z = normed(pairs(h, edge_index) @ first.weight.T + first.bias)
    z = normed(z @ second.weight.T + second.bias)
    expected = (z @ last.weight.T + last.bias).squeeze(1)
    torch.testing.assert_close(scorer(h, edge_index, groups), expected)


def test_plain_scorer_written_out() -> None:
    h, edge_index, _, groups = example()
    scorer = PlainScorer(6).double()
    z = (pairs(h, edge_index) @ scorer.first.weight.T + scorer.first.bias).relu()
    assert z.size(1) == 24
    expected = (z @ scorer.last.weight.T + scorer.last.bias).squeeze(1)
    torch.testing.assert_close(scorer(h, edge_index, groups), expected)


def test_dropout_only_in_training() -> None:
    h, edge_index, _, groups = example()
    scorer = NormedScorer(6).double().eval()
    calm = scorer(h, edge_index, groups)
    assert torch.equal(scorer(h, edge_index, groups), calm)
    scorer.train()
    assert not torch.allclose(scorer(h, edge_index, groups), calm)
    scorer.dropout = 0.0
    torch.testing.assert_close(scorer(h, edge_index, groups), calm)


def test_make_scorer() -> None:
    assert isinstance(make_scorer("normed", 4), NormedScorer)
    assert isinstance(make_scorer("plain", 4), PlainScorer)
    ready = PlainScorer(4)
    assert make_scorer(ready, 4) is ready
    assert isinstance(make_scorer(nn.Linear(8, 1), 4), PairScorer)
    with pytest.raises(ValueError, match="unknown scorer 'plan'; did you mean 'plain'"):
        make_scorer("plan", 4)


def test_pair_scorer_takes_one_score_per_edge_in_any_shape() -> None:
    h, edge_index, _, groups = example()
    column = PairScorer(nn.Linear(12, 1).double())
    flat = PairScorer(nn.Sequential(column.module, nn.Flatten(0)))
    assert column(h, edge_index, groups).shape == (edge_index.size(1),)
    assert torch.equal(column(h, edge_index, groups), flat(h, edge_index, groups))


@pytest.mark.usefixtures("with_and_without_kernels")
@pytest.mark.parametrize(
    ("nodes", "edges", "width"), [(1, 0, 4), (5, 1, 3), (9, 40, 8), (30, 99, 5)]
)
def test_the_plain_scorer_in_one_pass_is_two_linear_layers(
    nodes: int, edges: int, width: int
) -> None:
    torch.manual_seed(0)
    scorer, edge_index = PlainScorer(width), torch.randint(nodes, (2, edges))
    h, pull = torch.randn(nodes, width, requires_grad=True), torch.randn(edges)
    found = []
    for one, states in ((copy.deepcopy(scorer).double(), h.detach().double()), (scorer, h)):
        states.requires_grad_()
        scores = one(states, edge_index, Groups.single(edges))
        taken = [states, *one.parameters()]
        found.append([scores, *torch.autograd.grad(scores, taken, pull.to(scores))])
    for exact, single in zip(*found, strict=True):
        torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-5)


def test_the_plain_scorer_in_half_precision_is_left_to_torch() -> None:
    scorer, h = PlainScorer(8), torch.randn(5, 8)
    edge_index = torch.randint(5, (2, 12))
    exact = scorer(h, edge_index, Groups.single(12))
    with torch.autocast("cpu", torch.bfloat16):
        half = scorer(h, edge_index, Groups.single(12))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=0.05, atol=0.05)
