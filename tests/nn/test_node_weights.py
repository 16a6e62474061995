"""Weights of nodes from those of their edges."""

from __future__ import annotations

import pytest
import torch

from attention_cases import example
from gsina.nn.node_weights import node_attention


@pytest.mark.parametrize("how", ["max", "mean"])
def test_node_attention_against_a_loop(how: str) -> None:
    batch, _ = example()
    edge = torch.rand(batch.num_edges)
    found = node_attention(edge, batch.edge_index, batch.num_nodes, 0.3, how)
    assert found is not None
    for node in range(batch.num_nodes):
        around = [
            float(weight)
            for end in batch.edge_index
            for other, weight in zip(end.tolist(), edge, strict=True)
            if other == node
        ]
        expected = 0.3
        if around:
            expected = max(around) if how == "max" else sum(around) / len(around)
        assert float(found[node]) == pytest.approx(expected, abs=1e-6)
