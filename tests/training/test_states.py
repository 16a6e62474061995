"""States of every method: the last layer makes the logits of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tiny
from gsina.graphs.task import Task
from gsina.methods import METHODS, build_method
from gsina.methods.base import Method
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.training.evaluate import predict

GRAPHS = tiny.ragged(undirected=True)
GRAPH_METHODS = [name for name in METHODS if name != "eerm"]


def make(name: str, task: Task = tiny.CLASSES, backbone: str = "gin") -> Method:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 0, {"hidden_channels": 6, "num_layers": 2})
    return build_method(name, spec, task, {}).eval()


@pytest.mark.parametrize("name", GRAPH_METHODS)
def test_the_last_layer_makes_the_logits_of_the_states(name: str) -> None:
    method = make(name)
    found = predict(method, GRAPHS, batch_size=3, states="label")
    assert found.states is not None
    assert found.states.shape == (len(GRAPHS), 6)
    with torch.no_grad():
        torch.testing.assert_close(method.last_layer(found.states), found.logits)
    assert torch.equal(predict(method, GRAPHS, batch_size=3).logits, found.logits)
    assert predict(method, GRAPHS).states is None
    assert not any(module._forward_pre_hooks for module in method.modules())


@pytest.mark.parametrize("name", GRAPH_METHODS)
def test_node_states_are_pooled_into_those_of_the_graphs(name: str) -> None:
    method = make(name)
    if name not in ("gsina", "gsat") and type(method).forward.__qualname__ != "PlainMethod.forward":
        with pytest.raises(ValueError, match="there are no node states; take those of the graphs"):
            predict(method, GRAPHS, states="node")
        return
    found = predict(method, GRAPHS, batch_size=3, states="node")
    states = predict(method, GRAPHS, batch_size=3, states="label").states
    assert found.node_states is not None
    assert states is not None
    graph = torch.repeat_interleave(GRAPHS.node_ptr.diff())
    sums = torch.zeros_like(states).index_add(0, graph, found.node_states)
    torch.testing.assert_close(sums, states)  # GIN sums its nodes up


@pytest.mark.parametrize("backbone", BACKBONES)
def test_states_of_nodes_where_nodes_are_predicted(backbone: str) -> None:
    if backbone.startswith("ogb"):
        pytest.skip("takes the categories of atoms")
    task = replace(tiny.CLASSES, level="node")
    graphs = replace(GRAPHS, y=None, node_y=torch.zeros(GRAPHS.x.size(0), dtype=torch.long))
    for name in ("gsina", "erm"):
        found = predict(make(name, task, backbone), graphs, states="label")
        assert found.states is not None
        width = 24 if backbone == "gat" else 6  # four heads
        assert found.states.shape == (GRAPHS.x.size(0), width)


def test_a_method_that_does_not_say_what_its_last_layer_is() -> None:
    class Own(Method):
        def forward(self, batch):  # type: ignore[no-untyped-def, override]
            return batch.x

    with pytest.raises(ValueError, match="Own does not say which layer makes its logits"):
        _ = Own(tiny.CLASSES).last_layer
