"""The promise holds on graphs of the same kind, and what cannot be promised is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import tiny
from gsina.explain.evidence.certify import GRID, MOST, certify, lost_answers, smallest_share
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec


def model(task: Task = tiny.CLASSES, backbone: str = "gin") -> Model:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 8})
    made = Architecture.of("gsina", {}, spec)
    return Model(made.build(task).eval(), task, made)


def drawn(count: int, generator: torch.Generator) -> Tensor:
    """Graphs that lose their answer below a share of their own, now and then above it too."""
    needs = torch.rand(count, generator=generator) ** 2
    lost = torch.tensor(GRID).unsqueeze(1) < needs
    flicker = torch.rand(lost.shape, generator=generator) < 0.002
    flicker[-1] = False  # the whole graph has its own answer
    return (lost | flicker).double()


@pytest.mark.parametrize("confidence", [0.8, 0.9])
def test_what_is_promised_is_seen_on_new_graphs(confidence: float) -> None:
    generator = torch.Generator().manual_seed(0)
    seen, ever, sizes = [], [], []
    for _ in range(200):
        place = smallest_share(drawn(100, generator), confidence)
        new = drawn(500, generator)
        seen.append(1 - float(new[place].mean()))
        ever.append(1 - float(new[place:].amax(0).mean()))
        sizes.append(GRID[place])
    assert confidence <= sum(ever) / 200 <= confidence + 0.03
    assert sum(seen) >= sum(ever)
    assert 0.3 < sum(sizes) / 200 < 0.95


def test_a_harder_promise_needs_a_larger_part() -> None:
    lost = drawn(400, torch.Generator().manual_seed(1))
    places = [smallest_share(lost, confidence) for confidence in (0.5, 0.7, 0.9, 0.99)]
    assert places == sorted(places)
    assert places[0] < places[-1]
    assert smallest_share(torch.ones(len(GRID), 5), 0.9) == len(GRID) - 1


def test_a_model_is_certified() -> None:
    made, graphs = model(), tiny.motifs(8)
    found = certify(made, graphs, 0.8)
    assert (found.graphs, found.confidence) == (24, 0.8)
    assert found.seen >= 0.8
    weights = made.predict(graphs).edge
    lost = lost_answers(made, graphs, weights)
    assert lost.shape == (len(GRID), 24)
    assert float(lost[-1].sum()) == 0
    assert GRID[smallest_share(lost, 0.8)] == found.budget.share
    words = found.words("bond", "molecule")
    assert "at least 80 of 100 new molecules of the same kind" in words
    assert f"{100 * found.budget.share:.0f} % of the bonds" in words


def test_of_many_graphs_some_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST >= 500
    monkeypatch.setattr("gsina.explain.evidence.certify.MOST", 10)
    assert certify(model(), tiny.motifs(8), 0.5).graphs == 10


def test_what_cannot_be_promised_is_said_in_one_sentence() -> None:
    graphs = tiny.motifs(2)
    with pytest.raises(ValueError, match=r"got 6 validation graphs.*0.9 needs at least 9"):
        certify(model(), graphs, 0.9)
    for wrong in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match=r"lies between 0 and 1, such as 0\.9"):
            certify(model(), graphs, wrong)
    with pytest.raises(ValueError, match="got a model of numbers"):
        certify(model(Task("regression", 1, "rmse")), graphs, 0.5)
    nodes = replace(model(), task=Task("multiclass", 3, level="node"))
    with pytest.raises(ValueError, match="got a model of nodes"):
        certify(nodes, graphs, 0.5)
