"""States before the last layer: of any method, and without a trace afterwards."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tiny
import tiny_nodes
from gsina.methods import METHODS, build_method
from gsina.nn.last_states import LastStates
from gsina.nn.predictor import NetworkSpec
from gsina.training.evaluate import predict


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_states_of_its_graphs(name):
    if "graph" not in METHODS[name].levels:
        pytest.skip("a method of nodes")
    graphs = tiny.motifs(40)
    torch.manual_seed(0)
    spec = NetworkSpec("gin", graphs.num_features, 0, {"hidden_channels": 8})
    method = build_method(name, spec, tiny.CLASSES, {}).eval()
    with torch.no_grad(), LastStates(method) as last:
        logits = method(tiny.whole(graphs)).logits
        states = last.take(logits)
    assert states.shape[0] == len(graphs)
    assert states.shape[1] > logits.shape[1]
    # Nothing but the last layer lies between: logits are a linear function of the states.
    ones = torch.ones(len(states), 1)
    many = torch.cat([states, ones], dim=1).double()
    fitted = many @ torch.linalg.pinv(many) @ logits.double()
    torch.testing.assert_close(fitted.float(), logits, rtol=1e-3, atol=1e-3)


def test_hooks_are_gone_afterwards():
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with LastStates(network) as last:
        logits = network(torch.randn(5, 3))
        assert last.take(logits).shape == (5, 4)
    assert all(not module._forward_pre_hooks for module in network.modules())


def test_a_network_without_layers_gives_its_logits():
    network = nn.Identity()
    with LastStates(network) as last:
        logits = network(torch.randn(5, 3))
        assert last.take(logits) is logits


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat", "gprgnn"])
def test_nodes_have_states_too(backbone):
    graphs = tiny_nodes.graphs()
    spec = NetworkSpec(backbone, tiny_nodes.FEATURES, 0, {"hidden_channels": 8})
    method = build_method("gsina", spec, tiny_nodes.TASK, {})
    found = predict(method, graphs, with_states=True)
    assert found.states is not None
    assert found.states.shape[0] == graphs.x.size(0)
    assert predict(method, graphs).states is None


def test_states_follow_graphs_that_are_shuffled_for_the_method():
    graphs = tiny.motifs(4)
    spec = NetworkSpec("gin", graphs.num_features, 0, {"hidden_channels": 8})
    torch.manual_seed(0)
    method = build_method("erm", spec, tiny.CLASSES, {})
    plain = predict(method, graphs, with_states=True).states
    method.batch_invariant = False
    shuffled = predict(method, graphs, with_states=True).states
    assert plain is not None
    assert shuffled is not None
    torch.testing.assert_close(plain, shuffled)
