"""The optional losses of GSINA: connectivity, and alignment of the lowest weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.batch import Batch
from gsina.methods.gsina import GSINA, GSINAConfig
from gsina.nn.predictor import NetworkSpec
from gsina.ops.alignment import alignment_loss
from gsina.ops.connectivity import edge_connectivity_loss
from gsina.ops.groups import Groups


def model(**options: Any) -> GSINA:
    torch.manual_seed(0)
    spec = NetworkSpec("gin", tiny.FEATURES, 1)
    return GSINA.build(spec, tiny.CLASSES, GSINAConfig(**options))


def apart(gsina: GSINA, batch: Batch) -> torch.Tensor:
    nodes = Groups(batch.node_graph, batch.num_graphs, batch.num_nodes)
    edge = gsina.extract(batch).edge
    return edge_connectivity_loss(edge, batch.edge_index, nodes, batch.reverse).mean()


@pytest.mark.parametrize("undirected", [False, True])
def test_is_off_by_default_and_adds_one_term(undirected: bool) -> None:
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    plain = model().eval().loss(batch)
    assert plain.keys() == {"prediction"}
    gsina = model(connectivity=0.7).eval()
    terms = gsina.loss(batch)
    assert terms.keys() == {"prediction", "connectivity"}
    torch.testing.assert_close(terms["prediction"], plain["prediction"])
    torch.testing.assert_close(terms["connectivity"], 0.7 * apart(gsina, batch))


def test_gathers_the_subgraph() -> None:
    batch = tiny.whole(tiny.motifs(4))
    found = {}
    for connectivity in (0.0, 10.0):
        gsina = model(connectivity=connectivity, ratio=0.3)
        optimiser = torch.optim.Adam(gsina.parameters(), 1e-2)
        for _ in range(60):
            gsina.step(batch, optimiser)
        gsina.eval()
        found[connectivity] = float(apart(gsina, batch).detach())
        assert float(gsina.extract(batch).edge.detach().mean()) == pytest.approx(0.3, abs=1e-5)
    assert found[10.0] < found[0.0] - 0.05


def test_refuses_a_negative_coefficient() -> None:
    with pytest.raises(ValueError, match=r"connectivity must be 0 or more, got -1.0"):
        GSINAConfig(connectivity=-1.0)


def test_alignment_adds_one_term() -> None:
    batch = tiny.whole(tiny.ragged())
    gsina = model(alignment=0.5).eval()
    terms = gsina.loss(batch)
    assert terms.keys() == {"prediction", "alignment"}
    right = alignment_loss(gsina.extract(batch).edge, batch.edge_groups).mean()
    torch.testing.assert_close(terms["alignment"], 0.5 * right)
