"""GSAT with attention on nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tiny
from check_method import CHECKS, Make
from gsina.graphs.task import Task
from gsina.methods.extracting.gsat import GSAT, GSATConfig
from gsina.molecules.features import ATOM_FEATURE_SIZES
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec
from gsina.nn.scorer import NodeScorer
from gsina.ops.groups import Groups


def model(backbone: str = "gin", **options: Any) -> GSAT:
    torch.manual_seed(0)
    config = GSATConfig(**{"attention": "node", **options})
    return GSAT.build(NetworkSpec(backbone, tiny.FEATURES, 1), tiny.CLASSES, config)


@pytest.mark.parametrize("check", CHECKS)
def test_passes_the_battery(check: Callable[[Make, str], None]) -> None:
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 32})
    config = GSATConfig(attention="node")
    check(lambda task: GSAT.build(spec, task, config), "gsat")


def test_size_of_the_leaderboards_model() -> None:
    gsat = GSAT.build(
        NetworkSpec("pna", ATOM_FEATURE_SIZES),
        Task("binary", 1, "roc_auc"),
        GSATConfig(attention="node"),
    )
    assert sum(p.numel() for p in gsat.parameters()) == 249_602


def test_node_scorer_written_out() -> None:
    batch = tiny.whole(tiny.ragged())
    h = torch.randn(batch.num_nodes, 6, dtype=torch.float64)
    scorer = NodeScorer(6).double().eval()
    assert sum(p.numel() for p in scorer.parameters()) == 6 * 12 + 12 + 12 * 6 + 6 + 6 + 1
    graphs = Groups(batch.node_graph, batch.num_graphs, batch.num_nodes)
    found = scorer(h, graphs)
    for number in range(batch.num_graphs):
        z = h[batch.node_graph == number]
        for layer in (scorer.first, scorer.second):
            z = layer(z)
            spread = (z.var(0, unbiased=False) + 1e-5).sqrt()
            z = ((z - z.mean(0)) / spread).relu()
        expected = scorer.last(z).squeeze(1)
        torch.testing.assert_close(found[batch.node_graph == number], expected)


@pytest.mark.parametrize("backbone", ["gin", "pna"])
def test_an_edge_has_the_product_of_its_ends(backbone: str) -> None:
    gsat = model(backbone).eval()
    batch = tiny.whole(tiny.ragged(undirected=True))
    logits, attention = gsat(batch)
    assert attention is not None
    node = attention.node
    assert node is not None
    source, target = batch.edge_index
    torch.testing.assert_close(attention.edge, node[source] * node[target])
    # Messages are weighted, the readout is not.
    torch.testing.assert_close(logits, gsat.predictor(batch, Attention(attention.edge)))
    assert not torch.allclose(logits, gsat.predictor(batch, attention))


def test_information_is_a_mean_over_nodes() -> None:
    gsat = model(final_ratio=0.5, start_ratio=0.5).eval()
    batch = tiny.whole(tiny.ragged())
    attention = gsat(batch).attention
    assert attention is not None
    p = attention.node
    assert p is not None
    expected = (p * torch.log(p / 0.5) + (1 - p) * torch.log((1 - p) / 0.5)).mean()
    torch.testing.assert_close(gsat.loss(batch)["information"], expected, atol=1e-5, rtol=1e-4)
    torch.nn.init.zeros_(gsat.scorer.last.weight)  # type: ignore[union-attr, arg-type]
    torch.nn.init.zeros_(gsat.scorer.last.bias)  # type: ignore[union-attr, arg-type]
    assert abs(float(gsat.loss(batch)["information"].detach())) < 1e-5  # alpha = r


def test_noise_in_training_only_and_a_gradient_for_the_scorer() -> None:
    gsat = model()
    batch = tiny.whole(tiny.ragged())
    first, second = gsat(batch).attention, gsat(batch).attention
    assert not torch.equal(first.node, second.node)
    torch.stack(list(gsat.loss(batch).values())).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in gsat.parameters())
    gsat.eval()
    assert torch.equal(gsat(batch).attention.node, gsat(batch).attention.node)


def test_refuses_what_node_mode_does_not_have() -> None:
    with pytest.raises(ValueError, match="scorer 'plain' with attention 'node'"):
        GSATConfig(attention="node", scorer="plain")
    with pytest.raises(ValueError, match="unknown attention 'nodes'; did you mean 'node'"):
        GSATConfig(attention="nodes")  # type: ignore[arg-type]
