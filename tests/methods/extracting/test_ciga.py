"""CIGA: the two parts, what is contrasted, and who learns from the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import tiny
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.methods.extracting.ciga import CIGA, CIGAv1Config, CIGAv2Config, hinge
from gsina.methods.parts.contrast import class_contrast
from gsina.nn.predictor import NetworkSpec


def spec(backbone: str = "gin") -> NetworkSpec:
    options: dict[str, Any] = {"hidden_channels": 8}
    if backbone == "gin":
        options["dropout"] = 0.0
    return NetworkSpec(backbone, tiny.FEATURES, 1, options)


def model(version: str = "cigav2", backbone: str = "gin", **options: Any) -> CIGA:
    torch.manual_seed(0)
    method = build_method(version, spec(backbone), tiny.CLASSES, options)
    assert isinstance(method, CIGA)
    return method


@pytest.mark.parametrize("backbone", ["gin", "ogb-gcn", "spmotifnet"])
@pytest.mark.parametrize("predict_from", ["raw", "embedding"])
def test_logits_are_those_of_the_part_cut_out_by_hand(backbone: str, predict_from: str) -> None:
    ciga = model("cigav1", backbone, predict_from=predict_from, ratio=0.4).eval()
    graphs = tiny.ragged()
    batch = tiny.whole(graphs)
    with torch.no_grad():
        logits, attention = ciga(batch)
        assert attention is not None
        assert attention.scores is not None
        torch.testing.assert_close(attention.edge, attention.scores.sigmoid())
        for number in range(len(graphs)):
            one = graphs.batch([number])
            x = ciga.splitter.score(one)[0] if predict_from == "embedding" else one.x
            scores = attention.scores[batch.edge_graph == number]
            best = scores.argsort(descending=True)[: -(-4 * scores.numel() // 10)]
            edges = best.sort().values
            kept = one.edge_index[:, edges].unique()
            assert one.edge_attr is not None
            part = replace(
                one,
                x=x[kept],
                edge_index=torch.searchsorted(kept, one.edge_index[:, edges]),
                edge_attr=one.edge_attr[edges],
                node_graph=one.node_graph[kept],
                edge_graph=one.edge_graph[edges],
                reverse=None,
            )
            h = ciga.predictor.embed(part, scores[edges].sigmoid())
            expected = ciga.predictor.classify(h, part)
            torch.testing.assert_close(logits[number : number + 1], expected, rtol=1e-4, atol=1e-5)


def test_loss_written_out() -> None:
    ciga = model(contrast=2.0, spurious=0.5, temperature=0.7).eval()
    batch = tiny.whole(tiny.motifs(3))
    terms = ciga.loss(batch)
    split = ciga.splitter(batch)
    inner = replace(batch, x=split.states)
    parts = {}
    for name, edges, scores in (
        ("kept", split.kept, split.scores),
        ("rest", ~split.kept, -split.scores),
    ):
        weight = torch.where(edges, scores.sigmoid(), 0.0)
        # Messages of weight 0 are none; but nodes outside the part must not be pooled.
        states = ciga.predictor.embed(inner, weight)
        touched = batch.edge_index[:, edges].unique()
        pooled = torch.zeros(batch.num_graphs, states.size(1))
        parts[name] = pooled.index_add(0, batch.node_graph[touched], states[touched])
    assert ciga.predictor.head is not None
    assert ciga.rest_head is not None
    own = F.cross_entropy(ciga.predictor.head(parts["kept"]), batch.labels, reduction="none")
    rest = F.cross_entropy(ciga.rest_head(parts["rest"]), batch.labels, reduction="none")
    above = rest[rest > own]
    assert 0 < above.numel() < 9
    torch.testing.assert_close(terms["prediction"], own.mean())
    expected = 2 * class_contrast(parts["kept"], batch.labels, tiny.CLASSES, 0.7)
    torch.testing.assert_close(terms["contrast"], expected)
    torch.testing.assert_close(terms["spurious"], 0.5 * above.mean())


def test_version_one_has_no_rest() -> None:
    ciga = model("cigav1")
    assert set(ciga.loss(tiny.whole(tiny.motifs(2)))) == {"prediction", "contrast"}
    assert ciga.rest_head is None
    assert not any("rest" in name for name in ciga.state_dict())


def learns(ciga: CIGA, term: str) -> set[str]:
    """The parts of the model that a term of the loss teaches."""
    named = dict(ciga.named_parameters())
    loss = ciga.loss(tiny.whole(tiny.motifs(4)))[term]
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    return {
        ".".join(name.split(".")[:2]) if "splitter" in name else name.split(".")[0]
        for name, grad in zip(named, found, strict=True)
        if grad is not None and bool(grad.abs().sum() > 0)
    }


def test_the_rest_teaches_the_extractor_unless_detached() -> None:
    live = {"splitter.extractor", "splitter.scorer", "predictor", "rest_head"}
    assert learns(model(), "spurious") == live
    assert learns(model(detach_spurious=True), "spurious") == {"rest_head"}
    own = learns(model(spurious_network="own"), "spurious")
    assert own == {"splitter.extractor", "splitter.scorer", "rest", "rest_head"}


def test_contrast_on_graph_states_teaches_the_scorer() -> None:
    whole = {"splitter.extractor", "splitter.scorer", "predictor"}
    assert learns(model("cigav1"), "contrast") == whole
    assert learns(model("cigav1", contrast_on="nodes"), "contrast") == {"splitter.extractor"}


def test_contrast_is_on_the_nodes_of_the_part() -> None:
    batch = tiny.whole(tiny.motifs(3))
    right = model("cigav1", contrast_on="nodes", contrast=1.0).eval()
    split = right.splitter(batch)
    pooled = torch.stack(
        [
            split.states[
                batch.edge_index[:, split.kept & (batch.edge_graph == graph)].unique()
            ].sum(0)
            for graph in range(batch.num_graphs)
        ]
    )
    expected = class_contrast(pooled, batch.labels, tiny.CLASSES)
    torch.testing.assert_close(right.loss(batch)["contrast"], expected)
    wrong = model("cigav1", contrast_on="misaligned", contrast=1.0).eval()
    assert not torch.isclose(wrong.loss(batch)["contrast"], expected)


def test_the_rest_does_not_enter_the_running_statistics() -> None:
    batch = tiny.whole(tiny.motifs(2))
    one, same = model(), model()
    one(batch)
    same.loss(batch)
    after = dict(same.named_buffers())
    for name, value in one.named_buffers():
        torch.testing.assert_close(value, after[name], msg=name)


def test_both_directions_share_one_fate() -> None:
    batch = tiny.whole(tiny.ragged(undirected=True))
    split = model().splitter(batch)
    assert batch.reverse is not None
    assert torch.equal(split.kept, split.kept[batch.reverse])
    counts = torch.bincount(batch.edge_graph[split.kept], minlength=7).tolist()
    undirected = torch.bincount(batch.edge_graph, minlength=7) // 2
    assert counts == [2 * -(-count // 4) for count in undirected.tolist()]


def test_hinge() -> None:
    losses, bound = torch.tensor([1.0, 2.0, 5.0]), torch.tensor([1.0, 1.0, 4.0])
    assert float(hinge(losses, bound)) == 3.5
    assert float(hinge(bound, losses)) == 0


def test_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match=r"cigav2 cuts a hard top share .* cannot predict labels"):
        build_method("cigav2", spec(), Task("multiclass", 3, level="node"), {})
    with pytest.raises(ValueError, match="by their classes and cannot learn a regression task"):
        build_method("cigav1", spec(), Task("regression", 1, "rmse"), {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.0}, r"ratio must lie in \(0, 1\], got 0.0"),
        ({"contrast": -1.0}, "contrast must be 0 or more, got -1.0"),
        ({"temperature": 0.0}, "temperature must be above 0, got 0.0"),
        ({"contrast_on": "node"}, "did you mean 'nodes'"),
        ({"predict_from": "rw"}, "did you mean 'raw'"),
        ({"spurious": -1.0}, "spurious must be 0 or more, got -1.0"),
        ({"spurious_network": "shard"}, "did you mean 'shared'"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CIGAv2Config(**options)
    assert issubclass(CIGAv2Config, CIGAv1Config)
