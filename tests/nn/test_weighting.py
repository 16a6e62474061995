"""`weighted_messages` equals layers that are weighted by hand."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    SAGEConv,
)
from torch_geometric.nn.models import GCN

from gsina.nn.weighting import weighted_messages
from weighting_cases import (
    FEATURES,
    GRAPHS,
    LAYERS,
    MODELS,
    NODES,
    assert_clean,
    assert_same,
    attributes,
    layers_of,
    make,
    mlp,
    outcome,
    weighted_by_hand,
)


@pytest.mark.parametrize("edges", GRAPHS)
@pytest.mark.parametrize("name", LAYERS)
def test_layer_equals_hand_weighted_layer_with_gradients(name, edges):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    x, edge_index, weights = make(edges)
    kwargs = attributes(layer, edge_index)
    before = [set(module.__dict__) for module in layer.modules()]
    want = outcome(weighted_by_hand(layer, weights, edges), x, edge_index, weights, **kwargs)
    assert not torch.allclose(layer(x, edge_index, **kwargs), want[0])
    with weighted_messages(layer, weights):
        got = outcome(layer, x, edge_index, weights, **kwargs)
    assert_same(got, want, atol=1e-6, rtol=1e-6)
    with weighted_messages(layer, weights, edge_index.clone()):
        assert_same(outcome(layer, x, edge_index, weights, **kwargs), got)
    assert_clean(layer, before)


@pytest.mark.parametrize("edges", GRAPHS)
@pytest.mark.parametrize("name", MODELS)
def test_model_equals_hand_weighted_model_with_gradients(name, edges):
    torch.manual_seed(0)
    model = MODELS[name]()
    x, edge_index, weights = make(edges)
    kwargs = attributes(model, edge_index)
    want = outcome(weighted_by_hand(model, weights, edges), x, edge_index, weights, **kwargs)
    with weighted_messages(model, weights):
        got = outcome(model, x, edge_index, weights, **kwargs)
    assert_same(got, want, atol=1e-6, rtol=1e-5)


class TestAgainstExplicitSums:
    """The formulas of the papers, node by node, with no PyG inside."""

    @pytest.fixture(params=GRAPHS)
    def case(self, request):
        torch.manual_seed(0)
        return GRAPHS[request.param], *make(request.param)

    def test_gin(self, case):
        edges, x, edge_index, weights = case
        layer = GINConv(mlp(), eps=0.3)
        sums = [
            1.3 * x[node] + sum(weights[k] * x[i] for k, (i, j) in enumerate(edges) if j == node)
            for node in range(NODES)
        ]
        with weighted_messages(layer, weights):
            torch.testing.assert_close(layer(x, edge_index), layer.nn(torch.stack(sums)))

    def test_gcn(self, case):
        edges, x, edge_index, weights = case
        layer = GCNConv(FEATURES, 5)
        proper = [(i, j, k) for k, (i, j) in enumerate(edges) if i != j]
        degree = [1 + sum(j == node for _, j, _ in proper) for node in range(NODES)]
        h = x @ layer.lin.weight.t()
        sums = [
            h[node] / degree[node]
            + sum(
                weights[k] * h[i] / (degree[i] * degree[node]) ** 0.5
                for i, j, k in proper
                if j == node
            )
            for node in range(NODES)
        ]
        with weighted_messages(layer, weights):
            torch.testing.assert_close(layer(x, edge_index), torch.stack(sums) + layer.bias)

    def test_gat(self, case):
        edges, x, edge_index, weights = case
        layer = GATConv(FEATURES, 5, heads=2)
        proper = [(i, j, weights[k]) for k, (i, j) in enumerate(edges) if i != j]
        every = proper + [(node, node, torch.ones(())) for node in range(NODES)]
        h = (x @ layer.lin.weight.t()).view(NODES, 2, 5)
        source = (h * layer.att_src).sum(-1)
        target = (h * layer.att_dst).sum(-1)
        rows = []
        for node in range(NODES):
            incoming = [(i, w) for i, j, w in every if j == node]
            score = torch.stack([source[i] + target[node] for i, _ in incoming])
            share = nn.functional.leaky_relu(score, 0.2).softmax(0)
            rows.append(
                sum(w * share[n, :, None] * h[i] for n, (i, w) in enumerate(incoming)).flatten()
            )
        with weighted_messages(layer, weights):
            torch.testing.assert_close(layer(x, edge_index), torch.stack(rows) + layer.bias)

    @pytest.mark.parametrize("aggr", ["mean", "max"])
    def test_sage(self, case, aggr):
        edges, x, edge_index, weights = case
        layer = SAGEConv(FEATURES, 5, aggr=aggr)
        rows = []
        for node in range(NODES):
            messages = [weights[k] * x[i] for k, (i, j) in enumerate(edges) if j == node]
            stack = torch.stack(messages or [torch.zeros(FEATURES)])
            rows.append(stack.mean(0) if aggr == "mean" else stack.amax(0))
        want = layer.lin_l(torch.stack(rows)) + layer.lin_r(x)
        with weighted_messages(layer, weights):
            torch.testing.assert_close(layer(x, edge_index), want)


@pytest.mark.parametrize("edges", ["no loops", "loops mixed"])
@pytest.mark.parametrize("make_layer", [lambda: GINConv(mlp()), lambda: GCNConv(FEATURES, 2)])
def test_gradcheck(make_layer, edges):
    torch.manual_seed(0)
    layer = make_layer().double()
    x, edge_index, weights = make(edges)

    def run(x, weights):
        with weighted_messages(layer, weights):
            return layer(x, edge_index)

    arguments = [t.detach().double().requires_grad_() for t in (x, weights)]
    assert torch.autograd.gradcheck(run, arguments)


@pytest.mark.parametrize("edges", GRAPHS)
@pytest.mark.parametrize("name", {**LAYERS, **MODELS})
def test_ones_change_nothing_bit_for_bit(name, edges):
    torch.manual_seed(0)
    network = {**LAYERS, **MODELS}[name]()
    x, edge_index, weights = make(edges)
    kwargs = attributes(network, edge_index)
    ones = torch.ones_like(weights).requires_grad_()
    want = outcome(network, x, edge_index, ones, **kwargs)
    with weighted_messages(network, ones):
        got = outcome(network, x, edge_index, ones, **kwargs)
    del got[1], want[1]  # the gradient of the weights, which the plain network has not
    assert all(a is b or torch.equal(a, b) for a, b in zip(got, want, strict=True))


def test_none_changes_nothing():
    x, edge_index, _ = make()
    network = GCN(FEATURES, 8, 2)
    want = network(x, edge_index)
    with weighted_messages(network, None):
        assert not any(layer._message_forward_hooks for layer in layers_of(network))
        assert torch.equal(network(x, edge_index), want)
    with weighted_messages(nn.Linear(2, 2), None):
        pass
