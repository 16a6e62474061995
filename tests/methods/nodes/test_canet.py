"""CaNet: environments of nodes choose among experts, and are held near the prior."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import tiny_nodes
from gsina.graphs.batch import Batch
from gsina.methods import build_method
from gsina.methods.nodes.canet import CaNet, CaNetConfig
from gsina.nn.predictor import NetworkSpec, embed

SPEC = NetworkSpec("gcn", tiny_nodes.FEATURES, 0, {"hidden_channels": 8})


def make(**options: Any) -> CaNet:
    torch.manual_seed(0)
    method = build_method("canet", SPEC, tiny_nodes.TASK, options)
    assert isinstance(method, CaNet)
    return method


def graph() -> Batch:
    return tiny_nodes.graphs(nodes=40).batch([0])


def sure_of(method: CaNet, expert: int) -> None:
    """All estimators are sure of one environment."""
    with torch.no_grad():
        for layer in method.layers:
            layer.estimate.weight.zero_()
            layer.estimate.bias.fill_(-40.0)
            layer.estimate.bias[expert] = 40.0


def test_the_environment_chooses_the_expert() -> None:
    batch, method = graph(), make(layers=1, environments=3).eval()
    layer = method.layers[0]
    h = torch.randn(40, 8)
    for expert in range(3):
        sure_of(method, expert)
        found, divergence = layer(h, batch)
        alone = embed(layer.experts[expert], replace(batch, x=h))
        torch.testing.assert_close(found, (alone + h).relu())
        torch.testing.assert_close(divergence, torch.full((40,), math.log(3)))


def test_the_divergence_is_none_at_the_prior() -> None:
    batch, method = graph(), make(penalty=2.0)
    with torch.no_grad():
        for layer in method.layers:
            layer.estimate.weight.zero_()
            layer.estimate.bias.zero_()
    assert method.train().loss(batch)["environments"].item() == pytest.approx(0, abs=1e-6)
    sure_of(method, 1)
    assert method.loss(batch)["environments"].item() == pytest.approx(2 * math.log(3), rel=1e-3)


def test_the_penalty_holds_environments_near_the_prior() -> None:
    found = []
    for penalty in (0.0, 5.0):
        batch, method = graph(), make(penalty=penalty)
        with torch.no_grad():
            for layer in method.layers:
                layer.estimate.bias.copy_(torch.tensor([2.0, 0.0, -2.0]))
        optimiser = torch.optim.Adam(method.parameters(), lr=0.02)
        for _ in range(60):
            method.train().step(batch, optimiser)
        found.append(float(method.eval()._run(batch)[1]))
    assert found[1] < found[0] / 3


def test_environments_are_drawn_in_training_only() -> None:
    batch, method = graph(), make()
    assert torch.equal(method.eval()(batch).logits, method(batch).logits)
    assert not torch.equal(method.train()(batch).logits, method(batch).logits)


def test_the_estimator_may_look_at_the_graph() -> None:
    """Then a node's environment changes with its neighbours."""
    batch = graph()
    alone = replace(
        batch, edge_index=batch.edge_index[:, :0], edge_graph=batch.edge_graph[:0], reverse=None
    )
    h = torch.randn(40, 8)
    for estimator in ("node", "graph"):
        method = make(estimator=estimator, layers=1).eval()
        inside = [method.layers[0](h, one)[1] for one in (batch, alone)]
        assert torch.allclose(*inside) is (estimator == "node")


def test_settings() -> None:
    with pytest.raises(ValueError, match="environments must be 1 or more"):
        CaNetConfig(environments=0)
    with pytest.raises(ValueError, match="unknown estimator of environments 'edge'"):
        CaNetConfig(estimator="edge")  # type: ignore[arg-type]
