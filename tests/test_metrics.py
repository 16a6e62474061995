"""Every metric against a computation of its own: pairs counted one by one, formulas, sklearn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from torch import Tensor

from gsina import metrics
from gsina.graphs.task import Task

OF_PREDICTIONS = [
    name for name, metric in metrics.METRICS.items() if metric.selects and metric.kinds
]
CLASSES = Task("multiclass", 3)
BINARY = Task("binary", 2, "roc_auc")
NUMBERS = Task("regression", 2, "rmse")
NAN = math.nan


def area(scores: Sequence[float], truth: Sequence[bool]) -> float:
    """Share of (true, false) pairs in the right order; a tie is half a pair."""
    true = [score for score, label in zip(scores, truth, strict=True) if label]
    false = [score for score, label in zip(scores, truth, strict=True) if not label]
    if not true or not false:
        return NAN
    won = sum((a > b) + 0.5 * (a == b) for a, b in product(true, false))
    return won / (len(true) * len(false))


def mean(values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there) if there else NAN


def random_labels(seed: int, rows: int = 40) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits and labels of both kinds, some missing; coarse logits, so that there are ties."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randint(-4, 5, (rows, 3), generator=generator) / 2
    y = torch.randint(-1, 3, (rows,), generator=generator)
    binary = torch.randint(0, 2, (rows, 2), generator=generator).float()
    binary[torch.rand(rows, 2, generator=generator) < 0.2] = NAN
    return logits, y, logits[:, :2].contiguous(), binary


@settings(max_examples=25)
@given(st.integers(0, 2**31))
def test_accuracy(seed: int) -> None:
    logits, y, two, binary = random_labels(seed)
    guesses = [max(range(3), key=lambda c, row=row: row[c]) for row in logits.tolist()]
    right = [g == t for g, t in zip(guesses, y.tolist(), strict=True) if t != -1]
    assert metrics.accuracy(logits, y, CLASSES) == pytest.approx(sum(right) / len(right))
    pairs = zip(two.flatten().tolist(), binary.flatten().tolist(), strict=True)
    right = [(z > 0) == bool(t) for z, t in pairs if not math.isnan(t)]
    assert metrics.accuracy(two, binary, BINARY) == pytest.approx(sum(right) / len(right))


@settings(max_examples=25)
@given(st.integers(0, 2**31))
def test_roc_auc(seed: int) -> None:
    logits, y, two, binary = random_labels(seed)
    areas = []
    for scores, labels in zip(two.T.tolist(), binary.T.tolist(), strict=True):
        known = [(s, bool(t)) for s, t in zip(scores, labels, strict=True) if not math.isnan(t)]
        areas.append(area(*zip(*known, strict=True)))
    assert metrics.roc_auc(two, binary, BINARY) == pytest.approx(mean(areas))
    known = y != -1
    areas = [area(logits[known, c].tolist(), (y[known] == c).tolist()) for c in range(3)]
    assert metrics.roc_auc(logits, y, CLASSES) == pytest.approx(mean(areas))


def test_roc_auc_of_two_classes_is_that_of_the_probability() -> None:
    """The logits of one class alone have another order than its probability."""
    logits = torch.tensor([[5.0, 6.0], [0.0, 4.0], [9.0, 8.0], [1.0, 2.5]])
    y = torch.tensor([1, 1, 0, 0])
    margin = (logits[:, 1] - logits[:, 0])[:, None]
    expected = metrics.roc_auc(margin, y.float()[:, None], Task("binary", 1, "roc_auc"))
    assert metrics.roc_auc(logits, y, Task("multiclass", 2, "roc_auc")) == expected == 0.75


def test_roc_auc_leaves_out_outputs_of_one_class() -> None:
    logits = torch.tensor([[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]])
    y = torch.tensor([[0.0, 1.0], [1.0, 1.0], [1.0, NAN]])
    assert metrics.roc_auc(logits, y, BINARY) == 1.0
    assert math.isnan(metrics.roc_auc(logits[:, 1:], y[:, 1:], Task("binary", 1, "roc_auc")))


def test_mcc_is_the_formula() -> None:
    logits = torch.tensor([[1.0], [1.0], [-1.0], [-1.0], [1.0], [2.0]])
    y = torch.tensor([[1.0], [0.0], [0.0], [1.0], [1.0], [NAN]])
    tp, fp, tn, fn = 2, 1, 1, 1
    expected = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert metrics.mcc(logits, y, Task("binary", 1, "mcc")) == pytest.approx(expected)


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_mcc_of_several_classes_is_a_correlation(seed: int) -> None:
    logits, y, _, _ = random_labels(seed)
    known = y != -1
    guess = torch.nn.functional.one_hot(logits.argmax(1)[known], 3).double()
    truth = torch.nn.functional.one_hot(y[known], 3).double()
    guess, truth = guess - guess.mean(0), truth - truth.mean(0)
    expected = (guess * truth).sum() / (guess.square().sum() * truth.square().sum()).sqrt()
    assert metrics.mcc(logits, y, CLASSES) == pytest.approx(float(expected.nan_to_num()))


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_f1_is_the_mean_over_classes(seed: int) -> None:
    logits, y, _, _ = random_labels(seed)
    guess, truth = logits.argmax(1)[y != -1].tolist(), y[y != -1].tolist()
    values = []
    for c in set(guess) | set(truth):
        both = sum(g == t == c for g, t in zip(guess, truth, strict=True))
        values.append(2 * both / (guess.count(c) + truth.count(c)))
    assert metrics.f1(logits, y, CLASSES) == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("name", ["f1", "mcc", "balanced_accuracy"])
def test_decisions_of_several_targets_are_judged_target_by_target(name: str) -> None:
    """Pooled, a frequent target would hide one whose answers are all the same."""
    logits = torch.tensor([[2.0, -1.0], [-1.0, -1.0], [1.0, -1.0], [-2.0, -1.0], [3.0, -1.0]])
    y = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, NAN], [NAN, 0.0]])
    score, one = metrics.METRICS[name].function, Task("binary", 1, name)
    each = [score(logits[:, [i]], y[:, [i]], one) for i in (0, 1)]
    assert each[0] == 1
    assert each[1] < 0.6
    assert score(logits, y, BINARY) == pytest.approx(sum(each) / 2)
    pooled = score(logits.reshape(-1, 1), y.reshape(-1, 1), one)
    assert pooled != pytest.approx(sum(each) / 2)
    without = torch.cat([y[:, :1], torch.full((5, 1), NAN)], 1)
    assert score(logits, without, BINARY) == pytest.approx(each[0])


def test_rmse() -> None:
    predicted = torch.tensor([[1.0, 2.0], [3.0, 100.0]])
    y = torch.tensor([[2.0, 2.0], [5.0, NAN]])
    assert metrics.rmse(predicted, y, NUMBERS) == pytest.approx(math.sqrt((1 + 0 + 4) / 3))
    assert math.isnan(metrics.rmse(predicted, torch.full((2, 2), NAN), NUMBERS))
    assert metrics.scaled_rmse(predicted, y, NUMBERS) == pytest.approx(
        sum(metrics.rmse(predicted[:, [i]], y[:, [i]], NUMBERS) for i in (0, 1)) / 2
    )
    half = torch.cat([y[:, :1], torch.full((2, 1), NAN)], 1)
    only = metrics.rmse(predicted[:, :1], y[:, :1], NUMBERS)
    assert metrics.scaled_rmse(predicted, half, NUMBERS) == pytest.approx(only)
    assert math.isnan(metrics.scaled_rmse(predicted, torch.full((2, 2), NAN), NUMBERS))


@pytest.mark.parametrize("name", OF_PREDICTIONS)
def test_without_any_label_nothing_is_made_up(name: str) -> None:
    task = NUMBERS if "rmse" in name else BINARY
    nothing = torch.full((4, 2), NAN)
    assert math.isnan(metrics.METRICS[name].function(torch.randn(4, 2), nothing, task))
    if "rmse" not in name:
        missing = torch.full((4,), -1)
        assert math.isnan(metrics.METRICS[name].function(torch.randn(4, 3), missing, CLASSES))


@pytest.mark.parametrize("name", ["roc_auc", "mcc"])
def test_one_class_only_is_undefined(name: str) -> None:
    logits, metric = torch.randn(4, 3), metrics.METRICS[name].function
    assert math.isnan(metric(logits, torch.full((4,), 2), CLASSES))
    assert math.isnan(metric(logits[:, :2], torch.ones(4, 2), BINARY))


def test_the_table_names_what_can_select() -> None:
    for kind, best in (("binary", "roc_auc"), ("multiclass", "mcc"), ("regression", "rmse")):
        assert Task(kind, 2, best).larger_is_better == (best != "rmse")
    with pytest.raises(
        ValueError, match="a regression task cannot be scored by f1; metrics for it: rmse"
    ):
        Task("regression", 1, "f1")
    with pytest.raises(ValueError, match="unknown metric 'r2'"):
        Task("regression", 1, "r2")


def test_a_task_is_judged_by_a_metric_of_its_kind() -> None:
    with pytest.raises(ValueError, match="regression task cannot be scored by accuracy"):
        Task("regression", 1)
    with pytest.raises(ValueError, match="multiclass task cannot be scored by rmse"):
        Task("multiclass", 3, "rmse")


def random_edges(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights with ties, truth and graph of 60 edges; some graphs have no edges."""
    generator = torch.Generator().manual_seed(seed)
    graph = torch.randint(0, 9, (60,), generator=generator).sort().values
    weights = torch.randint(0, 6, (60,), generator=generator) / 5
    truth = torch.rand(60, generator=generator) < 0.4
    return weights, truth, graph


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.booleans())
def test_explanation_auc(seed: int, shuffled: bool) -> None:
    weights, truth, graph = random_edges(seed)
    if shuffled:
        order = torch.randperm(60, generator=torch.Generator().manual_seed(seed))
        weights, truth, graph = weights[order], truth[order], graph[order]
    pooled = area(weights.tolist(), truth.tolist())
    assert metrics.explanation_auc(weights, truth) == pytest.approx(pooled, nan_ok=True)
    areas = []
    for g in graph.unique():
        mine = truth[graph == g].numpy()
        if 0 < mine.sum() < len(mine):
            areas.append(float(roc_auc_score(mine, weights[graph == g].numpy())))
    found = metrics.explanation_auc_per_graph(weights, truth, graph)
    assert found == pytest.approx(mean(areas), nan_ok=True)


def test_per_graph_auc_ignores_the_level_of_a_graph() -> None:
    truth = torch.tensor([True, False, False, True, False, False])
    graph = torch.tensor([0, 0, 0, 1, 1, 1])
    weights = torch.tensor([0.3, 0.2, 0.1, 0.9, 0.8, 0.7])
    assert metrics.explanation_auc_per_graph(weights, truth, graph) == 1.0
    assert metrics.explanation_auc(weights, truth) < 1.0


@pytest.mark.parametrize("value", [True, False])
def test_explanations_without_two_kinds_of_edges(value: bool) -> None:
    truth, graph = torch.full((4,), value), torch.zeros(4, dtype=torch.long)
    assert math.isnan(metrics.explanation_auc(torch.rand(4), truth))
    assert math.isnan(metrics.explanation_auc_per_graph(torch.rand(4), truth, graph))


def test_explanations_without_edges() -> None:
    weights, truth, graph = torch.zeros(0), torch.zeros(0).bool(), torch.zeros(0).long()
    assert math.isnan(metrics.explanation_auc(weights, truth))
    assert math.isnan(metrics.explanation_auc_per_graph(weights, truth, graph))
    assert math.isnan(metrics.precision_at_k(weights, truth, graph))


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(1, 12))
def test_precision_at_k(seed: int, k: int) -> None:
    weights, truth, graph = random_edges(seed)
    shares = []
    for g in graph.unique():
        edges = [e for e in range(60) if graph[e] == g]
        chances = []  # of every true edge to be among the k, if equal ones are in random order
        for e in [e for e in edges if truth[e]]:
            larger = sum(bool(weights[other] > weights[e]) for other in edges)
            equal = sum(bool(weights[other] == weights[e]) for other in edges)
            chances.append(min(max((k - larger) / equal, 0), 1))
        shares.append(sum(chances) / k)
    found = metrics.precision_at_k(weights, truth, graph, k)
    assert found == pytest.approx(sum(shares) / len(shares))


def test_precision_at_5_by_hand() -> None:
    weights = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    truth = torch.tensor([True, True, False, True, False, True, True, True])
    graph = torch.tensor([0, 0, 0, 0, 0, 0, 2, 2])
    assert metrics.precision_at_k(weights, truth, graph) == pytest.approx((3 / 5 + 2 / 5) / 2)


def test_precision_does_not_depend_on_the_order_of_equal_edges() -> None:
    truth = torch.tensor([True] * 4 + [False] * 16)
    graph = torch.zeros(20, dtype=torch.long)
    for order in (truth, truth.flip(0)):
        assert metrics.precision_at_k(torch.ones(20), order, graph) == pytest.approx(4 / 20)
    unknown = torch.ones(20).index_fill(0, torch.tensor([3]), math.nan)
    assert math.isnan(metrics.precision_at_k(unknown, truth, graph))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_any_precision_is_taken(dtype: torch.dtype) -> None:
    logits, y, two, binary = random_labels(0)
    assert metrics.accuracy(logits.to(dtype), y, CLASSES) == metrics.accuracy(logits, y, CLASSES)
    assert metrics.roc_auc(two.to(dtype), binary, BINARY) == metrics.roc_auc(two, binary, BINARY)


def test_average_precision_is_that_of_the_rarer_class_whatever_its_number():
    torch.manual_seed(0)
    y = (torch.rand(200, 1) < 0.1).float()
    logits = torch.randn(200, 1) + y
    task = Task("binary", 1, "pr_auc")
    expected = average_precision_score(y.numpy(), logits.numpy())
    assert metrics.pr_auc(logits, y, task) == pytest.approx(expected)
    assert metrics.pr_auc(-logits, 1 - y, task) == pytest.approx(expected)
    assert math.isnan(metrics.pr_auc(logits, torch.zeros(200, 1), task))


def test_balanced_accuracy_is_the_mean_recall_of_sklearn():
    torch.manual_seed(0)
    y, logits = torch.randint(3, (60,)), torch.randn(60, 3)
    y[:5] = -1
    expected = balanced_accuracy_score(y[5:].numpy(), logits[5:].argmax(1).numpy())
    assert metrics.balanced_accuracy(logits, y, CLASSES) == pytest.approx(expected)
    targets = (torch.rand(60, 2) < 0.3).float()
    both = [
        balanced_accuracy_score(targets[:, one].numpy(), (logits[:, one] > 0).numpy())
        for one in (0, 1)
    ]
    found = metrics.balanced_accuracy(logits[:, :2], targets, BINARY)
    assert found == pytest.approx(sum(both) / 2)
