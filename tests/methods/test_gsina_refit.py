"""The second stage of GSINA: a frozen extractor, hard subgraphs, a fresh predictor."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import tiny
from gsina.methods import GSINA, GSINAConfig
from gsina.models.plan import first_epoch
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16})


def make(**settings: Any) -> GSINA:
    torch.manual_seed(0)
    return GSINA.build(SPEC, tiny.CLASSES, GSINAConfig(**settings))


def train(model: GSINA, epochs: range) -> None:
    graphs = tiny.motifs(3)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for epoch in epochs:
        model.train()
        model.prepare(graphs, epoch)
        model.step(tiny.whole(graphs), optimiser, epoch)


def test_the_predictor_starts_again_and_the_extractor_stays() -> None:
    model = make(ratio=0.3, refit_epoch=2)
    first = copy.deepcopy(model.predictor.state_dict())
    train(model, range(2))
    extractor = copy.deepcopy([*model.extractor.state_dict().values()])
    scorer = copy.deepcopy([*model.attention.state_dict().values()])
    model.prepare(tiny.motifs(3), 2)
    for name, value in model.predictor.state_dict().items():
        torch.testing.assert_close(value, first[name])
    train(model, range(2, 4))
    now = [*model.extractor.state_dict().values()], [*model.attention.state_dict().values()]
    for old, new in zip((*extractor, *scorer), (*now[0], *now[1]), strict=True):
        torch.testing.assert_close(old, new, rtol=0, atol=0)
    moved = model.predictor.state_dict()
    assert any(not torch.equal(value, first[name]) for name, value in moved.items())


@pytest.mark.parametrize("budget", [{"ratio": 0.3}, {"budget": 5}])
def test_the_subgraph_is_hard_from_then_on(budget: dict[str, float]) -> None:
    model, batch = make(refit_epoch=1, **budget), tiny.whole(tiny.motifs(3))
    train(model, range(1))
    model.eval()
    soft = model(batch).attention.edge
    assert ((soft > 0) & (soft < 1)).any()
    train(model, range(1, 2))
    for mode in (True, False):  # no noise in training either
        attention = model.train(mode)(batch).attention
        assert set(attention.edge.unique().tolist()) == {0.0, 1.0}
        kept = batch.edge_groups.sum(attention.edge)
        sizes = batch.edge_groups.sum(torch.ones(batch.num_edges))
        right = sizes.clamp(max=5) if "budget" in budget else (0.3 * sizes - 1e-6).ceil()
        torch.testing.assert_close(kept, right)
        touched = batch.edge_index[:, attention.edge > 0].unique()
        assert attention.node.nonzero().view(-1).tolist() == touched.tolist()


def test_it_travels_with_the_weights() -> None:
    model, batch = make(refit_epoch=1), tiny.whole(tiny.motifs(3))
    train(model, range(2))
    other = make(refit_epoch=1)
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other.eval()(batch).logits, model.eval()(batch).logits)
    assert "refitted" not in make().state_dict()


def test_only_later_epochs_are_selected() -> None:
    assert first_epoch("gsina", {"refit_epoch": 20}) == 20
    assert first_epoch("gsina", {}) == 0
    with pytest.raises(ValueError, match="refit_epoch must be 1 or more"):
        GSINAConfig(refit_epoch=0)
