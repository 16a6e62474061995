"""States of every method: the last layer makes the logits of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

import tiny
import tiny_nodes
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import METHODS, build_method
from gsina.methods.base import Method, Output
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.readout import readout
from gsina.training.evaluate import predict
from gsina.training.states import no_states

GRAPHS = tiny.ragged(undirected=True)
GRAPH_METHODS = [name for name, entry in METHODS.items() if "graph" in entry.levels]


def make(name: str, task: Task = tiny.CLASSES, backbone: str = "gin") -> Method:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 0, {"hidden_channels": 6, "num_layers": 2})
    return build_method(name, spec, task, {}).eval()


@pytest.mark.parametrize("name", GRAPH_METHODS)
def test_the_last_layer_makes_the_logits_of_the_states(name: str) -> None:
    method = make(name)
    found = predict(method, GRAPHS, batch_size=3, states="label")
    assert found.states is not None
    assert found.states.shape == (len(GRAPHS), 12 if name == "disc" else 6)  # of two branches
    with torch.no_grad():
        torch.testing.assert_close(method.last_layer(found.states), found.logits)
    assert torch.equal(predict(method, GRAPHS, batch_size=3).logits, found.logits)
    assert predict(method, GRAPHS).states is None
    assert not any(module._forward_pre_hooks for module in method.modules())


@pytest.mark.parametrize("name", GRAPH_METHODS)
def test_node_states_are_pooled_into_those_of_the_graphs(name: str) -> None:
    method = make(name)
    attending = ("gsina", "gsat", "gmt-sam", "prune")
    if name not in attending and type(method).forward.__qualname__ != "PlainMethod.forward":
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


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat", "gprgnn"])
def test_states_of_the_nodes_of_one_graph(backbone: str) -> None:
    graphs = tiny_nodes.graphs()
    spec = NetworkSpec(backbone, tiny_nodes.FEATURES, 0, {"hidden_channels": 8})
    method = build_method("gsina", spec, tiny_nodes.TASK, {})
    found = predict(method, graphs, states="label")
    assert found.states is not None
    assert len(found.states) == graphs.x.size(0)


def test_states_follow_graphs_that_are_shuffled_for_the_method() -> None:
    graphs = tiny.motifs(4)
    spec = NetworkSpec("gin", graphs.num_features, 0, {"hidden_channels": 8})
    torch.manual_seed(0)
    method = build_method("erm", spec, tiny.CLASSES, {})
    plain = predict(method, graphs, states="label").states
    method.batch_invariant = False
    shuffled = predict(method, graphs, states="label").states
    assert plain is not None
    assert shuffled is not None
    torch.testing.assert_close(plain, shuffled)


class Own(Method):
    """Its last layer is not named; ``predictor`` may be there and not be used."""

    def __init__(self, predictor: Predictor | None = None) -> None:
        super().__init__(tiny.CLASSES)
        self.predictor = predictor
        self.layer = nn.Linear(tiny.FEATURES, tiny.CLASSES.outputs)

    def forward(self, batch: Batch) -> Output:
        return Output(self.layer(readout(batch.x, batch.node_groups, "sum")))


@pytest.mark.parametrize("named", [False, True])
def test_a_method_whose_last_layer_is_not_known_has_its_logits_as_places(named: bool) -> None:
    plain = make("erm").predictor
    assert isinstance(plain, Predictor)
    method = Own(plain if named else None)
    assert (method.last_layer is not None) == named
    found = predict(method, GRAPHS, states="label")
    assert found.states is None
    assert torch.equal(found.places, found.logits)
    assert "Own does not say which layer makes its logits" in str(no_states(method))
