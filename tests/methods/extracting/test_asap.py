"""ASAP's pooling against PyG's layer, and what PyG's lacks: the gradient by the edge weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.nn import ASAPooling as PygASAPooling

import tiny
from gsina.graphs.packed import PackedGraphs
from gsina.methods.extracting.asap import ASAP, ASAPConfig, ASAPooling
from gsina.nn.predictor import NetworkSpec

CHANNELS = 6


def two_layers(ratio: float) -> tuple[ASAPooling, Any]:
    torch.manual_seed(0)
    ours = ASAPooling(CHANNELS, ASAPConfig(ratio=ratio))
    theirs = PygASAPooling(CHANNELS, ratio)
    theirs.lin.load_state_dict(ours.centre.state_dict())
    theirs.att.load_state_dict(ours.attend.state_dict())
    theirs.gnn_score.load_state_dict(ours.fitness.state_dict())
    theirs.select.weight.data.fill_(1.0)  # a random factor on the fitness; its sign decides
    return ours, theirs


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("ratio", [0.25, 0.8])
@pytest.mark.parametrize("undirected", [False, True])
def test_pooling_is_pygs(ratio: float, undirected: bool) -> None:
    ours, theirs = two_layers(ratio)
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    h = torch.randn(batch.num_nodes, CHANNELS)
    with torch.no_grad():
        pooled, weight = ours(h, batch)
        x, edge_index, edge_weight, graph, kept = theirs(
            h, batch.edge_index, torch.ones(batch.num_edges), batch.node_graph
        )
    order = kept.argsort()  # theirs are sorted by fitness, ours by number
    torch.testing.assert_close(pooled.x, x[order])
    assert torch.equal(pooled.node_graph, graph[order])
    size = pooled.num_nodes
    ours_dense = torch.zeros(size, size).index_put(tuple(pooled.edge_index), weight)
    theirs_dense = torch.zeros(size, size).index_put(tuple(edge_index), edge_weight)
    torch.testing.assert_close(ours_dense, theirs_dense[order][:, order])
    PackedGraphs.from_batch(pooled)  # a batch like any other


def test_edge_weights_teach_the_memberships() -> None:
    layer, _ = two_layers(0.5)
    batch = tiny.whole(tiny.motifs(2))
    _, weight = layer(torch.randn(batch.num_nodes, CHANNELS), batch)
    weight.square().sum().backward()
    for part in (layer.centre, layer.attend):
        assert all(value.grad is not None for value in part.parameters())
    assert layer.attend.weight.grad is not None
    assert float(layer.attend.weight.grad.abs().sum()) > 0


def test_self_loops_of_the_graph_count_once() -> None:
    layer, _ = two_layers(1.0)
    plain = PackedGraphs.from_pyg([tiny.graph(4, [(0, 1), (1, 2), (2, 3)])])
    looped = PackedGraphs.from_pyg([tiny.graph(4, [(0, 1), (1, 1), (1, 2), (2, 3)])])
    h = torch.randn(4, CHANNELS)
    for one, other in zip(layer(h, plain.batch([0])), layer(h, looped.batch([0])), strict=True):
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(one, other)
        else:
            torch.testing.assert_close(one.x, other.x)


def test_predicts_with_the_sigmoid_of_the_edge_weights() -> None:
    torch.manual_seed(0)
    spec = NetworkSpec("ogb-gcn", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})
    asap = ASAP.build(spec, tiny.CLASSES, ASAPConfig(ratio=0.5)).eval()
    batch = tiny.whole(tiny.ragged())
    h = asap.network(batch.x, batch.edge_index, batch.edge_attr, batch.node_graph)
    pooled, weight = asap.pooling(h, batch)
    states = asap.predictor.represent(pooled, weight.sigmoid())
    assert asap.predictor.head is not None
    torch.testing.assert_close(asap(batch).logits, asap.predictor.head(states))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 1.5}, r"ratio must lie in \(0, 1\], got 1.5"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ASAPConfig(**options)
