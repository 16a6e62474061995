"""The task loss against explicit loops, and what `Method` gives every method."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import GSINAConfig, Method, Output, label_loss, task_loss
from gsina.methods.base import settings_text


def looped(logits: Tensor, y: Tensor, task: Task) -> list[list[float]]:
    """The loss of every label that is there, row by row."""
    rows = []
    for row, label in zip(logits.tolist(), y.tolist(), strict=True):
        losses = []
        if task.kind == "multiclass":
            if label != -1:
                losses = [math.log(sum(math.exp(z) for z in row)) - row[label]]
        else:
            for z, value in zip(row, label, strict=True):
                if not math.isnan(value):
                    sign = 1 if value else -1
                    binary = math.log1p(math.exp(-sign * z))
                    losses.append(binary if task.kind == "binary" else (z - value) ** 2)
        rows.append(losses)
    return rows


def labels(task: Task) -> Tensor:
    """Six labels of which some, and in one row all, are missing."""
    if task.kind == "multiclass":
        return torch.tensor([0, 2, -1, 1, 1, -1])
    y = torch.randn(6, task.outputs)
    if task.kind == "binary":
        y = (y > 0).float()
    y[0, 0] = y[3] = torch.nan
    return y


TASKS = [
    Task("multiclass", 3),
    Task("binary", 1, "roc_auc"),
    Task("binary", 4, "roc_auc"),
    Task("regression", 2, "rmse"),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.kind}-{task.outputs}")
def test_against_loops(task: Task) -> None:
    torch.manual_seed(0)
    logits, y = torch.randn(6, task.outputs), labels(task)
    rows = looped(logits, y, task)
    every = [loss for row in rows for loss in row]
    assert float(label_loss(logits, y, task)) == pytest.approx(sum(every) / len(every), rel=1e-5)
    each = label_loss(logits, y, task, reduction="none")
    expected = [sum(row) / len(row) if row else 0.0 for row in rows]
    assert each.tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.kind}-{task.outputs}")
def test_missing_labels_have_no_gradient(task: Task) -> None:
    logits, y = torch.randn(6, task.outputs, requires_grad=True), labels(task)
    label_loss(logits, y, task).backward()
    missing = (y == -1)[:, None].expand(6, 3) if task.kind == "multiclass" else y.isnan()
    assert logits.grad is not None
    assert bool((logits.grad[missing] == 0).all())
    assert bool((logits.grad[~missing] != 0).all())


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.kind}-{task.outputs}")
def test_no_label_at_all_is_zero_with_a_gradient(task: Task) -> None:
    logits = torch.randn(6, task.outputs, requires_grad=True)
    nothing = torch.full_like(labels(task), -1 if task.kind == "multiclass" else torch.nan)
    loss = label_loss(logits, nothing, task)
    loss.backward()
    assert float(loss.detach()) == 0
    assert logits.grad is not None
    assert not bool(logits.grad.any())


def test_one_output_may_come_as_a_flat_list() -> None:
    task, logits, y = TASKS[1], torch.randn(6, 1), labels(TASKS[1])
    assert torch.equal(label_loss(logits, y.view(6), task), label_loss(logits, y, task))


def test_an_infinite_label_is_not_taken_for_a_missing_one() -> None:
    y = torch.tensor([[1.0], [math.inf]])
    assert not math.isfinite(float(label_loss(torch.zeros(2, 1), y, Task("regression", 1, "rmse"))))


@pytest.mark.parametrize(
    ("task", "logits", "y"),
    [
        (TASKS[0], torch.zeros(5, 3), torch.zeros(6, dtype=torch.long)),
        (TASKS[0], torch.zeros(6, 3), torch.zeros(6, 1, dtype=torch.long)),
        (TASKS[2], torch.zeros(6, 4), torch.zeros(6)),
    ],
)
def test_labels_that_do_not_fit(task: Task, logits: Tensor, y: Tensor) -> None:
    with pytest.raises(ValueError, match=r"got logits of shape .* for labels of shape .*expected"):
        label_loss(logits, y, task)


class Constant(Method):
    """Three logits, whatever the graph, and a second loss term."""

    def __init__(self, task: Task | None = tiny.CLASSES) -> None:
        super().__init__(task)
        self.logits = nn.Parameter(torch.tensor([1.0, 0.0, 0.0]))

    def forward(self, batch: Batch) -> Output:
        return Output(self.logits.expand(batch.num_graphs, 3))

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        return {**super().loss(batch, epoch), "size": 0.1 * self.logits.square().sum() * epoch}


def test_a_step_follows_the_sum_of_the_terms() -> None:
    method, batch = Constant(), tiny.whole(tiny.ragged())
    terms = method.loss(batch, epoch=2)
    (grad,) = torch.autograd.grad(terms["prediction"] + terms["size"], method.logits)
    before = method.logits.detach().clone()
    method.logits.grad = torch.full((3,), 100.0)  # what an earlier step left must not count
    found = method.step(batch, torch.optim.SGD(method.parameters(), lr=0.5), epoch=2)
    torch.testing.assert_close(method.logits.detach(), before - 0.5 * grad)
    assert found.keys() == {"prediction", "size"}
    assert not any(term.requires_grad for term in found.values())


def test_the_mask_decides_which_nodes_count() -> None:
    batch = tiny.ragged().batch([0])
    y, mask = torch.tensor([0, 1, 2, 0, 1]), torch.tensor([True, False, True, False, False])
    logits = torch.randn(5, 3)
    at_nodes = Batch(
        batch.x, batch.edge_index, batch.node_graph, batch.edge_graph, 1, y=y, mask=mask
    )
    found = task_loss(logits, at_nodes, tiny.CLASSES)
    torch.testing.assert_close(found, label_loss(logits[mask], y[mask], tiny.CLASSES))


def test_a_batch_without_labels_or_a_model_without_a_task() -> None:
    graphs = tiny.ragged()
    bare = Batch(graphs.x[:5], graphs.edge_index[:, :5], *(torch.zeros(5).long(),) * 2, 1)
    with pytest.raises(ValueError, match="no labels"):
        Constant().loss(bare)
    with pytest.raises(ValueError, match="made without a task"):
        Constant(None).loss(tiny.whole(graphs))


class Bare(Method):
    """The least that a method of one's own may be."""

    def __init__(self) -> None:
        super().__init__(tiny.CLASSES)
        self.head = nn.Linear(tiny.FEATURES, tiny.CLASSES.outputs)

    def forward(self, batch: Batch) -> Tensor:  # type: ignore[override]
        return self.head(batch.node_groups.sum(batch.x))  # type: ignore[no-any-return]


def test_logits_alone_are_an_output() -> None:
    method, batch = Bare(), tiny.whole(tiny.ragged())
    assert method(batch).attention is None
    assert list(method.step(batch, torch.optim.SGD(method.parameters(), 0.1))) == ["prediction"]


def test_a_loss_may_be_one_number() -> None:
    class Number(Bare):
        def loss(self, batch: Batch, epoch: int = 0) -> Tensor:
            return self.forward(batch).square().mean()

    method, batch = Number(), tiny.whole(tiny.ragged())
    before = method.head.weight.clone()
    assert list(method.step(batch, torch.optim.SGD(method.parameters(), 0.1))) == ["loss"]
    assert not torch.equal(method.head.weight, before)


@pytest.mark.parametrize("wrong", [[torch.ones(())], {"loss": 1.0}, torch.ones(2), {}, None])
def test_another_loss_is_refused(wrong: Any) -> None:
    class Wrong(Bare):
        def loss(self, batch: Batch, epoch: int = 0) -> Any:
            return wrong

    method = Wrong()
    with pytest.raises(ValueError, match="the loss of Wrong must be a tensor of one number, or"):
        method.step(tiny.whole(tiny.ragged()), torch.optim.SGD(method.parameters(), 0.1))


def test_settings_of_runs_of_earlier_versions_keep_their_text() -> None:
    before = (
        "GSINAConfig(ratio=0.3, temperature=1.0, noise=1.0, scope='graph', scorer='normed', "
        "node='auto', predict_from='raw', solver='exact', iterations=10, connectivity=0.0"
    )
    assert settings_text(GSINAConfig(ratio=0.3)) == f"{before})"
    assert settings_text(GSINAConfig(ratio=0.3, budget=8)) == f"{before}, budget=8)"
    other = GSINAConfig(ratio=0.3, regulariser="quadratic")
    assert settings_text(other) == f"{before}, regulariser='quadratic')"
    assert settings_text(None) == "None"
