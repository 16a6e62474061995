"""Where GSINA ends up: at ERM for r = 1, at hard selection for tau -> 0, at r for tau -> inf."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import models

import tiny
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import ERM, GSINA
from gsina.nn.attention import Attention
from gsina.nn.backbones import BACKBONES, GPRGNN, OGBGCN, PNA
from gsina.nn.predictor import NetworkSpec, Predictor

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")

SMALL = {"hidden_channels": 16}


def networks(backbone: str = "gin", readout: str | None = None) -> tuple[Any, Predictor]:
    """An extractor and a predictor that have seen some data, so that batch norm is not trivial."""
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, SMALL)
    extractor, predictor = spec.network(), spec.predictor(Task("multiclass", 3))
    predictor.readout = readout or predictor.readout
    batch = tiny.whole(tiny.motifs(3))
    for _ in range(3):
        Predictor(extractor)(batch)
        predictor(batch)
    return extractor, predictor


def same_output(extractor: Any, predictor: Predictor, graphs: PackedGraphs, **options: Any) -> None:
    gsina = GSINA(extractor, predictor, tiny.CLASSES, ratio=1.0, **options).eval()
    erm = ERM(predictor, tiny.CLASSES).eval()
    batch = tiny.whole(graphs)
    # Sums of normalised messages are made in another order with weights: the same but rounded.
    rounded = isinstance(predictor.network, OGBGCN | GPRGNN)
    summed = {"rtol": 1e-5, "atol": 1e-6} if rounded else {"rtol": 0, "atol": 0}
    with torch.no_grad():
        torch.testing.assert_close(gsina(batch).logits, erm(batch).logits, **summed)
    # PNA leaves out weights that are 1, unless their gradient is asked for: rounded, too.
    exact = {} if isinstance(predictor.network, PNA) else summed
    torch.testing.assert_close(gsina(batch).logits, erm(batch).logits, **exact)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_ratio_one_is_erm(backbone: str, readout: str, undirected: bool) -> None:
    """Exactly, with isolated nodes, edgeless graphs and graphs of one edge or node."""
    same_output(*networks(backbone, readout), tiny.ragged(undirected=undirected))


@pytest.mark.parametrize(
    "options",
    [
        {"scope": "batch"},
        {"node": "mean"},
        {"node": "none"},
        {"scorer": "plain"},
        {"solver": "sinkhorn"},
        {"temperature": 0.01},
    ],
    ids=str,
)
def test_ratio_one_is_erm_whatever_else_is_set(options: dict[str, Any]) -> None:
    same_output(*networks(), tiny.ragged(), **options)


@pytest.mark.parametrize("model", [models.GCN, models.GIN, models.GraphSAGE, models.GAT])
def test_ratio_one_is_erm_for_pyg_networks(model: Any) -> None:
    """Also where a layer adds self-loops."""
    predictor = Predictor(model(tiny.FEATURES, 8, 2), nn.Linear(8, 3), "mean")
    same_output(model(tiny.FEATURES, 8, 2), predictor, tiny.ragged())


def test_ratio_one_is_erm_in_training_too() -> None:
    extractor, predictor = networks()
    extractor.dropout = predictor.network.dropout = 0.0  # the extractor's masks would shift theirs
    batch = tiny.whole(tiny.ragged())
    gsina = GSINA(extractor, predictor, tiny.CLASSES, ratio=1.0).train()
    ours = torch.autograd.grad(sum(gsina.loss(batch).values()), list(predictor.parameters()))
    erm = ERM(predictor, tiny.CLASSES).train()
    theirs = torch.autograd.grad(sum(erm.loss(batch).values()), list(predictor.parameters()))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


def logits_for(predictor: Predictor, edge: Tensor, node: Tensor) -> Tensor:
    batch = tiny.whole(tiny.ragged())
    return predictor.eval()(batch, Attention(edge, node))


def test_hot_gsina_predicts_from_constant_weights() -> None:
    extractor, predictor = networks()
    batch = tiny.whole(tiny.ragged())
    gsina = GSINA(extractor, predictor, tiny.CLASSES, ratio=0.3, temperature=1e7).eval()
    edge, node = torch.full((batch.num_edges,), 0.3), torch.full((batch.num_nodes,), 0.3)
    expected = logits_for(predictor, edge, node)
    torch.testing.assert_close(gsina(batch).logits, expected, atol=1e-4, rtol=1e-4)


def test_cold_gsina_predicts_from_the_best_edges() -> None:
    """The messages of edges that were not selected are gone: removing the edges changes nothing."""
    torch.manual_seed(0)
    extractor, predictor = networks("gin", "sum")
    graphs = PackedGraphs.from_pyg([tiny.cycle(8), tiny.cycle(12), tiny.cycle(20)])
    batch = tiny.whole(graphs)
    gsina = GSINA(extractor, predictor, tiny.CLASSES, ratio=0.5, temperature=1e-5).eval()
    output = gsina(batch)
    assert output.attention is not None
    edge, node = output.attention.edge, output.attention.node
    assert node is not None
    kept = edge > 0.5
    torch.testing.assert_close(edge, kept.float(), atol=1e-4, rtol=0)
    assert torch.bincount(batch.edge_graph[kept]).tolist() == [4, 6, 10]
    assert batch.edge_attr is not None
    thinned = replace(
        batch,
        edge_index=batch.edge_index[:, kept],
        edge_graph=batch.edge_graph[kept],
        edge_attr=batch.edge_attr[kept],
        edge_truth=None,
    )
    expected = predictor(thinned, Attention(torch.ones(20), node))
    torch.testing.assert_close(output.logits, expected, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_predictions_do_not_depend_on_the_batch(backbone: str) -> None:
    extractor, predictor = networks(backbone)
    gsina = GSINA(extractor, predictor, tiny.CLASSES, ratio=0.4).eval()
    graphs = tiny.ragged()
    together = gsina(tiny.whole(graphs)).logits
    for graph in range(len(graphs)):
        alone = gsina(graphs.batch([graph])).logits[0]
        torch.testing.assert_close(alone, together[graph], atol=2e-5, rtol=2e-5)
    double = gsina.double()
    wide = replace(graphs, x=graphs.x.double())
    together = double(tiny.whole(wide)).logits
    for graph in range(len(graphs)):
        alone = double(wide.batch([graph])).logits[0]
        torch.testing.assert_close(alone, together[graph], atol=1e-10, rtol=1e-10)


def test_scope_batch_depends_on_the_batch() -> None:
    extractor, predictor = networks()
    gsina = GSINA(extractor, predictor, tiny.CLASSES, ratio=0.4, scope="batch").eval()
    assert not gsina.batch_invariant
    graphs = tiny.ragged()
    together, alone = gsina(tiny.whole(graphs)).logits[0], gsina(graphs.batch([0])).logits[0]
    assert not torch.allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions(dtype: torch.dtype) -> None:
    extractor, predictor = networks()
    gsina = GSINA(extractor, predictor, tiny.CLASSES).to(dtype)
    batch = tiny.whole(tiny.ragged())
    output = gsina(batch)
    assert output.logits.dtype == dtype
    sum(gsina.loss(batch).values()).backward()  # type: ignore[union-attr]
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in gsina.parameters())
