"""One model for all budgets: shares that training draws per graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.methods import GSINA, GSINAConfig
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})


def make(**settings: Any) -> GSINA:
    torch.manual_seed(0)
    return GSINA.build(SPEC, tiny.CLASSES, GSINAConfig(**settings))


def means(model: GSINA, batch: Batch) -> Tensor:
    """Mean weight of the edges of each graph ``[G]``."""
    weights = model.extract(batch).edge.detach().double()
    total = torch.zeros(batch.num_graphs, dtype=torch.float64)
    total.index_add_(0, batch.edge_graph, weights)
    return total / batch.edge_graph.bincount(minlength=batch.num_graphs)


@pytest.mark.usefixtures("with_and_without_kernels")
@pytest.mark.parametrize("undirected", [False, True])
def test_training_draws_a_share_per_graph_and_evaluation_does_not(undirected: bool) -> None:
    model = make(ratio=0.4, lowest_ratio=0.3)
    graphs = tiny.motifs(40)
    batch = tiny.whole(graphs.to_undirected() if undirected else graphs)
    found = torch.stack([means(model.train(), batch) for _ in range(20)])
    assert 0.3 - 1e-6 <= float(found.min()) < 0.32
    assert 0.98 < float(found.max()) <= 1
    assert float(found.mean()) == pytest.approx(0.65, abs=0.02)
    assert float(found.std(0).min()) > 0.05  # every graph gets other shares in other steps
    assert float(found.std(1).min()) > 0.15  # and other shares than its neighbours
    assert means(model.eval(), batch).tolist() == pytest.approx([0.4] * 120, abs=1e-6)


def test_evaluation_may_have_a_number_of_edges() -> None:
    model, batch = make(budget=4, lowest_ratio=0.1), tiny.whole(tiny.motifs(5))
    sizes = batch.edge_graph.bincount()
    held = means(model.eval(), batch) * sizes
    assert held.tolist() == pytest.approx([4.0] * 15, abs=1e-5)
    torch.manual_seed(1)
    held = means(model.train(), batch) * sizes
    assert float((held - 4).abs().max()) > 1


def test_the_loss_has_gradients_of_both_networks() -> None:
    model, batch = make(lowest_ratio=0.2), tiny.whole(tiny.motifs(4))
    sum(model.train().loss(batch, 0).values(), torch.tensor(0.0)).backward()
    for network in (model.extractor, model.attention.scorer, model.predictor):
        assert any(bool(p.grad.any()) for p in network.parameters() if p.grad is not None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lowest_ratio": 0.0}, r"lowest_ratio must lie in \(0, 1\], got 0.0"),
        ({"lowest_ratio": 1.2}, "got 1.2"),
        ({"lowest_ratio": 0.2, "scope": "batch"}, "shares are drawn per graph"),
        ({"lowest_ratio": 0.2, "initial_ratio": 0.9}, "initial_ratio=0.9 beside lowest_ratio=0.2"),
        (
            {"lowest_ratio": 0.2, "budget": 4, "initial_budget": 9},
            "initial_budget=9 beside lowest_ratio=0.2",
        ),
    ],
)
def test_what_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        GSINAConfig(**settings)
    assert "\n" not in str(caught.value)
