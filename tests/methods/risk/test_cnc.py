"""The contrastive loss against loops, and which pairs CNC contrasts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import tiny
from gsina.graphs.task import Task
from gsina.methods.parts.contrast import class_contrast, class_numbers, contrastive_loss, pairs
from gsina.methods.parts.reference import predictions, reference_logits
from gsina.methods.risk.cnc import CNC, CNCConfig
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def by_hand(states: Tensor, positive: Tensor, negative: Tensor, temperature: float) -> float:
    losses = []
    count = len(states)
    for i in range(count):
        cosine = [float(F.cosine_similarity(states[i], states[j], dim=0)) for j in range(count)]
        pool = sum(
            math.exp(cosine[j] / temperature)
            for j in range(count)
            if positive[i, j] or negative[i, j]
        )
        gains = [cosine[j] / temperature - math.log(pool) for j in range(count) if positive[i, j]]
        if gains:
            losses.append(-sum(gains) / len(gains))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_contrastive_loss_written_out(temperature: float) -> None:
    torch.manual_seed(0)
    states = torch.randn(6, 4, requires_grad=True)
    y = torch.tensor([0, 1, 0, 2, 1, 0])  # nothing is like graph 3
    masks = pairs(y)
    found = contrastive_loss(states, *masks, temperature)
    assert float(found.detach()) == pytest.approx(
        by_hand(states.detach(), *masks, temperature), rel=1e-5
    )
    found.backward()
    assert states.grad is not None
    assert bool((states.grad[[0, 1, 2, 4, 5]].abs().sum(1) > 0).all())


def test_pairs_leave_out_the_graph_itself_and_missing_labels() -> None:
    same, different = pairs(torch.tensor([0, -1, 0, 1]))
    assert same.nonzero().tolist() == [[0, 2], [2, 0]]
    assert different.nonzero().tolist() == [[0, 3], [2, 3], [3, 0], [3, 2]]


def test_classes_of_several_labels() -> None:
    nan = torch.nan
    y = torch.tensor([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [nan, 1.0]])
    number = class_numbers(y, Task("binary", 2, "roc_auc"))
    assert number[0] == number[2] != number[1]
    assert int(number[3]) == -1


@pytest.mark.parametrize("labels", [[0, 1, 2], [0], [-1, -1], [1, 1, -1]])
def test_batches_with_little_to_contrast(labels: list[int]) -> None:
    states = torch.randn(len(labels), 4, requires_grad=True)
    loss = class_contrast(states, torch.tensor(labels), tiny.CLASSES)
    loss.backward()
    assert loss.isfinite()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-6)


def model(**options: Any) -> CNC:
    torch.manual_seed(0)
    return CNC.build(SPEC, tiny.CLASSES, CNCConfig(**{"reference_epochs": 1, **options}))


@pytest.mark.parametrize("choice", ["paper", "release"])
def test_pairs_by_what_the_reference_says(choice: Any) -> None:
    cnc = model(pairs=choice, reference_epochs=10, reference_learning_rate=0.01)
    graphs = tiny.motifs(6)
    batch = tiny.whole(cnc.prepare(graphs, 0, 5))
    predicted = predictions(reference_logits(cnc.reference, graphs, 5), tiny.CLASSES).tolist()
    y = batch.labels.tolist()
    assert len(set(predicted)) > 1  # otherwise there would be nothing to see
    assert predicted != y
    positive, negative = cnc._pairs(batch)
    count = len(y)
    for i in range(count):
        for j in range(count):
            if choice == "paper":
                close, far = predicted[j] != predicted[i], predicted[j] == predicted[i]
            else:
                close, far = predicted[j] != y[j], predicted[j] == y[j]
            assert bool(positive[i, j]) == (i != j and y[i] == y[j] and close)
            assert bool(negative[i, j]) == (y[i] != y[j] and far)


def test_without_mistakes_all_pairs_count() -> None:
    cnc = model()
    batch = tiny.whole(tiny.motifs(2))
    right = replace(batch, environment=batch.labels)
    positive, negative = cnc._pairs(right)
    same, different = pairs(batch.labels)
    assert torch.equal(positive, same)
    assert torch.equal(negative, different)
    unprepared = cnc._pairs(batch)
    assert torch.equal(unprepared[0], same)
    assert torch.equal(unprepared[1], different)


def test_loss_written_out() -> None:
    cnc = model(contrast=2.0, temperature=0.5)
    batch = tiny.whole(cnc.prepare(tiny.motifs(3), 0))
    cnc.eval()
    terms = cnc.loss(batch)
    states = cnc.predictor.represent(batch)
    torch.testing.assert_close(
        terms["prediction"], F.cross_entropy(cnc(batch).logits, batch.labels)
    )
    expected = contrastive_loss(states, *cnc._pairs(batch), 0.5)
    torch.testing.assert_close(terms["contrast"], 2 * expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contrast": -1.0}, "contrast must be 0 or more, got -1.0"),
        ({"temperature": 0.0}, "temperature must be above 0, got 0.0"),
        ({"pairs": "papr"}, "did you mean 'paper'"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CNCConfig(**options)
