"""`weighted_messages` finds the edges of the graph among the edges of a layer."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import (
    ChebConv,
    GATConv,
    GCNConv,
    GINConv,
    SimpleConv,
)
from torch_geometric.nn.models import GCN, GIN
from torch_geometric.utils import add_self_loops, remove_self_loops

from gsina.nn.weighting import match_edges, weighted_messages
from weighting_cases import (
    FEATURES,
    GRAPHS,
    NODES,
    assert_same,
    make,
    mlp,
    outcome,
    weighted_by_hand,
)


class TestSelfLoops:
    def test_loops_of_the_graph_keep_their_weight_in_a_layer_that_keeps_them(self):
        x, edge_index, _ = make("some loops")
        layer = SimpleConv(aggr="sum")
        weights = (edge_index[0] == edge_index[1]).float()
        with weighted_messages(layer, weights):
            out = layer(x, edge_index)
        count = torch.tensor([2.0, 0, 1, 0, 1, 0]).unsqueeze(1)
        torch.testing.assert_close(out, count * x)

    @pytest.mark.parametrize("edges", GRAPHS)
    def test_loops_of_the_graph_keep_their_weight_when_others_are_appended(self, edges):
        x, edge_index, weights = make(edges)
        layer = SimpleConv(aggr="sum", combine_root="self_loop")
        with weighted_messages(layer, weights):
            out = layer(x, edge_index)
        dense = torch.eye(NODES).index_put((edge_index[1], edge_index[0]), weights, accumulate=True)
        torch.testing.assert_close(out, dense @ x)

    @pytest.mark.parametrize("edges", GRAPHS)
    def test_copied_edges_are_the_same_edges(self, edges):
        class Copies(GINConv):
            def forward(self, x, edge_index):
                return super().forward(x, edge_index.clone())

        torch.manual_seed(0)
        x, edge_index, weights = make(edges)
        layer = Copies(mlp())
        with weighted_messages(layer, weights):
            got = layer(x, edge_index)
        with weighted_messages(layer, weights, edge_index):
            assert torch.equal(GINConv.forward(layer, x, edge_index), got)

    @pytest.mark.parametrize("edges", GRAPHS)
    @pytest.mark.parametrize("make_layer", [lambda: GINConv(mlp()), lambda: GATConv(FEATURES, 5)])
    def test_reordered_edges_find_their_weights(self, make_layer, edges):
        class Reorders(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = make_layer()
                self.order = torch.arange(edge_index.size(1))

            def forward(self, x, edge_index):
                return self.layer(x, edge_index[:, self.order])

        torch.manual_seed(0)
        x, edge_index, weights = make(edges)
        network = Reorders()
        with weighted_messages(network, weights):
            want = outcome(network, x, edge_index, weights)
        # Parallel edges keep their order: a stable sort by the source.
        network.order = edge_index[0].argsort(stable=True)
        with weighted_messages(network, weights):
            assert_same(outcome(network, x, edge_index, weights), want, atol=1e-6, rtol=1e-5)

    def test_loops_that_a_laplacian_adds(self):
        torch.manual_seed(0)
        x, edge_index, weights = make("loops last")
        layer = ChebConv(FEATURES, 5, K=2)
        scale = {"lambda_max": torch.tensor(3.0)}  # at 2 the loops of the layer are all zero
        want = weighted_by_hand(layer, weights, "loops last")(x, edge_index, **scale)
        with weighted_messages(layer, weights):
            torch.testing.assert_close(layer(x, edge_index, **scale), want)

    def test_layers_that_add_loops_beside_layers_that_copy(self):
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.gcn = GCNConv(FEATURES, 5)
                self.sum = SimpleConv(aggr="sum")

            def forward(self, x, edge_index):
                copied = edge_index.clone()
                return torch.cat([self.gcn(x, copied), self.sum(x, copied)], dim=1)

        torch.manual_seed(0)
        x, edge_index, weights = make("loops last")
        network = Both()
        want = weighted_by_hand(network, weights, "loops last")(x, edge_index)
        with weighted_messages(network, weights):
            torch.testing.assert_close(network(x, edge_index), want)

    def test_the_same_weights_on_the_next_graph(self):
        torch.manual_seed(0)
        layer = GCNConv(FEATURES, 5)
        x, first, weights = make("loops first")
        _, last, _ = make("loops last")
        with weighted_messages(layer, weights):
            layer(x, first)
            got = layer(x, last)
        want = weighted_by_hand(layer, weights, "loops last")(x, last)
        torch.testing.assert_close(got, want)

    def test_network_that_changes_the_integer_type(self):
        class Long(GINConv):
            def forward(self, x, edge_index):
                return super().forward(x, edge_index.long())

        x, edge_index, weights = make("some loops")
        layer = Long(mlp())
        with weighted_messages(layer, weights):
            assert torch.equal(layer(x, edge_index.int()), layer(x, edge_index))

    def test_network_that_replaces_loops_itself(self):
        class Replaces(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = SimpleConv(aggr="sum")

            def forward(self, x, edge_index):
                edge_index, _ = remove_self_loops(edge_index)
                return self.layer(x, add_self_loops(edge_index, num_nodes=len(x))[0])

        network = Replaces()
        x, edge_index, _ = make("loops first")
        with weighted_messages(network, torch.zeros(edge_index.size(1))):
            assert torch.equal(network(x, edge_index), x)


class TestMatchEdges:
    @pytest.mark.parametrize("seed", range(20))
    def test_matches_edges_with_the_same_ends(self, seed):
        generator = torch.Generator().manual_seed(seed)
        graph = torch.randint(0, 5, (2, 25), generator=generator)
        order = torch.randperm(25, generator=generator)
        match = match_edges(graph[:, order], graph, adds_loops=False)
        assert torch.equal(graph[:, match], graph[:, order])
        assert torch.equal(match.sort().values, torch.arange(25))

    def test_removed_and_own_loops(self):
        graph = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 0]])
        shuffled = torch.tensor([[1, 0, 0, 1], [1, 1, 0, 0]])
        assert match_edges(shuffled, graph, adds_loops=False).tolist() == [2, 1, 0, 3]
        assert match_edges(shuffled, graph, adds_loops=True).tolist() == [4, 1, 4, 3]
        assert match_edges(graph[:, [3, 1]], graph, adds_loops=False).tolist() == [3, 1]

    @pytest.mark.parametrize(
        "layer", [[[0], [1]], [[0, 1, 0], [1, 0, 1]], [[0, 1], [1, 2]], [[1, 1], [0, 0]]]
    )
    def test_other_edges_have_no_match(self, layer):
        graph = torch.tensor([[0, 1], [1, 0]])
        assert match_edges(torch.tensor(layer), graph, adds_loops=False) is None

    def test_no_edges(self):
        none = torch.empty(2, 0, dtype=torch.long)
        assert match_edges(none.clone(), none, adds_loops=False).tolist() == []
        assert match_edges(torch.tensor([[0, 1], [0, 1]]), none, adds_loops=True).tolist() == [0, 0]
        assert match_edges(torch.tensor([[0], [1]]), none, adds_loops=True) is None
        assert match_edges(none, torch.tensor([[0], [1]]), adds_loops=True) is None


class TestWork:
    """What is computed when."""

    @pytest.fixture
    def matches(self, monkeypatch):
        calls = []

        def counted(*args, **kwargs):
            calls.append(args)
            return match_edges(*args, **kwargs)

        monkeypatch.setattr("gsina.nn.weighting.match_edges", counted)
        return calls

    def test_none_when_the_layer_uses_the_given_edges(self, matches):
        x, edge_index, weights = make("loops mixed")
        network = GIN(FEATURES, 8, 3)
        with weighted_messages(network, weights):
            network(x, edge_index)
        assert not matches

    def test_once_for_all_layers_and_calls(self, matches):
        x, edge_index, weights = make("loops mixed")
        network = GCN(FEATURES, 8, 3)
        with weighted_messages(network, weights):
            network(x, edge_index)
            network(x, edge_index)
        assert len(matches) == 1

    def test_gradients_after_a_pass_without(self):
        x, edge_index, weights = make("some loops")
        network = GCN(FEATURES, 8, 2)
        with weighted_messages(network, weights):
            with torch.no_grad():
                quiet = network(x, edge_index)
                assert not quiet.requires_grad
            for _ in range(2):  # every pass has its own graph to go back through
                out = network(x, edge_index)
                out.sum().backward()
        assert torch.equal(out, quiet)
        loops = edge_index[0] == edge_index[1]
        assert (weights.grad[~loops] != 0).all()
        assert (weights.grad[loops] == 0).all()
