"""The reconstruction of SuGAr: its sampler, its similarity, its aggregation, its name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import tiny
from gsina.methods import METHODS
from gsina.methods.extracting.sugar import SuGAr, SuGArConfig, keep_edges, sample_edges, similarity
from gsina.nn.predictor import NetworkSpec
from gsina.ops.edges import reverse_edges

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def model(**options: Any) -> SuGAr:
    torch.manual_seed(0)
    return SuGAr.build(SPEC, tiny.CLASSES, SuGArConfig(**options))


def test_says_that_it_is_a_reconstruction() -> None:
    entry = METHODS["sugar"]
    assert "reconstruction" in entry.label
    assert "reconstruction" in entry.note
    assert "reconstruction" in (SuGAr.__doc__ or "")


@pytest.mark.parametrize("undirected", [False, True])
def test_sampler_drops_edges_and_keeps_nodes(undirected: bool) -> None:
    torch.manual_seed(0)
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    seen = sample_edges(batch, 0.5)
    assert 0.2 < float(seen.float().mean()) < 0.8
    part = keep_edges(batch, seen)
    assert torch.equal(part.edge_index, batch.edge_index[:, seen])
    assert torch.equal(part.x, batch.x)
    if undirected:
        assert batch.reverse is not None
        assert torch.equal(seen, seen[batch.reverse])
        expected = reverse_edges(part.edge_index, part.num_nodes)
        assert part.reverse is not None
        assert expected is not None
        assert torch.equal(part.reverse, expected)
    assert keep_edges(batch, sample_edges(batch, 0.0)) is batch


def test_similarity_is_the_mean_cosine_of_the_graphs() -> None:
    torch.manual_seed(0)
    batch = tiny.whole(tiny.ragged())
    one = torch.rand(batch.num_edges, requires_grad=True)
    other, edges = torch.rand(batch.num_edges), torch.rand(batch.num_edges) < 0.6
    cosines = []
    for graph in range(7):
        mine = edges & (batch.edge_graph == graph)
        if mine.any():
            cosines.append(F.cosine_similarity(one[mine], other[mine], dim=0))
    found = similarity(one, other, edges, batch)
    torch.testing.assert_close(found, torch.stack(cosines).mean())
    found.backward()
    assert one.grad is not None
    assert one.grad.isfinite().all()
    assert float(similarity(one, other, torch.zeros_like(edges), batch).detach()) == 0


@pytest.mark.parametrize("size", [1e-12, 1e-25, 0.0])
def test_similarity_of_small_weights(size: float) -> None:
    """Members that agree on no edge of a graph drive its weights down, far below 1e-20."""
    torch.manual_seed(0)
    batch = tiny.whole(tiny.ragged())
    one, other = torch.rand(2, batch.num_edges)
    every = torch.ones(batch.num_edges, dtype=torch.bool)
    small = (size * one).requires_grad_()
    found = similarity(small, other, every, batch)
    found.backward()
    assert small.grad is not None
    assert small.grad.isfinite().all()
    expected = similarity(one, other, every, batch) if size else torch.zeros(())
    torch.testing.assert_close(found.detach(), expected)


def test_predicts_from_the_mean_of_the_states() -> None:
    sugar = model().eval()
    batch = tiny.whole(tiny.motifs(2))
    output = sugar(batch)
    states, scores = zip(*(member(batch) for member in sugar.members), strict=True)
    torch.testing.assert_close(output.logits, sugar.head(torch.stack(states).mean(0)))
    expected = torch.stack([score.sigmoid() for score in scores]).mean(0)
    torch.testing.assert_close(output.attention.edge, expected)


def test_loss_written_out() -> None:
    sugar = model(diversity=2.0, contrast=0.0).eval()
    batch = tiny.whole(tiny.motifs(2))
    terms = sugar.loss(batch)
    states, scores = zip(*(member(batch) for member in sugar.members), strict=True)
    risks = [F.cross_entropy(sugar.head(state), batch.labels) for state in states]
    a, b, c = (score.sigmoid() for score in scores)
    every = torch.ones(batch.num_edges, dtype=torch.bool)
    alike = similarity(b, a, every, batch) + (
        (similarity(c, a, every, batch) + similarity(c, b, every, batch)) / 2
    )
    torch.testing.assert_close(terms["prediction"], torch.stack(risks).mean())
    torch.testing.assert_close(terms["diversity"], 2 * alike / 3)
    assert float(terms["contrast"].detach()) == 0


def test_the_first_member_is_not_pushed_by_the_later_ones() -> None:
    sugar = model(members=2, drop=0.0)
    loss = sugar.loss(tiny.whole(tiny.motifs(2)))["diversity"]
    for member, pushed in zip(sugar.members, (False, True), strict=True):
        found = torch.autograd.grad(
            loss, list(member.parameters()), retain_graph=True, allow_unused=True
        )
        assert any(grad is not None for grad in found) == pushed


def test_one_member_has_nobody_to_differ_from() -> None:
    loss = model(members=1).loss(tiny.whole(tiny.motifs(2)))
    assert float(loss["diversity"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": 0}, "members must be 1 or more, got 0"),
        ({"drop": 1.0}, r"drop must lie in \[0, 1\), got 1.0"),
        ({"ratio": 0.0}, r"ratio must lie in \(0, 1\], got 0.0"),
        ({"diversity": -1.0}, "diversity must be 0 or more, got -1.0"),
        ({"temperature": 0.0}, "temperature must be above 0, got 0.0"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SuGArConfig(**options)
