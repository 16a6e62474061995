"""GALA: the assistant decides which pairs are contrasted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import tiny
from gsina.methods import build_method
from gsina.methods.extracting.gala import GALA, GALAConfig, cluster
from gsina.methods.parts.contrast import contrastive_loss
from gsina.methods.parts.reference import predictions, reference_logits, reference_states
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def make(**options: Any) -> GALA:
    torch.manual_seed(0)
    method = build_method("gala", SPEC, tiny.CLASSES, {"reference_epochs": 2} | options)
    assert isinstance(method, GALA)
    return method


def test_the_assistant_decides_on_the_pairs() -> None:
    """One class in two of its groups: positives; two classes in one of its groups: negatives."""
    graphs = replace(tiny.ragged(), y=torch.tensor([0, 0, 1, 1, 0, -1, 1]))
    batch = tiny.whole(replace(graphs, environment=torch.tensor([0, 1, 0, 1, 0, 0, 1])))
    positive, negative = make()._pairs(batch)
    group, y = [0, 1, 0, 1, 0, 0, 1], [0, 0, 1, 1, 0, -1, 1]
    for i in range(7):
        for j in range(7):
            known = -1 not in (y[i], y[j])
            assert bool(positive[i, j]) is (known and y[i] == y[j] and group[i] != group[j])
            assert bool(negative[i, j]) is (known and y[i] != y[j] and group[i] == group[j])


def test_other_groups_are_another_loss() -> None:
    graphs, method = tiny.motifs(4), make(contrast=2.0).eval()
    found = []
    for environment in (torch.arange(12) % 2, torch.arange(12) % 3):
        batch = tiny.whole(replace(graphs, environment=environment))
        states = method._represent(batch)[0]
        terms = method.loss(batch)
        expected = 2 * contrastive_loss(states, *method._pairs(batch))
        torch.testing.assert_close(terms["contrast"], expected)
        found.append(terms["contrast"].item())
    assert found[0] != pytest.approx(found[1])


def test_groups_are_what_the_assistant_predicts_or_clusters_of_its_states() -> None:
    graphs = tiny.motifs(4)
    method = make(clusters=1)
    prepared = method.prepare(graphs, 0)
    predicted = predictions(reference_logits(method.reference, graphs, 5), tiny.CLASSES)
    assert prepared.environment.tolist() == predicted.tolist()

    method = make(clusters=3)
    prepared = method.prepare(graphs, 0)
    expected = cluster(reference_states(method.reference, graphs), 3, int(method.seed))
    assert prepared.environment.tolist() == expected.tolist()
    assert len(set(expected.tolist())) == 3
    again = method.prepare(graphs, 5)
    assert again.environment.tolist() == expected.tolist()


def test_clusters_of_directions() -> None:
    """Length does not count, and equal states are not divided."""
    states = torch.tensor([[1.0, 0.0], [9.0, 0.1], [0.0, 2.0], [0.1, 30.0]])
    found = cluster(states, 2, seed=0).tolist()
    assert found[0] == found[1] != found[2] == found[3]
    assert cluster(torch.ones(3, 2), 2, seed=0).tolist() == [0, 0, 0]


def test_the_assistant_learns_only_before_the_first_epoch() -> None:
    graphs, method = tiny.motifs(2), make()
    before = [value.clone() for value in method.reference.parameters()]
    batch = tiny.whole(method.prepare(graphs, 0))
    taught = [value.clone() for value in method.reference.parameters()]
    assert not all(torch.equal(a, b) for a, b in zip(before, taught, strict=True))
    method.train().step(batch, torch.optim.Adam(method.parameters(), lr=0.01))
    after = method.reference.parameters()
    assert all(torch.equal(a, b) for a, b in zip(taught, after, strict=True))


def test_all_edges_are_weighted_unless_a_ratio_cuts() -> None:
    batch = tiny.whole(tiny.ragged())
    soft, hard, most = make().eval(), make(ratio=0.3).eval(), make(ratio=1.0).eval()
    assert not soft.keeps_top_share
    assert hard.keeps_top_share
    weights = soft(batch).attention.edge
    torch.testing.assert_close(
        soft(batch).logits, soft.predictor.logits(soft.predictor.represent(batch, weights))
    )
    assert not torch.allclose(hard(batch).logits, soft(batch).logits)
    whole = [0, 2, 6]  # graphs without isolated nodes: these are in no part
    torch.testing.assert_close(most(batch).logits[whole], soft(batch).logits[whole])


def test_settings() -> None:
    with pytest.raises(ValueError, match=r"ratio must lie in \(0, 1\], got 0"):
        GALAConfig(ratio=0.0)
    with pytest.raises(ValueError, match="clusters must be 1 or more"):
        GALAConfig(clusters=0)
