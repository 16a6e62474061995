"""Temperatures lower the loss on validation data, and leave the order of answers alone."""

from __future__ import annotations

import math

import pytest
import torch

from gsina.graphs.task import Task
from gsina.methods.base import label_loss
from gsina.models.uncertainty.calibration import Calibration, fit_temperature

CLASSES = Task("multiclass", 3)
TARGETS = Task("binary", 2, "roc_auc")


def drawn(task: Task, count: int = 2000) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of the true probabilities, and labels drawn from these."""
    torch.manual_seed(0)
    logits = 1.5 * torch.randn(count, task.outputs)
    if task.kind == "multiclass":
        return logits, torch.multinomial(logits.softmax(1), 1)[:, 0]
    return logits, torch.bernoulli(logits.sigmoid())


@pytest.mark.parametrize("task", [CLASSES, TARGETS], ids=["classes", "targets"])
@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0])
def test_a_factor_on_the_logits_is_found_and_the_loss_falls(task, factor):
    logits, y = drawn(task)
    found = fit_temperature(factor * logits, y, task)
    assert len(found) == (1 if task.kind == "multiclass" else 2)
    assert found == pytest.approx([factor] * len(found), rel=0.15)
    before = label_loss(factor * logits, y, task)
    after = label_loss(Calibration(found).apply(factor * logits), y, task)
    if factor == 1:  # nothing to mend, but for the doubt about every label
        assert after <= before + 1e-4
    else:
        assert after < before - 0.02


def test_targets_have_their_own_and_missing_labels_do_not_count():
    logits, y = drawn(TARGETS)
    wild = logits * torch.tensor([3.0, 1.0])
    rows = torch.arange(len(y)) % 3 == 0
    y[rows] = math.nan
    first, second = fit_temperature(wild, y, TARGETS)
    assert first == pytest.approx(3, rel=0.2)
    assert second == pytest.approx(1, rel=0.2)
    assert (first, second) == fit_temperature(wild[~rows], y[~rows], TARGETS)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_few_rows_that_are_all_told_apart_do_not_make_it_sure(classes):
    y = torch.arange(12) % classes
    own = 12 // classes
    logits = 8.0 * torch.nn.functional.one_hot(y, classes).float()
    task = Task("multiclass", classes)
    if classes == 2:
        task, logits, y = Task("binary", 1), logits[:, 1:] - logits[:, :1], y.unsqueeze(1).float()
    calibrated = Calibration(fit_temperature(logits, y, task)).apply(logits)
    sure = calibrated.sigmoid() if classes == 2 else calibrated.softmax(1)
    assert float(sure.max()) == pytest.approx((own + 1) / (own + 2), abs=0.01)


def test_few_labels_or_one_class_say_nothing():
    logits, y = drawn(CLASSES, 9)
    assert fit_temperature(logits, y, CLASSES) == (1.0,)
    assert fit_temperature(torch.randn(50, 2), torch.zeros(50, 2), TARGETS) == (1.0, 1.0)


def test_nothing_is_changed_by_default():
    logits = torch.randn(5, 3)
    assert torch.equal(Calibration().apply(logits), logits)
    assert torch.equal(Calibration().decided(logits), logits)
