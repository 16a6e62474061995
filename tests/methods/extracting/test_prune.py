"""PrunE: its two penalties, the sampled choice, and the epochs before it prunes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.batch import Batch
from gsina.methods import build_method, task_loss
from gsina.methods.extracting.prune import PrunE, PrunEConfig, size_loss
from gsina.models.plan import first_epoch
from gsina.nn.predictor import NetworkSpec
from gsina.ops.alignment import alignment_loss
from gsina.ops.groups import Groups

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16, "dropout": 0.0})


def make(**options: Any) -> PrunE:
    torch.manual_seed(0)
    method = build_method("prune", SPEC, tiny.CLASSES, {"pretraining": 0} | options)
    assert isinstance(method, PrunE)
    return method


def train(method: PrunE, batch: Batch, steps: int) -> None:
    optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
    for _ in range(steps):
        method.train().step(batch, optimiser)


def test_size_loss_by_hand() -> None:
    groups = Groups(torch.tensor([0, 0, 2]), 3, 3)
    found = size_loss(torch.tensor([1.0, 0.0, 1.0]), groups, 0.8)
    torch.testing.assert_close(found, torch.tensor((0.3**2 + 0 + 0.2**2) / 3))


def test_alignment_of_the_lowest_share() -> None:
    """Of four chances the lowest two or three are compared with 1/4."""
    chances, groups = torch.tensor([0.9, 0.05, 0.5, 0.35]), Groups.single(4)
    half = alignment_loss(chances, groups)
    torch.testing.assert_close(half, torch.tensor([(0.2 + 0.1) / 2]))
    most = alignment_loss(chances, groups, lowest=0.75)
    torch.testing.assert_close(most, torch.tensor([(0.2 + 0.1 + 0.25) / 3]))


def test_training_draws_edges_and_evaluation_has_their_chances() -> None:
    batch = tiny.whole(tiny.ragged(undirected=True))
    method = make()
    drawn = method.train()(batch).attention.edge
    assert set(drawn.detach().unique().tolist()) == {0.0, 1.0}
    assert torch.equal(drawn, drawn[batch.reverse])
    calm = method.eval()(batch).attention
    torch.testing.assert_close(calm.edge, calm.scores.sigmoid())


def test_the_size_constraint_decides_how_much_is_pruned() -> None:
    """The penalty falls, and the share of edges that stay follows eta."""
    batch = tiny.whole(tiny.motifs(4))
    shares = []
    for size in (0.3, 0.85):
        method = make(size=size, size_penalty=40.0)
        before = method.train().loss(batch)["size"].item()
        train(method, batch, 60)
        assert method.train().loss(batch)["size"].item() < before / 2
        shares.append(float(method.eval()(batch).attention.edge.mean()))
    assert shares[0] == pytest.approx(0.3, abs=0.12)
    assert shares[1] == pytest.approx(0.85, abs=0.12)


def test_the_alignment_presses_the_lowest_chances_down() -> None:
    batch = tiny.whole(tiny.motifs(4))
    found = []
    for alignment in (0.0, 100.0):
        method = make(alignment=alignment, lowest=0.5, size_penalty=0.0)
        train(method, batch, 40)
        chances = method.eval()(batch).attention.edge
        found.append(float(alignment_loss(chances, batch.edge_groups, batch.reverse).mean()))
    assert found[1] < found[0] / 2


def test_pretraining_is_plain() -> None:
    batch = tiny.whole(tiny.motifs(2))
    method = make(pretraining=2).train()
    terms = method.loss(batch, 1)
    assert set(terms) == {"prediction"}
    torch.testing.assert_close(
        terms["prediction"], task_loss(method.predictor(batch), batch, tiny.CLASSES)
    )
    assert set(method.loss(batch, 2)) == {"prediction", "size", "alignment"}
    assert first_epoch("prune", {"pretraining": 2}) == 2


def test_settings() -> None:
    with pytest.raises(ValueError, match="lowest must lie between 0 and 1"):
        PrunEConfig(lowest=1.0)
    with pytest.raises(ValueError, match="selector_layers must be 1 or more"):
        PrunEConfig(selector_layers=0)
