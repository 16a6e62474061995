"""`Predictor` and `NetworkSpec`: any network, with and without attention."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINEConv, global_add_pool

import tiny
from gsina.errors import InputError
from gsina.graphs.task import Task
from gsina.nn.attention import Attention
from gsina.nn.backbones import BACKBONES
from gsina.nn.network import run_network
from gsina.nn.predictor import NetworkSpec, Predictor, embed


class Pooling(nn.Module):
    """A network that pools by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(tiny.FEATURES, 3)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        return global_add_pool(self.conv(x, edge_index), batch, batch_size)


class Edged(nn.Module):
    """A network that needs edge features."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GINEConv(nn.Linear(tiny.FEATURES, 5), edge_dim=1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.conv(x, edge_index, edge_attr)


def test_readout_and_head_written_out() -> None:
    batch = tiny.whole(tiny.ragged())
    network, head = Edged(), nn.Linear(5, 3)
    edge, node = torch.rand(batch.num_edges), torch.rand(batch.num_nodes)
    found = Predictor(network, head, "sum")(batch, Attention(edge, node))
    conv = network.conv
    messages = (batch.x[batch.edge_index[0]] + conv.lin(batch.edge_attr)).relu() * edge[:, None]
    summed = torch.zeros_like(batch.x).index_add_(0, batch.edge_index[1], messages)
    states = conv.nn(batch.x + summed) * node[:, None]
    pooled = torch.zeros(batch.num_graphs, 5).index_add_(0, batch.node_graph, states)
    torch.testing.assert_close(found, head(pooled), atol=1e-5, rtol=1e-5)


def test_without_attention_nothing_is_weighted() -> None:
    batch = tiny.whole(tiny.ragged())
    predictor = Predictor(Edged(), nn.Linear(5, 3), "mean")
    ones = Attention(torch.ones(batch.num_edges), torch.ones(batch.num_nodes))
    assert torch.equal(predictor(batch), predictor(batch, ones))
    assert torch.equal(predictor(batch), predictor(batch, Attention(ones.edge, None)))


def test_node_level_and_networks_that_pool_by_themselves() -> None:
    batch = tiny.whole(tiny.ragged())
    assert Predictor(Edged(), nn.Linear(5, 3))(batch).shape == (batch.num_nodes, 3)
    assert Predictor(Edged())(batch).shape == (batch.num_nodes, 5)
    assert Predictor(Pooling())(batch).shape == (batch.num_graphs, 3)


def test_classify_goes_on_from_embed() -> None:
    batch = tiny.whole(tiny.ragged())
    predictor = Predictor(Edged(), nn.Linear(5, 3), "sum")
    weight = torch.rand(batch.num_edges)
    states = predictor.embed(batch, weight)
    assert torch.equal(states, embed(predictor.network, batch, weight))
    assert torch.equal(predictor.classify(states, batch), predictor(batch, Attention(weight, None)))


def test_only_a_backbone_is_taken_for_one() -> None:
    predictor = NetworkSpec("gin", 4).predictor(Task("multiclass", 3))
    assert predictor.backbone is predictor.network
    with pytest.raises(ValueError, match="a predictor with a Edged, expected a backbone"):
        _ = Predictor(Edged()).backbone


def test_unknown_readout() -> None:
    with pytest.raises(ValueError, match="unknown readout 'summ'; did you mean 'sum'"):
        Predictor(Edged(), readout="summ")


@pytest.mark.parametrize("backbone", BACKBONES)
def test_spec_makes_fresh_networks(backbone: str) -> None:
    batch = tiny.whole(tiny.ragged())
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 8, "num_layers": 1})
    first, second = spec.predictor(Task("multiclass", 3)), spec.predictor(Task("multiclass", 3))
    assert first(batch).shape == (batch.num_graphs, 3)
    different = [
        not torch.equal(a, b)
        for a, b in zip(first.parameters(), second.parameters(), strict=True)
        if a.dim() > 1
    ]
    assert all(different)
    inside = spec.network(in_channels=8)
    x = torch.randn(batch.num_nodes, 8)
    assert run_network(inside, x, batch.edge_index, edge_attr=batch.edge_attr).shape[1] == 8


def test_unknown_backbone() -> None:
    with pytest.raises(ValueError, match="unknown backbone 'gni'; did you mean 'gin'"):
        NetworkSpec("gni", 4).network()


def test_features_of_graphs_are_added_to_the_pooled_states() -> None:
    batch = tiny.whole(tiny.ragged())
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8}, graph_channels=3)
    torch.manual_seed(0)
    predictor = spec.predictor(Task("binary", 2)).eval()
    plain = Predictor(predictor.network, predictor.head, "sum").eval()
    encoder = predictor.graph_encoder
    assert encoder is not None
    features = torch.randn(batch.num_graphs, 3)
    described = replace(batch, graph_attr=features)
    states = plain.represent(batch) + encoder(features)
    torch.testing.assert_close(predictor.represent(described), states)
    torch.testing.assert_close(predictor(described), predictor.logits(states))
    assert torch.equal(plain(described), plain(batch))  # one that was not made for them
    with pytest.raises(InputError, match="these graphs have no graph_attr"):
        predictor(batch)
    with pytest.raises(InputError, match="features of whole graphs for a task of nodes"):
        spec.predictor(Task("binary", 2, level="node"))


def test_networks_without_features_of_graphs_start_as_before() -> None:
    """The encoder is made last, so that it moves no other initial weight."""
    made = []
    for width in (0, 3):
        torch.manual_seed(0)
        spec = NetworkSpec("gin", tiny.FEATURES, 1, graph_channels=width)
        made.append(spec.predictor(tiny.CLASSES).state_dict())
    for name, value in made[0].items():
        assert torch.equal(value, made[1][name])
