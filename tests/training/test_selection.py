"""Which epoch wins: the rules one by one."""

from __future__ import annotations

import math

import pytest

from gsina.graphs.task import Task
from gsina.training.loop import Progress, Settings, _finished, _judge
from gsina.training.selection import (
    SELECTIONS,
    CIGABest,
    FirstBest,
    LatestBest,
    Score,
    Selection,
    StrictBest,
    make_selection,
)


def winner(rule: Selection, scores: list[tuple[float, float]]) -> int | None:
    """The epoch that a rule selects from (metric, loss) of every epoch."""
    best, chosen = None, None
    for epoch, score in enumerate(Score(*pair) for pair in scores):
        if rule.better(epoch, score, best):
            best, chosen = score, epoch
    return chosen


RISING_AND_TIED = [(0.5, 1.0), (0.7, 0.6), (0.7, 0.5), (0.6, 0.1), (0.7, 0.9), (0.2, 0.0)]


def test_latest_best_takes_the_last_of_equal_ones() -> None:
    assert winner(LatestBest(), RISING_AND_TIED) == 4


def test_strict_best_takes_the_lower_loss_of_equal_ones() -> None:
    assert winner(StrictBest(), RISING_AND_TIED) == 2
    assert winner(StrictBest(), [(0.7, 0.5), (0.7, 0.5)]) == 0


def run(rule: Selection, metrics: list[float]) -> tuple[int, int]:
    """The selected epoch and the number of epochs, by the counter of the training loop."""
    progress = Progress()
    for epoch, metric in enumerate(metrics):
        record = {"epoch": epoch, "val": {"accuracy": metric, "loss": 1.0}}
        _judge(progress, record, rule, Task("multiclass", 2))
        progress.epoch += 1
        if _finished(progress, Settings(epochs=len(metrics)), rule):
            break
    return progress.best_epoch, progress.epoch


PEAK_BEFORE_COUNTING = [0.9, 0.5, 0.5, 0.6, 0.7, 0.7, 0.7, 0.7, 0.95]


def test_ciga_best_may_select_an_epoch_of_its_pretraining() -> None:
    """The counter starts at epoch 3 and stops the run after two epochs that are not better."""
    assert run(CIGABest(patience=2, first_epoch=3), PEAK_BEFORE_COUNTING) == (0, 5)
    assert run(CIGABest(patience=6, first_epoch=3), PEAK_BEFORE_COUNTING) == (8, 9)
    assert run(CIGABest(patience=2), PEAK_BEFORE_COUNTING) == (0, 3)


def test_first_best_may_not() -> None:
    """Epochs 3 and 4 are better than those before, 5 and 6 only equal."""
    assert run(FirstBest(patience=2, first_epoch=3), PEAK_BEFORE_COUNTING) == (4, 7)
    assert run(FirstBest(patience=9, first_epoch=3), PEAK_BEFORE_COUNTING) == (8, 9)


def test_of_equal_epochs_the_first() -> None:
    for rule in (FirstBest(), CIGABest()):
        assert winner(rule, RISING_AND_TIED) == 1


def test_a_metric_below_zero_counts() -> None:
    """CIGA's code starts from 0 and would report nothing."""
    assert run(CIGABest(patience=2), [-0.3, -0.1, -0.2, -0.2]) == (1, 4)


@pytest.mark.parametrize("rule", SELECTIONS.values(), ids=list(SELECTIONS))
def test_what_all_rules_share(rule: type[Selection]) -> None:
    assert winner(rule(), [(0.1, 1.0), (0.9, 5.0), (0.3, 0.0)]) == 1
    assert winner(rule(), [(math.nan, 0.1)]) is None
    assert winner(rule(), [(math.nan, 0.1), (0.1, 1.0), (math.nan, 0.0)]) == 1
    if not rule.early:
        assert winner(rule(first_epoch=2), [(0.9, 0.1), (0.9, 0.1), (0.2, 1.0), (0.1, 1.0)]) == 2
        assert winner(rule(first_epoch=5), [(0.9, 0.1)]) is None
    assert winner(rule(), [(-3.0, 9.0), (-1.0, 1.0), (-2.0, 4.0)]) == 1  # a negated RMSE


def test_rules_by_name() -> None:
    rule = make_selection("strict-best", patience=7, first_epoch=20)
    assert isinstance(rule, StrictBest)
    assert (rule.patience, rule.first_epoch) == (7, 20)
    assert all(make_selection(name).name == name for name in SELECTIONS)
    with pytest.raises(ValueError, match="unknown selection rule 'latestbest'; did you mean"):
        make_selection("latestbest")
