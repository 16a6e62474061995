"""CAL: two complementary parts, a shortcut that knows nothing, and shortcuts that change graphs."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.task import Task
from gsina.methods import build_method, task_loss
from gsina.methods.extracting.cal import CAL, ignorance_loss
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16, "dropout": 0.0})


def make(**options: Any) -> CAL:
    torch.manual_seed(0)
    method = build_method("cal", SPEC, tiny.CLASSES, options)
    assert isinstance(method, CAL)
    return method


@pytest.mark.parametrize("task", [tiny.CLASSES, Task("binary", 2, "roc_auc")])
def test_ignorance_is_the_divergence_from_uniform(task: Task) -> None:
    assert float(ignorance_loss(torch.full((4, task.outputs), 0.0), task)) == pytest.approx(0)
    if task.kind == "multiclass":
        chances = torch.tensor([0.7, 0.2, 0.1])
        found = ignorance_loss(chances.log().unsqueeze(0), task)
        expected = sum(math.log((1 / 3) / p) / 3 for p in chances.tolist())
    else:
        chances = torch.tensor([0.9, 0.4])
        found = ignorance_loss(chances.logit().unsqueeze(0), task)
        each = [(math.log(0.5 / p) + math.log(0.5 / (1 - p))) / 2 for p in chances.tolist()]
        expected = sum(each) / 2
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_shortcuts_come_from_other_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third loss is that of causal features with permuted shortcuts; its order is drawn."""
    batch, method = tiny.whole(tiny.ragged()), make(intervention=2.0).eval()
    states, attention = method._attend(batch)
    rest = Attention(1 - attention.edge, 1 - attention.node)
    causal = method._represent(method.predictor, method.causal_norm, batch, states, attention)
    shortcut = method._represent(method.shortcut, method.shortcut_norm, batch, states, rest)
    order = torch.tensor([3, 0, 6, 1, 2, 5, 4])
    monkeypatch.setattr(torch, "rand", lambda *_, **__: order.argsort().double())
    expected = task_loss(method.mixed(causal + shortcut[order]), batch, tiny.CLASSES)
    torch.testing.assert_close(method.loss(batch)["intervention"], 2 * expected)
    monkeypatch.undo()
    drawn = {method.loss(batch)["intervention"].item() for _ in range(5)}
    assert len(drawn) > 1  # another order every time


def test_predictions_are_those_of_the_causal_part() -> None:
    batch, method = tiny.whole(tiny.ragged(undirected=True)), make().eval()
    before = method(batch)
    assert torch.equal(before.attention.edge, before.attention.edge[batch.reverse])
    with torch.no_grad():
        for part in (method.shortcut, method.mixed):
            for value in part.parameters():
                value.add_(1.0)
    assert torch.equal(method(batch).logits, before.logits)


def test_the_shortcut_forgets_the_label() -> None:
    """With its loss the shortcut's head says less than without it."""
    batch = tiny.whole(tiny.motifs(4))
    found = []
    for uniform in (0.0, 5.0):
        method = make(uniform=uniform)
        optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
        with torch.no_grad():  # a head that is sure of something
            last = method.shortcut.head
            assert isinstance(last, torch.nn.Linear)
            last.bias.copy_(torch.tensor([4.0, 0.0, -4.0]))
        for _ in range(60):
            method.train().step(batch, optimiser)
        states, attention = method._attend(batch)
        rest = Attention(1 - attention.edge, 1 - attention.node)
        shortcut = method._represent(method.shortcut, method.shortcut_norm, batch, states, rest)
        found.append(ignorance_loss(method.shortcut.logits(shortcut), tiny.CLASSES).item())
    assert found[1] < found[0] / 4


def test_regression_is_refused() -> None:
    with pytest.raises(ValueError, match=r"method cal .* cannot learn a regression task"):
        build_method("cal", SPEC, Task("regression", 1, "rmse"), {})
