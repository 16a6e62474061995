import gc
import weakref
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.nn import (
    AttentiveFP,
    ChebConv,
    ClusterGCNConv,
    EGConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    GraphUNet,
    LEConv,
    MessagePassing,
    PNAConv,
    RGCNConv,
    SAGEConv,
    Sequential,
    SGConv,
    SimpleConv,
    TAGConv,
    TransformerConv,
)
from torch_geometric.nn.models import GAT, GCN, GIN, PNA, EdgeCNN, GraphSAGE
from torch_geometric.utils import add_self_loops, remove_self_loops

from gsina.nn.weighting import match_edges, weighted_messages

NODES, FEATURES = 6, 4
DEGREES = torch.tensor([1, 2, 4, 1])
HOOKS = (
    "_propagate_forward_pre_hooks",
    "_propagate_forward_hooks",
    "_message_forward_pre_hooks",
    "_message_forward_hooks",
    "_aggregate_forward_pre_hooks",
    "_message_and_aggregate_forward_pre_hooks",
    "_forward_pre_hooks",
    "_forward_hooks",
)
# Node 5 has no neighbours, 0 -> 1 is there twice.
PROPER = [(0, 1), (1, 0), (0, 1), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 0), (2, 0)]
LOOPS = [(node, node) for node in range(NODES)]
GRAPHS = {
    "no loops": PROPER,
    "some loops": [(2, 2), *PROPER[:5], (0, 0), (0, 0), *PROPER[5:], (4, 4)],
    # As many edges as before, after the layer has moved the loops to the end.
    "loops first": [*LOOPS, *PROPER],
    "loops mixed": [edge for pair in zip(LOOPS, PROPER, strict=False) for edge in pair]
    + PROPER[NODES:],
    # Even the same edges, after the layer has replaced the loops by its own.
    "loops last": [*PROPER, *LOOPS],
}


def mlp(width_in: int = FEATURES, width_out: int = FEATURES) -> nn.Module:
    return nn.Sequential(nn.Linear(width_in, 8), nn.ReLU(), nn.Linear(8, width_out))


PNA_ARGS = {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "amplification"]}
LAYERS = {
    "gin": lambda: GINConv(mlp()),
    "gine": lambda: GINEConv(mlp(), edge_dim=3),
    "gcn": lambda: GCNConv(FEATURES, 5),
    "gcn without loops": lambda: GCNConv(FEATURES, 5, add_self_loops=False),
    "sage mean": lambda: SAGEConv(FEATURES, 5, aggr="mean"),
    "sage max": lambda: SAGEConv(FEATURES, 5, aggr="max"),
    "sage, two aggregations": lambda: SAGEConv(FEATURES, 5, aggr=["mean", "std"]),
    "gat": lambda: GATConv(FEATURES, 5, heads=2),
    "gat mean of heads": lambda: GATConv(FEATURES, 5, heads=3, concat=False, edge_dim=3),
    "gatv2": lambda: GATv2Conv(FEATURES, 5, heads=2),
    "pna": lambda: PNAConv(FEATURES, 6, **PNA_ARGS, deg=DEGREES, towers=2, divide_input=True),
    "le": lambda: LEConv(FEATURES, 5),
    "graph": lambda: GraphConv(FEATURES, 5),
    "transformer": lambda: TransformerConv(FEATURES, 5, heads=2, edge_dim=3),
    "sgc, two rounds": lambda: SGConv(FEATURES, 5, K=2),
    "tag, three rounds": lambda: TAGConv(FEATURES, 5, K=3),
    "cheb": lambda: ChebConv(FEATURES, 5, K=3),
    "cluster": lambda: ClusterGCNConv(FEATURES, 5),
    "eg": lambda: EGConv(FEATURES, 8, aggregators=["symnorm", "max"]),
    "gcn, flow reversed": lambda: GCNConv(FEATURES, 5, flow="target_to_source"),
}
MODELS = {
    "GCN": lambda: GCN(FEATURES, 8, 3, 2),
    "GIN": lambda: GIN(FEATURES, 8, 3, 2),
    "GraphSAGE": lambda: GraphSAGE(FEATURES, 8, 3, 2, jk="cat"),
    "GAT": lambda: GAT(FEATURES, 8, 3, 2, heads=2, edge_dim=3),
    "PNA": lambda: PNA(FEATURES, 8, 2, 2, **PNA_ARGS, deg=DEGREES, edge_dim=3),
    "EdgeCNN": lambda: EdgeCNN(FEATURES, 8, 2, 2),
}
# As `add_self_loops` of the layers in these tests says; ChebConv and EGConv always do.
ADDS_LOOPS = (GCNConv, GATConv, GATv2Conv, SGConv, ChebConv, ClusterGCNConv, EGConv)


def make(edges: str = "no loops") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x [N, F], edge_index [2, E], weights [E]; x and weights are leaves."""
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor(GRAPHS[edges]).t().contiguous()
    x = torch.randn(NODES, FEATURES, generator=generator)
    weights = torch.rand(edge_index.size(1), generator=generator)
    return x.requires_grad_(), edge_index, weights.requires_grad_()


def attributes(network: nn.Module, edge_index: torch.Tensor) -> dict[str, torch.Tensor]:
    """`edge_attr` for the networks that take it."""
    parts = [getattr(module, "edge_dim", None) for module in network.modules()]
    takes = any(parts) or isinstance(network, GINEConv)
    generator = torch.Generator().manual_seed(1)
    edge_attr = torch.randn(edge_index.size(1), 3, generator=generator)
    return {"edge_attr": edge_attr} if takes else {}


def layers_of(network: nn.Module) -> list[MessagePassing]:
    return [module for module in network.modules() if isinstance(module, MessagePassing)]


def weighted_by_hand(network: nn.Module, weights: torch.Tensor, edges: str) -> nn.Module:
    """A copy whose layers multiply in their own `message`, in the order of their own edges."""
    network = deepcopy(network)
    for layer in layers_of(network):
        if isinstance(layer, ADDS_LOOPS) and getattr(layer, "add_self_loops", True):
            kept = [k for k, (i, j) in enumerate(GRAPHS[edges]) if i != j]
            values = torch.cat([torch.stack([weights[k] for k in kept]), torch.ones(NODES)])
        else:
            values = weights

        def message(*args, original=layer.message, values=values, **kwargs):
            messages = original(*args, **kwargs)
            return messages * values.reshape(-1, *[1] * (messages.dim() - 1))

        layer.message = message
    return network


def outcome(network, x, edge_index, weights, **kwargs):
    """The output, and the gradients of a generic function of it."""
    out = network(x, edge_index, **kwargs)
    generator = torch.Generator().manual_seed(2)
    loss = (out * torch.randn(out.shape, generator=generator, dtype=out.dtype)).sum()
    leaves = [weights, x, *network.parameters()]
    return [out, *torch.autograd.grad(loss, leaves, allow_unused=True)]


def assert_same(got, want, **tolerance):
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        if one is None or other is None:
            assert one is other
        else:
            torch.testing.assert_close(one, other, **tolerance)


def assert_clean(network: nn.Module, before: list[set[str]]) -> None:
    for module in network.modules():
        for name in HOOKS:
            assert not getattr(module, name, None), (module, name)
    assert [set(module.__dict__) for module in network.modules()] == before


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
