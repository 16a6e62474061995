"""What `weighted_messages` cannot do, it says."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch_geometric import EdgeIndex
from torch_geometric.nn import (
    AttentiveFP,
    GCNConv,
    GINConv,
    GraphConv,
    GraphUNet,
    RGCNConv,
    Sequential,
    SimpleConv,
)
from torch_geometric.nn.models import GIN

from gsina.nn.weighting import weighted_messages
from weighting_cases import (
    FEATURES,
    GRAPHS,
    LAYERS,
    NODES,
    make,
    mlp,
)


class TestErrors:
    @pytest.mark.parametrize("given", [False, True])
    def test_wrong_number_of_weights(self, given):
        x, edge_index, weights = make()
        layer = GINConv(mlp())
        with (
            pytest.raises(ValueError, match=r"got 10 weights .* shape \(2, 11\), expected one"),
            weighted_messages(layer, weights[1:], edge_index if given else None),
        ):
            layer(x, edge_index)

    @pytest.mark.parametrize("bad", [torch.ones(11, 1), torch.ones(11, dtype=torch.bool)])
    def test_wrong_weights(self, bad):
        with (
            pytest.raises(ValueError, match=r"got weights of shape .* expected floating point"),
            weighted_messages(GINConv(mlp()), bad),
        ):
            pass

    @pytest.mark.parametrize("layout", ["coo", "csr"])
    @pytest.mark.parametrize("name", ["gin", "gcn", "gat"])
    def test_sparse_matrix(self, name, layout):
        x, edge_index, weights = make()
        dense = torch.zeros(NODES, NODES).index_put(tuple(edge_index), torch.ones(()))
        adjacency = dense.to_sparse() if layout == "coo" else dense.to_sparse_csr()
        layer = LAYERS[name]()
        for given in (None, edge_index):
            with (
                pytest.raises(ValueError, match="pass a plain edge_index"),
                weighted_messages(layer, weights, given),
            ):
                layer(x, adjacency)

    @pytest.mark.parametrize("kind", [GraphConv, GCNConv])
    def test_edge_index_class_is_not_fused(self, kind, monkeypatch):
        x, _, weights = make()
        torch.manual_seed(0)
        layer = kind(FEATURES, 5)
        plain = torch.tensor(sorted(GRAPHS["no loops"], key=lambda edge: edge[1])).t().contiguous()
        edge_index = EdgeIndex(plain, sparse_size=(NODES, NODES), sort_order="col")
        with weighted_messages(layer, weights):
            want = layer(x, plain)
        monkeypatch.setattr(layer, "message_and_aggregate", None)
        for given in (None, edge_index, plain):
            with weighted_messages(layer, weights, given), weighted_messages(layer, weights**0):
                torch.testing.assert_close(layer(x, edge_index), want)
        assert layer.fuse

    def test_pooled_graph(self):
        x, edge_index, weights = make()
        network = GraphUNet(FEATURES, 8, 2, depth=2)
        with (
            pytest.raises(ValueError, match="without pooling or rewiring"),
            weighted_messages(network, weights),
        ):
            network(x, edge_index)

    def test_layer_over_another_graph(self):
        x, edge_index, weights = make()
        network = AttentiveFP(FEATURES, 8, 2, edge_dim=3, num_layers=2, num_timesteps=2)
        with (
            pytest.raises(ValueError, match="GATConv works"),
            weighted_messages(network, weights),
        ):
            network(x, edge_index, torch.rand(11, 3), torch.zeros(NODES, dtype=torch.long))

    def test_layer_over_parts_of_the_graph(self):
        x, edge_index, weights = make()
        layer = RGCNConv(FEATURES, 5, num_relations=2)
        with (
            pytest.raises(ValueError, match="RGCNConv works"),
            weighted_messages(layer, weights),
        ):
            layer(x, edge_index, torch.arange(11) % 2)

    def test_wrong_number_of_messages(self):
        class Doubles(SimpleConv):
            def message(self, x_j):
                return torch.cat([x_j, x_j])

        x, edge_index, weights = make()
        layer = Doubles()
        with (
            pytest.raises(ValueError, match=r"got messages .* from Doubles, expected 11"),
            weighted_messages(layer, weights),
        ):
            layer(x, edge_index)

    def test_no_layer(self):
        with (
            pytest.raises(ValueError, match="without a torch_geometric"),
            weighted_messages(nn.Linear(2, 2), torch.ones(3)),
        ):
            pass

    def test_nothing_weighted(self):
        x, edge_index, weights = make()
        network = GIN(FEATURES, 8, 2)
        with pytest.raises(ValueError, match="no message"), weighted_messages(network, weights):
            deepcopy(network)(x, edge_index)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call")
class TestCompile:
    """PyG runs no hooks in compiled code; weights must not get lost without a word."""

    @pytest.fixture(autouse=True)
    def fresh(self):
        torch._dynamo.reset()

    def test_compiled_network(self):
        x, edge_index, weights = make()
        network = GIN(FEATURES, 8, 2)
        for compiled in (
            torch.compile(network, backend="eager"),
            Sequential("x, edge_index", [(torch.compile(network), "x, edge_index -> x")]),
        ):
            with pytest.raises(ValueError, match="compiled"), weighted_messages(compiled, weights):
                compiled(x, edge_index)
        network.compile(backend="eager")
        with pytest.raises(ValueError, match="compiled"), weighted_messages(network, weights):
            network(x, edge_index)

    @pytest.mark.parametrize("warm", [False, True])
    def test_compiled_call(self, warm):
        x, edge_index, weights = make()
        network = GIN(FEATURES, 8, 2)
        compiled = torch.compile(network, backend="eager")
        if warm:
            compiled(x, edge_index)
        with pytest.raises(ValueError, match="no message"), weighted_messages(network, weights):
            compiled(x, edge_index)

    def test_compiled_function_with_the_context_inside(self):
        @torch.compile(backend="eager")
        def run(x, edge_index, weights):
            with weighted_messages(network, weights):
                return network(x, edge_index)

        network = GIN(FEATURES, 8, 2)
        with pytest.raises(ValueError, match=r"no message|compiled"):
            run(*make())
