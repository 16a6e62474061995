"""GMT: attention in one layer only, or a mean over drawn subgraphs, and the second stage."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.methods import build_method
from gsina.methods.extracting.gmt import GMTLin, GMTSam, GMTSamConfig
from gsina.methods.extracting.gsat import GSAT, GSATConfig, information_loss
from gsina.models.plan import first_epoch
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, embed
from gsina.nn.weighting import weighted_messages
from gsina.ops.hard_top_r import hard_top_r

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def sam(**options: Any) -> GMTSam:
    torch.manual_seed(0)
    method = build_method("gmt-sam", SPEC, tiny.CLASSES, options)
    assert isinstance(method, GMTSam)
    return method


def batch(undirected: bool = False) -> Batch:
    return tiny.whole(tiny.ragged(undirected=undirected))


def test_weights_of_the_first_layer_only() -> None:
    graphs = batch()
    torch.manual_seed(0)
    network = SPEC.network().eval()
    weights = torch.rand(graphs.num_edges)
    found = embed(network, graphs, weights, first_only=True)
    with weighted_messages(network.layers[0], weights, graphs.edge_index):
        expected = embed(network, graphs)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, embed(network, graphs, weights))
    assert not torch.allclose(found, embed(network, graphs))


def test_lin_is_gsat_with_attention_in_one_layer() -> None:
    """The same scores; the same logits where there is one layer, and others where there are two."""
    graphs = batch()
    for layers in (1, 2):
        spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "num_layers": layers})
        torch.manual_seed(0)
        lin = build_method("gmt-lin", spec, tiny.CLASSES, {}).eval()
        torch.manual_seed(0)
        gsat = build_method("gsat", spec, tiny.CLASSES, {}).eval()
        assert isinstance(lin, GMTLin)
        ours, theirs = lin(graphs), gsat(graphs)
        torch.testing.assert_close(ours.attention.edge, theirs.attention.edge)
        assert torch.allclose(ours.logits, theirs.logits, atol=1e-6) is (layers == 1)


def test_the_information_is_that_of_the_chances_without_noise() -> None:
    torch.manual_seed(0)
    lin = build_method("gmt-lin", SPEC, tiny.CLASSES, {"information": 2.0})
    assert isinstance(lin, GMTLin)
    lin.scorer.eval()
    graphs = batch()
    alpha = lin._score(graphs).sigmoid()
    found = lin.loss(graphs, epoch=0)["information"]
    torch.testing.assert_close(found, 2 * information_loss(alpha, 0.9))


def test_sam_averages_the_logits_of_its_draws() -> None:
    graphs, method = batch(undirected=True), sam(draws=3).eval()
    scores = method._score(graphs)
    whole = method._attend(scores.sigmoid(), scores, graphs)
    drawn = [method._draw(number, scores, whole, graphs) for number in range(3)]
    for edge in drawn:
        assert set(edge.detach().unique().tolist()) == {0.0, 1.0}
        assert torch.equal(edge, edge[graphs.reverse])
    assert not torch.equal(drawn[0], drawn[1])
    each = torch.stack([method.predictor(graphs, Attention(edge)) for edge in drawn])
    torch.testing.assert_close(method(graphs).logits, each.mean(0))
    assert not torch.allclose(each[0], each[1])


def test_edges_are_drawn_as_often_as_their_attention_says() -> None:
    graphs, method = batch(undirected=True), sam()
    scores = 2 * torch.randn(graphs.num_edges)
    whole = method._attend(scores.sigmoid(), scores, graphs)
    drawn = [method.eval()._draw(number, scores, whole, graphs) for number in range(2000)]
    torch.testing.assert_close(torch.stack(drawn).mean(0), whole.edge, atol=0.06, rtol=0)


def test_draws_have_the_gradient_of_the_attention() -> None:
    graphs, method = batch(), sam(draws=2)
    method.train().loss(graphs)["prediction"].backward()  # type: ignore[no-untyped-call]
    assert float(method.scorer.last.weight.grad.abs().sum()) > 0


def test_predictions_of_draws_do_not_depend_on_the_batch() -> None:
    graphs, method = tiny.ragged(), sam(draws=4).eval()
    together = method(tiny.whole(graphs)).logits
    for ids in ([0], [5], [6, 2]):
        torch.testing.assert_close(method(graphs.batch(ids)).logits, together[ids])


@pytest.mark.parametrize("warm", [False, True])
def test_second_stage(warm: bool) -> None:
    graphs = tiny.motifs(4)
    everything = tiny.whole(graphs)
    method = sam(draws=2, refit_epoch=1, keep=0.3, warm=warm)
    optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
    before = method(everything).attention
    method.prepare(graphs, 0)
    assert set(method.step(everything, optimiser, 0)) == {"prediction", "information"}
    assert method.last_layer is method.predictor.head
    first = {key: value.clone() for key, value in method.predictor.state_dict().items()}

    method.prepare(graphs, 1)
    second = method.second
    assert second is not None
    assert method.last_layer is second.head
    start = {key: value.clone() for key, value in second.state_dict().items()}
    assert all(torch.equal(start[key], first[key]) for key in first) is warm
    assert set(method.train().step(everything, optimiser, 1)) == {"prediction"}
    method.prepare(graphs, 2)  # goes on, and does not begin again
    assert not torch.equal(start["head.weight"], second.state_dict()["head.weight"])
    assert all(
        torch.equal(value, first[key]) for key, value in method.predictor.state_dict().items()
    )

    output = method.eval()(everything)
    edge = output.attention.edge
    assert not torch.equal(edge, before.edge)
    kept = hard_top_r(edge, 0.3, everything.edge_groups, everything.reverse)
    torch.testing.assert_close(output.logits, second(everything, Attention(edge * kept)))


def test_settings() -> None:
    assert first_epoch("gmt-sam", {"refit_epoch": 30}) == 30
    assert first_epoch("gmt-sam", {}) == GSATConfig().first_eligible_epoch
    with pytest.raises(ValueError, match="draws must be 1 or more, got 0"):
        GMTSamConfig(draws=0)
    with pytest.raises(ValueError, match="refit_epoch must be 1 or more"):
        GMTSamConfig(refit_epoch=0)


def test_node_attention() -> None:
    """As on molecules: nodes are scored, and edges drawn by the products of their ends'."""
    graphs = PackedGraphs.from_batch(batch())
    method = sam(attention="node", draws=2)
    assert isinstance(method, GSAT)
    output = method.eval()(tiny.whole(graphs))
    assert output.attention.node.shape == (tiny.whole(graphs).num_nodes,)
    assert bool(output.logits.isfinite().all())
