"""`GraphSinkhornAttention` with the quadratic regulariser."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_cases import H, example, run
from gsina import soft_top_r
from gsina.nn.attention import Attention, GraphSinkhornAttention


def attend(undirected: bool, training: bool = False, **options: Any) -> Attention:
    batch, h = example(undirected)
    torch.manual_seed(1)
    module = GraphSinkhornAttention(H, regulariser="quadratic", **options).train(training)
    return run(module, batch, h)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("scope", ["graph", "batch"])
def test_means_are_the_ratio_and_most_weights_whole(
    scope: str, undirected: bool, training: bool
) -> None:
    batch, _ = example(undirected)
    found = attend(undirected, training, ratio=0.3, temperature=0.2, scope=scope)
    weights = found.edge.detach()
    index = batch.edge_graph if scope == "graph" else torch.zeros_like(batch.edge_graph)
    for group in index.unique():
        assert float(weights[index == group].double().mean()) == pytest.approx(0.3, abs=1e-6)
    whole = (weights == 0) | (weights == 1)
    assert float(whole.double().mean()) > 0.5
    if batch.reverse is not None:
        assert torch.equal(weights, weights[batch.reverse])


def test_weights_are_those_of_the_scores() -> None:
    batch, _ = example(True)
    found = attend(True, budget=3, temperature=0.7)
    assert found.scores is not None
    pairs = torch.bincount(batch.edge_graph, minlength=batch.num_graphs) / 2
    ratio = (3 / pairs.double()).clamp(max=1)
    expected = soft_top_r(
        found.scores, ratio, batch.edge_graph, temperature=0.7, regulariser="quadratic"
    )
    torch.testing.assert_close(found.edge, expected)


def test_sweeps_are_refused() -> None:
    with pytest.raises(ValueError, match="entropic regulariser"):
        GraphSinkhornAttention(H, regulariser="quadratic", solver="sinkhorn")
