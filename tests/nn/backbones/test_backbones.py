"""The benchmarks' networks: sizes, a layer written out, and input that does not fit."""

from __future__ import annotations

import inspect
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tiny
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.nn.backbones import BACKBONES, GIN, PNA, Backbone
from gsina.nn.backbones.protocol import DATA_SIDE
from gsina.nn.encoders import CategoryEncoder, NumberEncoder, make_encoder
from gsina.nn.norm import BatchNorm
from gsina.nn.predictor import NetworkSpec
from gsina.nn.weighting import weighted_messages
from gsina.ops.aggregate import AGGREGATORS, multi_aggregate


def size(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(("backbone", "parameters"), [("gin", 25_859), ("pna", 389_643)])
def test_size_on_spurious_motif(backbone: str, parameters: int) -> None:
    """With the head, as counted in the benchmark's own code."""
    graphs = tiny.motifs(1)
    spec = NetworkSpec(backbone, graphs.num_features, graphs.num_edge_features)
    assert size(spec.predictor(Task("multiclass", 3))) == parameters


@pytest.mark.parametrize("with_edges", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_gin_written_out(with_edges: bool, training: bool) -> None:
    batch = tiny.whole(tiny.motifs(3))
    network = GIN(4, 16, num_layers=2, dropout=0.0, edge_channels=1 if with_edges else 0)
    network.double().train(training)
    x, (source, target) = batch.x.double(), batch.edge_index
    assert batch.edge_attr is not None
    edge_attr = batch.edge_attr.double()

    h = network.encode_nodes(x)
    for layer in network.layers:
        messages = h[source]
        if network.encode_edges is not None:
            messages = F.relu(messages + layer.lin(network.encode_edges(edge_attr)))
        summed = torch.zeros_like(h)
        for edge in range(batch.num_edges):
            summed[target[edge]] += messages[edge]
        first, norm, _, last = layer.nn
        z = first(h + summed)
        if training:
            mean, variance = z.mean(0), z.var(0, unbiased=False)
        else:
            mean, variance = norm.running_mean, norm.running_var
        z = (z - mean) / (variance + 1e-5).sqrt() * norm.weight + norm.bias
        h = last(z.relu()).relu()

    found = network(x, batch.edge_index, edge_attr if with_edges else None)
    torch.testing.assert_close(found, h)


@pytest.mark.parametrize("with_edges", [True, False])
@pytest.mark.parametrize("kind", ["no weights", "ones", "ones to learn", "weights"])
@pytest.mark.parametrize("aggregators", [AGGREGATORS, AGGREGATORS[:-1], ("std", "max"), ("sum",)])
@pytest.mark.parametrize("several", [False, True])
def test_pna_written_out(
    with_edges: bool, kind: str, aggregators: tuple[str, ...], several: bool
) -> None:
    torch.manual_seed(0)
    rings = PackedGraphs.from_pyg([tiny.cycle(size, undirected=True) for size in (3, 5)])
    batch = tiny.whole(rings if several else tiny.ragged())
    assert several == bool((torch.bincount(batch.edge_index[1], minlength=1) > 1).all())
    network = PNA(
        4, 16, num_layers=2, edge_channels=1 if with_edges else 0, aggregators=aggregators
    )
    network.double().eval()
    x, (source, target) = batch.x.double(), batch.edge_index
    edge_attr = torch.rand(batch.num_edges, 1).double() if with_edges else None
    ones = torch.ones(batch.num_edges).double()
    weights = {
        "no weights": None,
        "ones": ones,
        "ones to learn": ones.clone().requires_grad_(),
        "weights": torch.rand(batch.num_edges).double().requires_grad_(),
    }[kind]

    h = network.encode_nodes(x)
    for layer, norm in zip(network.layers, network.norms, strict=True):
        messages = torch.cat([h[target], h[source]], dim=1)
        if network.encode_edges is not None:
            messages = torch.cat([messages, network.encode_edges(edge_attr)], dim=1)
        if weights is not None:
            messages = messages * weights.unsqueeze(-1)
        gathered = multi_aggregate(messages, target, h.size(0), layer.aggregators)
        h = h + norm(layer.linear(gathered)).relu()

    with weighted_messages(network, weights):
        found = network(x, batch.edge_index, edge_attr)
    torch.testing.assert_close(found, h)
    inputs = [*network.parameters(), *([] if weights is None else [weights])]
    inputs = [one for one in inputs if one.requires_grad]
    pull = torch.randn_like(h)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, pull), torch.autograd.grad(h, inputs, pull)
    )


def test_gin_drops_states_in_training_only() -> None:
    batch = tiny.whole(tiny.motifs(3))
    network = GIN(4, 64, num_layers=1, dropout=0.3)
    torch.manual_seed(0)
    dropped = network.train()(batch.x, batch.edge_index)
    network.dropout = 0.0
    full = network(batch.x, batch.edge_index)
    lost = ((dropped == 0) & (full > 0)).sum() / (full > 0).sum()
    assert float(lost) == pytest.approx(0.3, abs=0.03)
    network.eval().dropout = 0.3
    assert torch.equal(network(batch.x, batch.edge_index), network(batch.x, batch.edge_index))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_backbone_keeps_its_promises(backbone: str) -> None:
    batch = tiny.whole(tiny.ragged())
    network = NetworkSpec(backbone, 4, 0, {"hidden_channels": 12}).network()
    assert isinstance(network, Backbone)
    first, *others = inspect.signature(BACKBONES[backbone]).parameters.values()
    assert first.name == DATA_SIDE[0]
    assert all(setting.default is not setting.empty for setting in others)
    assert network.out_channels == 12
    assert network(batch.x, batch.edge_index).shape == (batch.num_nodes, 12)
    assert network.make_head(5)(torch.randn(3, 12)).shape == (3, 5)
    assert network.readout in ("sum", "mean", "max")


def test_an_unknown_aggregator_is_named() -> None:
    with pytest.raises(ValueError, match="aggregators must differ, got sum, std, sum"):
        PNA(4, 16, aggregators=("sum", "std", "sum"))
    with pytest.raises(ValueError, match=r"unknown aggregator 'men'.*'mean'"):
        PNA(4, aggregators=["men"])


@pytest.mark.parametrize("backbone", ["gin", "pna"])
def test_missing_edge_features_are_named(backbone: str) -> None:
    batch = tiny.whole(tiny.ragged())
    network = NetworkSpec(backbone, 4, 1, {"hidden_channels": 8}).network()
    with pytest.raises(ValueError, match="made for edge features, but these graphs have no"):
        network(batch.x, batch.edge_index)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_categories_are_embedded(backbone: str) -> None:
    batch = tiny.whole(tiny.ragged())
    network = NetworkSpec(backbone, (5, 3), 0, {"hidden_channels": 8}).network().eval()
    x = torch.stack([torch.arange(batch.num_nodes) % 5, torch.arange(batch.num_nodes) % 3], 1)
    assert network(x, batch.edge_index).shape == (batch.num_nodes, 8)


def test_encoders() -> None:
    encoder = make_encoder((5, 3), 4)
    assert isinstance(encoder, CategoryEncoder)
    rows = torch.tensor([[4, 0], [1, 2]])
    first, second = (table.weight for table in encoder.tables)
    torch.testing.assert_close(
        encoder(rows), torch.stack([first[4] + second[0], first[1] + second[2]])
    )
    with pytest.raises(ValueError, match="expected 2 integer columns, got 3"):
        encoder(torch.zeros(2, 3, dtype=torch.long))
    numbers = make_encoder(3, 4)
    assert isinstance(numbers, NumberEncoder)
    counts = torch.tensor([[1, 0, 2]])
    torch.testing.assert_close(
        numbers(counts), F.linear(counts.float(), numbers.weight, numbers.bias)
    )
    with pytest.raises(ValueError, match="expected 3 features in a row, got 2"):
        numbers(torch.zeros(1, 2))


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_batch_norm(rows: int) -> None:
    def normed(x: Tensor, module: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
        return module(x), module.running_mean.clone()  # type: ignore[union-attr]

    x = torch.randn(rows, 3)
    ours, plain = BatchNorm(3), nn.BatchNorm1d(3)
    if rows > 1:
        for found, expected in zip(normed(x, ours), normed(x, plain), strict=True):
            assert torch.equal(found, expected)
    else:  # torch refuses one row, and spoils its statistics by none
        found, mean = normed(x, ours)
        torch.testing.assert_close(found, plain.eval()(x))
        assert bool((mean == 0).all())
    assert torch.equal(ours.eval()(x), plain.eval()(x))
    assert ours.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize("backbone", sorted(BACKBONES))
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layers": 0}, "num_layers must be 1 or more, got 0"),
        ({"hidden_channels": -8}, "hidden_channels must be 1 or more, got -8"),
        ({"dropout": math.nan}, "dropout must lie between 0 and below 1, got nan"),
    ],
)
def test_settings_out_of_range_are_refused(
    backbone: str, options: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        NetworkSpec(backbone, 4, 0, options)
