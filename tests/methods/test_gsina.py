"""`GSINA(extractor, predictor)`: any two PyG networks, at graph and at node level."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, Sequential, models

import tiny
from gsina import GSINA
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import GSINAConfig, build_method
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.ops.budget import Budget

IN, WIDE = tiny.FEATURES, 8


def pna(out: int | None = None) -> nn.Module:
    options: dict[str, Any] = {"aggregators": ["mean", "max"], "scalers": ["identity"]}
    return models.PNA(IN, WIDE, 2, out, deg=torch.ones(8, dtype=torch.long), **options)


NETWORKS: dict[str, Any] = {
    "GCN": lambda out=None: models.GCN(IN, WIDE, 2, out),
    "GIN": lambda out=None: models.GIN(IN, WIDE, 2, out),
    "GraphSAGE": lambda out=None: models.GraphSAGE(IN, WIDE, 2, out),
    "GAT": lambda out=None: models.GAT(IN, WIDE, 2, out, heads=2),
    "GATv2": lambda out=None: models.GAT(IN, WIDE, 2, out, v2=True),
    "EdgeCNN": lambda out=None: models.EdgeCNN(IN, WIDE, 2, out),
    "PNA": pna,
    "Sequential": lambda out=None: sequential(out or WIDE),
}


def sequential(out: int) -> nn.Module:
    layers = [(GCNConv(IN, WIDE), "x, edge_index -> x"), nn.ReLU()]
    return Sequential("x, edge_index", [*layers, (GATConv(WIDE, out), "x, edge_index -> x")])


def learns(model: GSINA, batch: Batch, steps: int = 20) -> None:
    """The loss goes down, and both networks and the attention take part."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = [float(model.step(batch, optimiser)["prediction"]) for _ in range(steps)]
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
    for part in (model.extractor, model.attention, model.predictor):
        assert any(p.grad is not None and bool(p.grad.any()) for p in part.parameters())


@pytest.mark.parametrize("predictor", NETWORKS)
def test_two_networks_at_graph_level(predictor: str) -> None:
    torch.manual_seed(0)
    extractor = "Sequential" if predictor == "GCN" else "GCN"
    head = Predictor(NETWORKS[predictor](), nn.Linear(WIDE, 3), "mean")
    model = GSINA(NETWORKS[extractor](), head, tiny.CLASSES, channels=WIDE, ratio=0.5)
    batch = tiny.whole(tiny.motifs(4))
    assert model(batch).logits.shape == (12, 3)
    learns(model, batch)


def one_graph() -> Data:
    torch.manual_seed(0)
    edge_index = torch.randint(0, 40, (2, 120))
    y = torch.randint(0, 3, (40,))
    x = torch.randn(40, IN) + torch.eye(3, IN)[y]
    return Data(x=x, edge_index=edge_index, y=y, train_mask=torch.rand(40) < 0.7)


@pytest.mark.parametrize("network", NETWORKS)
def test_two_networks_at_node_level(network: str) -> None:
    batch = Batch.from_pyg(one_graph())
    torch.manual_seed(0)
    model = GSINA(NETWORKS[network](), NETWORKS[network](3), tiny.CLASSES, channels=WIDE)
    output = model(batch)
    assert output.logits.shape == (40, 3)
    assert output.attention.edge.mean().item() == pytest.approx(0.5, abs=1e-6)
    learns(model, batch)


def test_nodes_outside_the_mask_do_not_count() -> None:
    data = one_graph()
    model = GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), tiny.CLASSES).eval()
    before = model.loss(Batch.from_pyg(data))["prediction"]
    data.y = torch.where(data.train_mask, data.y, (data.y + 1) % 3)
    assert torch.equal(before, model.loss(Batch.from_pyg(data))["prediction"])


def test_no_task_is_needed_to_predict() -> None:
    model = GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), ratio=0.2)
    batch = Batch.from_pyg(one_graph())
    assert model.extract(batch).edge.mean().item() == pytest.approx(0.2, abs=1e-6)
    with pytest.raises(ValueError, match="made without a task"):
        model.loss(batch)


def test_what_the_predictor_sees() -> None:
    """Only attention comes from the extractor, unless it predicts from the embedding."""
    spec = NetworkSpec("gin", IN, 1, {"hidden_channels": 16})
    batch = tiny.whole(tiny.ragged())
    for source in ("raw", "embedding"):
        torch.manual_seed(0)
        config = GSINAConfig(predict_from=source)  # type: ignore[arg-type]
        model = GSINA.build(spec, tiny.CLASSES, config).eval()
        states, attention, _ = model._attend(batch)
        seen: list[Tensor] = []
        model.predictor.network.register_forward_pre_hook(
            lambda _, args, seen=seen: seen.append(args[0])
        )
        output = model(batch)
        torch.testing.assert_close(output.attention.edge, attention.edge)
        assert torch.equal(seen[0], batch.x if source == "raw" else states)


def test_defaults_are_the_papers() -> None:
    config = GSINAConfig()
    assert (config.temperature, config.noise, config.iterations) == (1.0, 1.0, 10)
    assert (config.node, config.scorer, config.predict_from) == ("auto", "normed", "raw")


def test_settings_by_name_reach_the_attention() -> None:
    base = GSINAConfig(ratio=0.2, noise=0.5)
    model = GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), config=base, temperature=2.0, node="mean")
    attention = model.attention
    assert (attention.budget, attention.noise) == (Budget(share=0.2), 0.5)
    assert (attention.temperature, attention.node) == (2.0, "mean")
    counted = GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), config=base, budget=8)
    assert counted.attention.budget == Budget(count=8)


def test_a_scorer_of_the_users() -> None:
    mine = nn.Linear(2 * WIDE, 1)
    model = GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), tiny.CLASSES, scorer=mine)
    model.loss(Batch.from_pyg(one_graph()))["prediction"].backward()
    assert mine.weight.grad is not None


def test_isolated_nodes_and_edgeless_graphs() -> None:
    spec = NetworkSpec("gin", IN, 1, {"hidden_channels": 16})
    model = build_method("gsina", spec, tiny.CLASSES, {"ratio": 0.3}).eval()
    output = model(tiny.ragged().batch([1, 4]))
    assert output.attention is not None
    assert output.attention.node is not None
    assert output.attention.node[[0, 1, 2, -1, -2, -3]].tolist() == pytest.approx([0.3] * 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0}, r"ratio must lie in \(0, 1\], got 0"),
        ({"budget": 0}, "budget must be a number of edges above 0, got 0"),
        ({"temperature": -1.0}, "temperature must be above 0"),
        ({"predict_from": "embeding"}, "did you mean 'embedding'"),
        ({"scope": "micro"}, "unknown scope 'micro'"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), **options)


def test_an_extractor_of_unknown_width() -> None:
    with pytest.raises(ValueError, match="no integer `out_channels`; pass channels="):
        GSINA(sequential(WIDE), NETWORKS["GCN"](3))


def test_a_bare_network_at_graph_level_is_told_to_get_a_readout() -> None:
    model = GSINA(NETWORKS["GCN"](), NETWORKS["GCN"](3), tiny.CLASSES)
    with pytest.raises(ValueError, match=r"needs a readout: Predictor\(network, head, 'sum'\)"):
        model.loss(tiny.whole(tiny.ragged()))


def test_regression_of_several_outputs() -> None:
    task = Task("regression", 2, "rmse")
    model = GSINA(NETWORKS["GCN"](), Predictor(NETWORKS["GCN"](), nn.Linear(WIDE, 2), "sum"), task)
    batch = tiny.whole(tiny.ragged())
    assert model(batch).logits.shape == (batch.num_graphs, 2)


def test_a_misspelt_setting_suggests_the_right_one() -> None:
    network = tiny_network()
    with pytest.raises(ValueError, match="did you mean 'ratio'"):
        GSINA(network, network, rato=0.3)


def tiny_network():
    from torch_geometric.nn.models import GIN

    return GIN(4, 8, 2)
