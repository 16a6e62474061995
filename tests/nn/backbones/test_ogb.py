"""The CIGA benchmark's networks: sizes, layers written out, options."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.nn.backbones import OGBGCN, OGBGIN
from gsina.nn.predictor import NetworkSpec, embed

NETWORKS = {"ogb-gcn": OGBGCN, "ogb-gin": OGBGIN}


def size(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(
    ("backbone", "options", "parameters"),
    [
        # Input 4 -> 32; per layer a linear map, rho and a batch norm; the head.
        ("ogb-gcn", {}, 160 + 3 * (1056 + 32 + 64) + 99),
        ("ogb-gcn", {"head": "mlp"}, 160 + 3 * (1056 + 32 + 64) + 2112 + 195),
        # Per layer eps, 32 -> 64, a batch norm, 64 -> 32, and a batch norm.
        ("ogb-gin", {}, 160 + 3 * (1 + 2112 + 128 + 2080 + 64) + 99),
        # The first state of the virtual node and two updates of it more.
        (
            "ogb-gcn",
            {"virtual_node": True},
            160 + 3 * 1152 + 99 + 32 + 2 * (2112 + 128 + 2080 + 64),
        ),
    ],
)
def test_size(backbone: str, options: dict[str, object], parameters: int) -> None:
    spec = NetworkSpec(backbone, 4, 0, options)
    assert size(spec.predictor(Task("multiclass", 3))) == parameters


@pytest.mark.parametrize("backbone", NETWORKS)
def test_every_layer_has_its_own_map_of_bond_features(backbone: str) -> None:
    with_edges, without = (NetworkSpec(backbone, 39, edges).network() for edges in (10, 0))
    assert size(with_edges) - size(without) == 3 * (10 * 32 + 32)


def written_out(network: OGBGCN | OGBGIN, batch: Batch, weight: Tensor) -> Tensor:
    """The layers edge by edge, in evaluation mode."""
    source, target = batch.edge_index
    h = network.encode_nodes(batch.x)
    degree = torch.ones(batch.num_nodes, dtype=h.dtype)
    for node in source.tolist():
        degree[node] += 1
    for depth, (layer, norm) in enumerate(zip(network.layers, network.norms, strict=True)):
        gcn = isinstance(network, OGBGCN)
        z = layer.linear(h) if gcn else h
        out = F.relu(z + layer.root) / degree[:, None] if gcn else (1 + layer.eps) * h
        for edge in range(batch.num_edges):
            j, i = int(source[edge]), int(target[edge])
            message = z[j]
            if layer.encode_edges is not None:
                assert batch.edge_attr is not None
                message = message + layer.encode_edges(batch.edge_attr[edge : edge + 1])[0]
            scale = (degree[i] * degree[j]).rsqrt() if gcn else 1.0
            new = torch.zeros_like(out)
            new[i] = weight[edge] * scale * F.relu(message)
            out = out + new
        h = norm(out if gcn else layer.mlp(out))
        if depth + 1 < len(network.layers):
            h = F.relu(h)
    return h


@pytest.mark.parametrize("with_edges", [True, False])
@pytest.mark.parametrize("kind", NETWORKS.values())
def test_layers_written_out(kind: type[OGBGCN | OGBGIN], with_edges: bool) -> None:
    """One-way edges, whose degrees count edges that leave; with attention and without."""
    torch.manual_seed(0)
    batch = tiny.whole(tiny.motifs(2))
    network = kind(4, 8, num_layers=3, edge_channels=1 if with_edges else 0)
    for norm in network.norms:  # statistics that are not 0 and 1
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    if isinstance(network, OGBGIN):
        for layer in network.layers:
            nn.init.constant_(layer.eps, 0.3)
    network.double().eval()
    assert batch.edge_attr is not None
    batch = replace(batch, x=batch.x.double(), edge_attr=batch.edge_attr.double())
    ones = torch.ones(batch.num_edges, dtype=torch.float64)
    torch.testing.assert_close(embed(network, batch), written_out(network, batch, ones))
    weight = torch.rand(batch.num_edges, dtype=torch.float64)
    torch.testing.assert_close(embed(network, batch, weight), written_out(network, batch, weight))


@pytest.mark.parametrize("kind", NETWORKS.values())
def test_dropout_follows_the_last_layer_too(kind: type[OGBGCN | OGBGIN]) -> None:
    batch = tiny.whole(tiny.motifs(4))
    torch.manual_seed(0)
    states = kind(4, 64, num_layers=1, dropout=0.25).train()(batch.x, batch.edge_index)
    share = (states == 0).float().mean(0)
    assert float(share.median()) == pytest.approx(0.25, abs=0.02)  # some channels are all 0
    assert bool((states < 0).any())  # no ReLU behind the last layer


@pytest.mark.parametrize("kind", NETWORKS.values())
def test_the_virtual_node_reaches_everywhere(kind: type[OGBGCN | OGBGIN]) -> None:
    """A change of one node is seen by all nodes of its graph and by no other graph."""
    graphs = tiny.ragged()
    batch = tiny.whole(graphs)
    torch.manual_seed(0)
    network = kind(4, 16, virtual_node=True, dropout=0.0).eval()
    before = embed(network, batch)
    x = batch.x.clone()
    x[0] += 1
    moved = (embed(network, replace(batch, x=x)) - before).abs().sum(1) > 0
    assert torch.equal(moved, batch.node_graph == 0)
    alone = graphs.batch([5])
    torch.testing.assert_close(embed(network, alone), before[batch.node_graph == 5])
    torch.testing.assert_close(
        network(alone.x, alone.edge_index), embed(network, alone)
    )  # one graph needs no `batch`


def test_options_by_name() -> None:
    assert NetworkSpec("ogb-gin", 4, 0, {"readout": "max"}).network().readout == "max"
    with pytest.raises(ValueError, match="unknown readout 'men'; did you mean 'mean'"):
        OGBGCN(4, readout="men")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown head 'liner'; did you mean 'linear'"):
        OGBGIN(4, head="liner")  # type: ignore[arg-type]
