"""`transport="padded"`: the released code's attention, step by step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import tiny
from attention_cases import H, example, run
from gsina.graphs.batch import Batch
from gsina.methods import GSINA, GSINAConfig
from gsina.nn.attention import GraphSinkhornAttention
from gsina.nn.predictor import NetworkSpec


def attention(**options: Any) -> GraphSinkhornAttention:
    torch.manual_seed(1)
    return GraphSinkhornAttention(H, transport="padded", scorer="plain", **options).eval()


def by_loops(module: GraphSinkhornAttention, batch: Batch, h: Tensor, ratio: float) -> Tensor:
    """Scores of every graph standardised, padded with their minimum, ten sweeps, symmetrised."""
    scores = module.scorer(h, batch.edge_index, batch.edge_groups).double()
    own = [batch.edge_graph == graph for graph in range(batch.num_graphs)]
    longest = max(int(mask.sum()) for mask in own)
    weights = torch.zeros_like(scores)
    for mask in own:
        count = int(mask.sum())
        if count == 0:
            continue
        part = scores[mask]
        spread = part.std() if count > 1 else torch.tensor(1.0)
        part = (part - part.mean()) / spread if float(spread) > 0 else torch.zeros_like(part)
        row = torch.cat([part, part.min().expand(longest - count)])
        plan = -torch.stack([row, 1 - row])
        wanted = torch.tensor([[longest - ratio * count + 1e-6], [ratio * count + 1e-6]])
        for _ in range(10):
            plan = plan - plan.logsumexp(0, keepdim=True)
            plan = plan - plan.logsumexp(1, keepdim=True) + wanted.log()
        weights[mask] = plan[1, :count].exp()
    return weights if batch.reverse is None else (weights + weights[batch.reverse]) / 2


@pytest.mark.parametrize("undirected", [False, True])
def test_it_is_the_described_algorithm(undirected: bool) -> None:
    batch, h = example(undirected)
    module = attention(ratio=0.4)
    with torch.no_grad():
        found = run(module, batch, h)
        expected = by_loops(module, batch, h, 0.4)
    torch.testing.assert_close(found.edge.double(), expected, atol=1e-5, rtol=0)
    assert found.node is not None
    isolated = torch.ones(batch.num_nodes, dtype=torch.bool)
    isolated[batch.edge_index.reshape(-1)] = False
    assert bool(isolated.any())
    assert torch.equal(found.node[isolated], torch.zeros(int(isolated.sum())))


def test_it_differs_from_the_exact_one_where_sizes_differ() -> None:
    batch, h = example()
    module = attention(ratio=0.4)
    with torch.no_grad():
        padded = run(module, batch, h).edge
        module.transport = "exact"
        exact = run(module, batch, h).edge
    largest = batch.edge_graph == 5
    torch.testing.assert_close(padded[largest], exact[largest], atol=1e-3, rtol=0)
    assert float((padded - exact)[~largest].abs().max()) > 0.05


def test_directions_have_noises_of_their_own_in_training() -> None:
    batch, h = example(True)
    assert batch.reverse is not None
    module = attention(noise=1.0).train()
    torch.manual_seed(0)
    first = run(module, batch, h).edge
    assert torch.equal(first, first[batch.reverse])  # averaged at the end
    assert bool(first.isfinite().all())
    first.square().sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in module.parameters() if p.grad is not None)


def test_equal_scores_and_single_edges_are_no_nan() -> None:
    batch, h = example()
    found = run(attention(), batch, torch.ones_like(h))
    assert bool(found.edge.isfinite().all())


def test_gsina_knows_that_answers_hang_on_the_batch() -> None:
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})
    model = GSINA.build(spec, tiny.CLASSES, GSINAConfig(transport="padded")).eval()
    assert not model.batch_invariant
    assert not model.shareable
    assert bool(model(tiny.whole(tiny.ragged())).logits.isfinite().all())
    with pytest.raises(ValueError, match="'padded' is for the entropic regulariser"):
        GSINAConfig(transport="padded", regulariser="quadratic")
