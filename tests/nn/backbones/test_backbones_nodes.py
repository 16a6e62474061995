"""The node-level networks: layers written out, depths and widths, weights without messages."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

import tiny
from gsina.graphs.task import Task
from gsina.nn.backbones import BACKBONES, GAT, GCN, GPRGNN, SAGE
from gsina.nn.backbones.layers import normal_weights
from gsina.nn.predictor import NetworkSpec, embed
from gsina.nn.weighting import weighted_messages
from gsina.ops.host import as_on_a_device

NODES = Task("multiclass", 6, level="node")
NETWORKS = ("gcn", "sage", "gat", "gprgnn")


def dense(edge_index: torch.Tensor, nodes: int, weight: torch.Tensor | None = None) -> torch.Tensor:
    """The adjacency matrix, target by source."""
    matrix = torch.zeros(nodes, nodes, dtype=torch.float64)
    values = torch.ones(edge_index.size(1)) if weight is None else weight
    return matrix.index_put((edge_index[1], edge_index[0]), values.double(), accumulate=True)


def weighted(network: Any, batch: Any, weight: torch.Tensor | None) -> torch.Tensor:
    with weighted_messages(network, weight):
        return network(batch.x.double(), batch.edge_index)


@pytest.mark.parametrize("with_weights", [False, True])
def test_gcn_is_a_plain_sum(with_weights: bool) -> None:
    batch = tiny.whole(tiny.ragged())
    weight = torch.rand(batch.num_edges) if with_weights else None
    network = GCN(4, 8, num_layers=2, out_channels=3).double().eval()
    matrix = dense(batch.edge_index, batch.num_nodes, weight)
    first, last = network.layers
    norm = network.between[0].norm
    h = matrix @ batch.x.double() @ first.map.weight.T + first.bias
    h = ((h - norm.running_mean) / (norm.running_var + norm.eps).sqrt()).relu()
    expected = matrix @ h @ last.map.weight.T + last.bias
    torch.testing.assert_close(weighted(network, batch, weight), expected)
    lonely = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes) == 0
    assert bool(lonely.any())
    assert bool((weighted(network, batch, weight)[lonely] == last.bias).all())  # the bias alone


@pytest.mark.parametrize("with_weights", [False, True])
def test_sage_is_pygs(with_weights: bool) -> None:
    batch = tiny.whole(tiny.ragged())
    weight = torch.rand(batch.num_edges).double() if with_weights else None
    network = SAGE(4, num_layers=1, out_channels=3).double()
    conv = SAGEConv(4, 3).double()
    ours = network.layers[0]
    conv.lin_l.weight.data, conv.lin_l.bias.data = ours.of_neighbours.weight, ours.bias
    conv.lin_r.weight.data = ours.of_itself.weight
    torch.testing.assert_close(weighted(network, batch, weight), weighted(conv, batch, weight))


def test_gcn_normalised_is_pygs() -> None:
    batch = tiny.whole(tiny.ragged())
    network = GCN(4, num_layers=1, out_channels=3, normalise=True).double()
    conv = GCNConv(4, 3).double()
    conv.load_state_dict(network.layers[0].conv.state_dict())
    weight = torch.rand(batch.num_edges).double()
    torch.testing.assert_close(weighted(network, batch, weight), weighted(conv, batch, weight))


@pytest.mark.parametrize("name", ["gcn", "gat", "gprgnn"])
def test_self_loops_of_the_graph_make_way_for_those_of_the_network(name: str) -> None:
    """By PyG, which takes them out; with weights as an argument and on devices, where they stay."""
    batch = tiny.whole(tiny.ragged())
    loops = torch.tensor([[0, 3, 3, 5], [0, 3, 3, 5]])
    edge_index = torch.cat([loops[:, :2], batch.edge_index, loops[:, 2:]], dim=1)
    weight = torch.rand(edge_index.size(1)).requires_grad_()
    sizes = {"normalise": True} if name == "gcn" else {}
    torch.manual_seed(0)
    network = BACKBONES[name](4, hidden_channels=6, **sizes).eval()

    def gradients(found: torch.Tensor) -> list[torch.Tensor]:
        given = [weight, *network.parameters()]
        return [found, *torch.autograd.grad(found.square().sum(), given, materialize_grads=True)]

    plain = network(batch.x, edge_index)
    with as_on_a_device():
        torch.testing.assert_close(network(batch.x, edge_index), plain)
    torch.testing.assert_close(network(batch.x, edge_index, torch.ones_like(weight)), plain)
    with weighted_messages(network, weight, edge_index):
        by_hooks = gradients(network(batch.x, edge_index))
    by_argument = gradients(network(batch.x, edge_index, weight))
    for one, other in zip(by_hooks, by_argument, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)
    assert bool((by_argument[1][edge_index[0] == edge_index[1]] == 0).all())


@pytest.mark.parametrize("neighbours", [2, 300, 601])
def test_degrees_of_bf16_are_not_rounded(neighbours: int) -> None:
    """bf16 has no whole number between 256 and 258; only what comes out has its type."""
    edge_index = torch.stack([torch.arange(neighbours) + 1, torch.zeros(neighbours).long()])
    h, weight = torch.rand(neighbours + 1, 2), torch.rand(neighbours)
    wide = normal_weights(h, edge_index, weight)
    narrow = normal_weights(h.bfloat16(), edge_index, weight)
    for one, other in zip(narrow, wide, strict=True):
        assert torch.equal(one, other.bfloat16())


def test_gat_heads() -> None:
    network = GAT(4, 8, num_layers=3, heads=2, out_channels=5)
    widths = [(layer.in_channels, layer.out_channels, layer.concat) for layer in network.layers]
    assert widths == [(4, 8, True), (16, 8, True), (16, 5, False)]
    assert all(isinstance(layer, GATConv) and layer.heads == 2 for layer in network.layers)


def test_gpr_written_out() -> None:
    batch = tiny.whole(tiny.ragged())
    network = GPRGNN(4, 8, out_channels=3, hops=4).double().eval()
    weight = torch.rand(batch.num_edges).double()
    with_loops = dense(batch.edge_index, batch.num_nodes) + torch.eye(batch.num_nodes)
    scale = with_loops.sum(1).rsqrt()
    kept = dense(batch.edge_index, batch.num_nodes, weight) + torch.eye(batch.num_nodes)
    matrix = scale[:, None] * kept * scale
    h = network.last(network.encode_nodes(batch.x.double()).relu())
    shares = [0.1, 0.09, 0.081, 0.0729, 0.6561]
    expected = torch.zeros_like(h)
    for share in shares:
        expected = expected + share * h
        h = matrix @ h
    torch.testing.assert_close(weighted(network, batch, weight), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("backbone", NETWORKS)
def test_the_last_layer_is_the_head_at_node_level(backbone: str) -> None:
    batch = tiny.whole(tiny.ragged())
    spec = NetworkSpec(backbone, 4, 0, {"hidden_channels": 12})
    predictor = spec.predictor(NODES)
    assert predictor.head is None
    assert predictor.readout is None
    assert predictor(batch).shape == (batch.num_nodes, 6)
    assert spec.network().out_channels == 12  # the extractor keeps its width
    pooled = spec.predictor(Task("multiclass", 6))
    assert pooled(batch).shape == (batch.num_graphs, 6)


@pytest.mark.parametrize("backbone", NETWORKS)
def test_categories_are_one_hot_maps(backbone: str) -> None:
    """A column of categories is the same as its one-hot columns."""
    batch = tiny.whole(tiny.ragged())
    x = torch.stack([torch.arange(batch.num_nodes) % 5, torch.arange(batch.num_nodes) % 3], 1)
    network = NetworkSpec(backbone, (5, 3), 0, {"hidden_channels": 8}).network().eval()
    assert network(x, batch.edge_index).shape == (batch.num_nodes, 8)
    if backbone == "gcn":
        plain = GCN(8, 8).eval()
        values = network.state_dict()
        tables = [values.pop(f"layers.0.map.tables.{k}.weight") for k in (0, 1)]
        plain.load_state_dict(values | {"layers.0.map.weight": torch.cat(tables).T})
        one_hot = torch.cat([torch.nn.functional.one_hot(x[:, k]) for k in (0, 1)], 1)
        found = network(x, batch.edge_index)
        torch.testing.assert_close(found, plain(one_hot, batch.edge_index))


@pytest.mark.parametrize("backbone", NETWORKS)
def test_weights_of_one_change_nothing_and_of_zero_cut(backbone: str) -> None:
    batch = tiny.whole(tiny.ragged())
    network = NetworkSpec(backbone, 4, 0, {"hidden_channels": 8}).network().eval()
    plain = embed(network, batch)
    torch.testing.assert_close(embed(network, batch, torch.ones(batch.num_edges)), plain)
    cut = embed(network, batch, torch.zeros(batch.num_edges))
    assert not torch.allclose(cut, plain)
    assert torch.equal(embed(network, batch), plain)  # no weights are left behind


def test_contexts_nest_and_foreign_graphs_are_refused() -> None:
    batch = tiny.whole(tiny.ragged())
    network = GCN(4, 8).eval()
    one, two = torch.rand(batch.num_edges), torch.rand(batch.num_edges)
    with weighted_messages(network, one), weighted_messages(network, two):
        nested = network(batch.x, batch.edge_index)
    torch.testing.assert_close(nested, embed(network, batch, one * two))
    with pytest.raises(ValueError, match="works on 3 edges that are not"):  # noqa: SIM117
        with weighted_messages(network, one, batch.edge_index):
            network(batch.x, batch.edge_index[:, :3])
    with pytest.raises(ValueError, match="at least one layer, got num_layers = 0"):
        SAGE(4, num_layers=0)
