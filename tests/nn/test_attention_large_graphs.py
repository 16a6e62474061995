"""Large graphs: scores in blocks give the same attention, exact over the whole graph."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tiny_nodes
from gsina.methods import build_method
from gsina.nn.attention import GraphSinkhornAttention
from gsina.nn.predictor import NetworkSpec
from gsina.nn.scorer import NarrowScorer, PlainScorer


@pytest.mark.parametrize("scorer", ["plain", "narrow"])
def test_blocks_change_nothing(scorer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = tiny_nodes.graphs(2, 100).batch([0, 1])
    batch = replace(batch, x=batch.x.double())
    torch.manual_seed(0)
    spec = NetworkSpec("sage", tiny_nodes.FEATURES, 0, {"hidden_channels": 8, "num_layers": 2})
    method = build_method("gsina", spec, tiny_nodes.TASK, {"scorer": scorer}).double()
    found = []
    for many in (10**9, 0):
        monkeypatch.setattr(PlainScorer, "many", many)
        method.zero_grad()
        torch.manual_seed(1)  # the same noise
        loss = method.loss(batch)["prediction"]
        loss.backward()
        found.append([loss.detach(), *(p.grad.clone() for p in method.parameters())])  # type: ignore[union-attr]
    for whole, blocks in zip(*found, strict=True):
        torch.testing.assert_close(blocks, whole)


def test_the_share_is_exact_over_a_whole_large_graph() -> None:
    edges, nodes = 300_000, 10_000
    assert edges > PlainScorer.many
    edge_index = torch.randint(nodes, (2, edges), generator=torch.Generator().manual_seed(0))
    attention = GraphSinkhornAttention(8, ratio=0.3, scorer="plain", node="none").train()
    weights = attention(torch.randn(nodes, 8), edge_index, reverse=None).edge.detach()
    assert float(weights.double().mean()) == pytest.approx(0.3, abs=1e-6)
    assert bool(((weights >= 0) & (weights <= 1)).all())


def test_widths_of_the_scorers() -> None:
    sizes = [sum(p.numel() for p in make(8).parameters()) for make in (PlainScorer, NarrowScorer)]
    assert sizes == [16 * 32 + 32 + 32 + 1, 16 * 8 + 8 + 8 + 1]
