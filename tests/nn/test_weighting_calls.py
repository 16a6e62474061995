"""`weighted_messages` in every way to call a network, and what it leaves behind."""

import gc
import weakref

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import (
    ChebConv,
    GCNConv,
    GINConv,
    MessagePassing,
    Sequential,
    SimpleConv,
    TAGConv,
)
from torch_geometric.nn.models import GAT, GCN, GIN

from gsina.nn.weighting import weighted_messages
from weighting_cases import (
    FEATURES,
    NODES,
    assert_clean,
    assert_same,
    make,
    mlp,
    outcome,
)


class TestCalls:
    """Ways to call a network."""

    @pytest.fixture
    def case(self):
        torch.manual_seed(0)
        x, edge_index, weights = make("some loops")
        network = GCN(FEATURES, 8, 2, dropout=0.5).eval()
        with weighted_messages(network, weights, edge_index):
            return network, x, edge_index, weights, network(x, edge_index)

    def test_keyword(self, case):
        network, x, edge_index, weights, want = case
        with weighted_messages(network, weights):
            assert torch.equal(network(edge_index=edge_index, x=x), want)

    def test_data(self, case):
        class OfData(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = network

            def forward(self, data):
                return self.inner(data.x, data.edge_index)

        network, x, edge_index, weights, want = case
        outer = OfData()
        with weighted_messages(outer, weights):
            assert torch.equal(outer(Data(x=x, edge_index=edge_index)), want)
            assert torch.equal(outer(data=Data(x=x, edge_index=edge_index)), want)

    def test_sequential(self, case):
        network, x, edge_index, weights, want = case
        sequential = Sequential("edge_index, x", [(network, "x, edge_index -> x")])
        with weighted_messages(sequential, weights):
            assert torch.equal(sequential(edge_index, x), want)

    def test_other_method_needs_the_edges(self, case):
        network, x, edge_index, weights, want = case
        with weighted_messages(network, weights, edge_index):
            assert torch.equal(network.forward(x, edge_index), want)
        with (
            pytest.raises(ValueError, match="pass it to weighted_messages"),
            weighted_messages(network, weights),
        ):
            network.forward(x, edge_index)

    def test_training_mode_and_no_grad(self, case):
        network, x, edge_index, weights, want = case
        network.train()
        with torch.no_grad(), weighted_messages(network, weights):
            assert not torch.equal(network(x, edge_index), want)
        network.eval()
        with torch.no_grad(), weighted_messages(network, weights):
            assert torch.equal(network(x, edge_index), want)

    def test_cached_normalisation(self, case):
        _, x, edge_index, weights, _ = case
        layer = GCNConv(FEATURES, 5, cached=True)
        with weighted_messages(layer, weights):
            first = layer(x, edge_index)
        other = torch.rand_like(weights)
        with weighted_messages(layer, other):
            assert not torch.equal(layer(x, edge_index), first)
        for _ in range(2):
            with weighted_messages(layer, weights):
                assert torch.equal(layer(x, edge_index), first)
                assert torch.equal(layer(x, edge_index), first)

    def test_layer_used_twice(self, case):
        _, x, edge_index, weights, _ = case
        layer = SimpleConv(aggr="sum")
        twice = Sequential("x, edge_index", [(layer, "x, edge_index -> x")] * 2)
        dense = torch.zeros(NODES, NODES)
        dense = dense.index_put((edge_index[1], edge_index[0]), weights, accumulate=True)
        with weighted_messages(twice, weights):
            torch.testing.assert_close(twice(x, edge_index), dense @ dense @ x)

    @pytest.mark.parametrize("parts", [2, 4])
    @pytest.mark.parametrize("kind", [GCNConv, TAGConv])
    def test_decomposed_layers(self, case, kind, parts):
        _, x, edge_index, weights, _ = case
        torch.manual_seed(0)
        layer = kind(FEATURES, 8)
        with weighted_messages(layer, weights):
            want = outcome(layer, x, edge_index, weights)
            layer.decomposed_layers = parts
            got = outcome(layer, x, edge_index, weights)
        assert_same(got, want, atol=1e-6, rtol=1e-5)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
    def test_messages_keep_their_type(self, case, dtype):
        _, x, edge_index, weights, _ = case
        layer = GINConv(mlp()).to(dtype)
        with weighted_messages(layer, weights):
            assert layer(x.to(dtype), edge_index).dtype == dtype

    def test_graph_without_edges(self, case):
        network, x, *_ = case
        edge_index = torch.empty(2, 0, dtype=torch.long)
        want = network(x, edge_index)
        with weighted_messages(network, torch.empty(0)):
            assert torch.equal(network(x, edge_index), want)

    def test_batched_signals_along_another_dimension(self, case):
        _, _, edge_index, weights, _ = case
        layer = ChebConv(FEATURES, 5, K=2)
        signals = torch.randn(3, NODES, FEATURES)
        with weighted_messages(layer, weights):
            together = layer(signals, edge_index)
            apart = torch.stack([layer(signal, edge_index) for signal in signals])
        torch.testing.assert_close(together, apart)

    def test_messages_in_a_tuple(self, case):
        class Pair(MessagePassing):
            def forward(self, x, edge_index):
                return self.propagate(edge_index, x=x)

            def message(self, x_j):
                return x_j, 2 * x_j

            def aggregate(self, inputs, index, dim_size=None):
                return sum(self.aggr_module(part, index, dim_size=dim_size) for part in inputs)

        _, x, edge_index, weights, _ = case
        single, pair = SimpleConv(aggr="sum"), Pair()
        with weighted_messages(single, weights), weighted_messages(pair, weights):
            torch.testing.assert_close(pair(x, edge_index), 3 * single(x, edge_index))


class TestNesting:
    def test_weights_multiply(self):
        torch.manual_seed(0)
        x, edge_index, weights = make("some loops")
        other = torch.rand_like(weights)
        network = GAT(FEATURES, 8, 2)
        with weighted_messages(network, weights * other):
            want = network(x, edge_index)
        with weighted_messages(network, weights):
            alone = network(x, edge_index)
            with weighted_messages(network, other):
                torch.testing.assert_close(network(x, edge_index), want)
            assert torch.equal(network(x, edge_index), alone)

    def test_any_order_of_exit(self):
        x, edge_index, weights = make()
        other = torch.rand_like(weights)
        network = GIN(FEATURES, 8, 2)
        before = [set(module.__dict__) for module in network.modules()]
        with weighted_messages(network, other):
            want = network(x, edge_index)
        first, second = weighted_messages(network, weights), weighted_messages(network, other)
        first.__enter__()
        second.__enter__()
        network(x, edge_index)
        first.__exit__(None, None, None)
        assert torch.equal(network(x, edge_index), want)
        second.__exit__(None, None, None)
        assert_clean(network, before)

    def test_part_of_a_network(self):
        x, edge_index, weights = make()
        network = Sequential(
            "x, edge_index", [(SimpleConv(aggr="sum"), "x, edge_index -> x") for _ in range(2)]
        )
        dense = torch.zeros(2, NODES, NODES)
        place = (edge_index[1], edge_index[0])
        plain = dense[0].index_put(place, torch.ones(()), accumulate=True)
        weighted = dense[1].index_put(place, weights, accumulate=True)
        with weighted_messages(network[1], weights):
            torch.testing.assert_close(network(x, edge_index), weighted @ plain @ x)


class TestAfterwards:
    @pytest.mark.parametrize("given", [False, True])
    def test_clean_after_an_error(self, given):
        x, edge_index, weights = make()
        network = GCN(FEATURES, 8, 2)
        before = [set(module.__dict__) for module in network.modules()]
        want = network(x, edge_index)

        def fail():
            with weighted_messages(network, weights, edge_index if given else None):
                network(x, edge_index)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert_clean(network, before)
        assert torch.equal(network(x, edge_index), want)

    def test_clean_after_an_error_inside_a_layer(self):
        x, edge_index, weights = make()
        network = GCN(FEATURES, 8, 2)
        before = [set(module.__dict__) for module in network.modules()]
        with pytest.raises(ValueError, match="expected"), weighted_messages(network, weights[1:]):
            network(x, edge_index)
        assert_clean(network, before)

    def test_hooks_of_others_stay(self):
        x, edge_index, weights = make()
        layer = SimpleConv(aggr="sum")
        seen = []
        layer.register_message_forward_hook(lambda module, inputs, out: seen.append(out))
        with weighted_messages(layer, weights):
            layer(x, edge_index)
        layer(x, edge_index)
        assert len(seen) == 2

    def test_nothing_is_kept_alive(self):
        x, edge_index, _ = make()
        network = GCN(FEATURES, 8, 2)
        weights = torch.rand(edge_index.size(1))
        with torch.no_grad(), weighted_messages(network, weights):
            network(x, edge_index)
        alive = weakref.ref(weights)
        del weights
        gc.collect()
        assert alive() is None
