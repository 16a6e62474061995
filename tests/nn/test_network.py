import inspect

import pytest
import torch
from torch import nn
from torch_geometric.nn import AttentiveFP, GCNConv, GINEConv, Sequential, global_add_pool
from torch_geometric.nn.models import GAT, GCN, GIN, PNA, EdgeCNN, GraphSAGE

from gsina.nn.network import forward_names, run_network

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
EDGES = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
EDGE_ATTR = torch.randn(4, 2, generator=torch.Generator().manual_seed(1))
BATCH = torch.tensor([0, 0, 1, 1])
EVERYTHING = {"edge_attr": EDGE_ATTR, "batch": BATCH, "num_graphs": 2}
PNA_ARGS = {"aggregators": ["mean"], "scalers": ["identity"], "deg": torch.tensor([0, 4])}


class Echo(nn.Module):
    """Returns what it was called with, by name."""

    def record(self, **given):
        return given


class Plain(Echo):
    def forward(self, x, edge_index):
        return self.record(x=x, edge_index=edge_index)


class Full(Echo):
    def forward(self, x, edge_index, edge_attr=None, batch=None, batch_size=None):
        return self.record(edge_attr=edge_attr, batch=batch, batch_size=batch_size)


class Keywords(Echo):
    def forward(this, nodes, edges, *, num_graphs=7, batch):
        return this.record(nodes=nodes, edges=edges, num_graphs=num_graphs, batch=batch)


class Needs(Echo):
    def forward(self, x, edge_index, edge_attr):
        return self.record(edge_attr=edge_attr)


def test_only_what_forward_names():
    got = run_network(Plain(), X, EDGES, **EVERYTHING)
    assert got["x"] is X
    assert got["edge_index"] is EDGES


def test_everything_that_forward_names():
    got = run_network(Full(), X, EDGES, **EVERYTHING)
    assert got == {"edge_attr": EDGE_ATTR, "batch": BATCH, "batch_size": 2}
    assert run_network(Full(), X, EDGES) == dict.fromkeys(got)


def test_keyword_only_and_other_names_for_the_first_two():
    got = run_network(Keywords(), X, EDGES, batch=BATCH, num_graphs=2)
    assert got == {"nodes": X, "edges": EDGES, "num_graphs": 2, "batch": BATCH}
    # Without graphs, a default is kept and a required argument is None.
    got = run_network(Keywords(), X, EDGES)
    assert got == {"nodes": X, "edges": EDGES, "num_graphs": 7, "batch": None}


def test_required_edge_attr():
    assert run_network(Needs(), X, EDGES, edge_attr=EDGE_ATTR)["edge_attr"] is EDGE_ATTR
    with pytest.raises(ValueError, match=r"Needs\.forward needs edge_attr"):
        run_network(Needs(), X, EDGES, batch=BATCH)


@pytest.mark.parametrize(
    ("make", "uses_edges"),
    [
        (lambda: GCN(3, 5, 2), False),
        (lambda: GIN(3, 5, 2, norm="GraphNorm"), False),
        (lambda: GraphSAGE(3, 5, 2), False),
        (lambda: EdgeCNN(3, 5, 2), False),
        (lambda: GAT(3, 5, 2), False),
        (lambda: GAT(3, 5, 2, v2=True), False),
        (lambda: PNA(3, 5, 2, **PNA_ARGS), False),
        (lambda: GAT(3, 5, 2, edge_dim=2), True),
        (lambda: GAT(3, 5, 2, v2=True, edge_dim=2), True),
        (lambda: PNA(3, 5, 2, **PNA_ARGS, edge_dim=2), True),
    ],
)
def test_models_get_edge_attr_if_they_were_made_for_it(make, uses_edges):
    torch.manual_seed(0)
    model = make()
    got = run_network(model, X, EDGES, **EVERYTHING)
    edges = {"edge_attr": EDGE_ATTR} if uses_edges else {}
    assert torch.equal(got, model(X, EDGES, batch=BATCH, batch_size=2, **edges))
    other = run_network(model, X, EDGES, **EVERYTHING | {"edge_attr": -EDGE_ATTR})
    assert torch.equal(got, other) is not uses_edges


def test_custom_model_with_edge_features():
    class GINE(GIN):
        supports_edge_attr = True

        def init_conv(self, in_channels, out_channels, **kwargs):
            return GINEConv(nn.Linear(in_channels, out_channels), edge_dim=2)

    model = GINE(3, 5, 2)
    want = model(X, EDGES, edge_attr=EDGE_ATTR)
    assert torch.equal(run_network(model, X, EDGES, edge_attr=EDGE_ATTR), want)


def test_whole_graph_network():
    model = AttentiveFP(3, 5, 2, edge_dim=2, num_layers=1, num_timesteps=1).eval()
    want = model(X, EDGES, EDGE_ATTR, BATCH)
    assert torch.equal(run_network(model, X, EDGES, **EVERYTHING), want)


def test_sequential_has_names_of_its_own():
    convolution = GCNConv(3, 5)
    nodes = Sequential("x, edge_index", [(convolution, "x, edge_index -> x")])
    graphs = Sequential(
        "x, edge_index, batch",
        [(convolution, "x, edge_index -> x"), (global_add_pool, "x, batch -> x")],
    )
    assert run_network(nodes, X, EDGES, **EVERYTHING).shape == (4, 5)
    assert run_network(graphs, X, EDGES, **EVERYTHING).shape == (2, 5)


def test_open_ended_forward():
    class Anything(Echo):
        def forward(self, *args, **kwargs):
            return args, kwargs

    assert run_network(Anything(), X, EDGES) == ((X, EDGES), {})


class OfData(nn.Module):
    def forward(self, data):
        return data.x


class Swapped(nn.Module):
    def forward(self, edge_index, x):
        return x


@pytest.mark.parametrize("network", [OfData(), Swapped(), nn.Linear(3, 2)])
def test_other_forward_says_what_to_do(network):
    with pytest.raises(ValueError, match=r"expected forward\(x, edge_index, .*wrap"):
        run_network(network, X, EDGES)


def test_signature_is_read_once_per_class(monkeypatch):
    class Fresh(Plain):
        def forward(self, x, edge_index):
            return x

    calls = []
    original = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda f: calls.append(f) or original(f))
    for network in (Fresh(), Fresh()):
        run_network(network, X, EDGES)
        assert forward_names(network).positional == ("x", "edge_index")
    assert len(calls) == 1
