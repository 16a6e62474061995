"""Environments belong to graphs; risks and slopes are those of a loop over them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import label_loss
from gsina.methods.parts.environments import (
    EnvironmentConfig,
    assign_environments,
    attach_environment,
    environment_means,
    environment_risks,
    loss_slopes,
)
from gsina.methods.risk.irm import IRM, IRMConfig
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})
TASKS = [tiny.CLASSES, Task("binary", 2, "roc_auc"), Task("regression", 2, "rmse")]


def labels(task: Task, count: int) -> Tensor:
    """Random labels, the second one missing and, if there are several, half of the third."""
    if task.kind == "multiclass":
        y = torch.randint(task.outputs, (count,))
        y[1] = -1
        return y
    y = torch.randn(count, task.outputs)
    y = (y > 0).float() if task.kind == "binary" else y
    y[1] = torch.nan
    y[2, 0] = torch.nan
    return y


def labelled(task: Task) -> tuple[Tensor, Batch]:
    torch.manual_seed(0)
    batch = tiny.whole(tiny.ragged())
    environment = torch.tensor([7, 3, 7, 0, 0, 7, 0])
    batch = replace(batch, y=labels(task, 7), environment=environment)
    return torch.randn(7, task.outputs, requires_grad=True), batch


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_slopes_are_those_of_autograd(task: Task) -> None:
    logits, batch = labelled(task)
    factor = torch.ones((), requires_grad=True)
    for graph, found in enumerate(loss_slopes(logits, batch.labels, task)):
        own = label_loss(factor * logits, batch.labels, task, "none")[graph]
        (expected,) = torch.autograd.grad(own, factor)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_means_are_those_of_a_loop(task: Task) -> None:
    logits, batch = labelled(task)
    each = label_loss(logits, batch.labels, task, "none")
    # Environment 3 has only the graph without a label.
    expected = torch.stack([each[[3, 4, 6]].mean(), each[[0, 2, 5]].mean()])
    torch.testing.assert_close(environment_risks(logits, batch, task), expected)
    whole = environment_means(each, replace(batch, environment=None), task)
    torch.testing.assert_close(whole, each[[0, 2, 3, 4, 5, 6]].mean().view(1))


def test_without_labels_there_is_no_environment() -> None:
    batch = replace(tiny.whole(tiny.ragged()), y=torch.full((7,), -1))
    assert environment_risks(torch.randn(7, 3), batch, tiny.CLASSES).shape == (0,)


def test_random_environments_stay_with_their_graphs() -> None:
    graphs = tiny.motifs(20)
    model = IRM.build(SPEC, tiny.CLASSES, IRMConfig(count=3))
    first, later = model.prepare(graphs, 0), model.prepare(graphs, 5)
    assert first.environment is not None
    assert later.environment is not None
    assert torch.equal(first.environment, later.environment)
    assert set(first.environment.tolist()) == {0, 1, 2}
    ids = [7, 3, 59]
    batch = first.batch(ids)
    assert batch.environment is not None
    assert torch.equal(batch.environment, first.environment[ids])
    assert graphs.environment is None
    other = assign_environments(graphs, 3, int(model.seed) + 1).environment
    assert other is not None
    assert not torch.equal(other, first.environment)


def test_another_model_with_the_same_weights_has_the_same_environments() -> None:
    graphs = tiny.motifs(20)
    model, other = (IRM.build(SPEC, tiny.CLASSES, IRMConfig()) for _ in range(2))
    other.load_state_dict(model.state_dict())
    assert torch.equal(model.prepare(graphs, 0).environment, other.prepare(graphs, 3).environment)  # type: ignore[arg-type]


def test_given_environments_are_used_and_needed() -> None:
    graphs = tiny.motifs(2)
    model = IRM.build(SPEC, tiny.CLASSES, IRMConfig(environments="given"))
    with pytest.raises(ValueError, match="environments='given' needs training graphs with"):
        model.prepare(graphs, 0)
    domains = attach_environment(graphs, torch.tensor([5, 5, 9, 9, 1, 1]))
    assert model.prepare(domains, 0) is domains


def test_attaching_keeps_the_rest() -> None:
    graphs = tiny.ragged(undirected=True)
    reverse = graphs.reverse
    attached = attach_environment(graphs, torch.arange(7))
    assert attached.__dict__["reverse"] is reverse
    assert attached.x is graphs.x
    with pytest.raises(ValueError, match=r"environments of shape \[3\] for 7 graphs"):
        attach_environment(graphs, torch.arange(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": -1.0}, "penalty must be 0 or more, got -1.0"),
        ({"count": 1}, "count must be 2 or more environments, got 1"),
        ({"environments": "givn"}, "did you mean 'given'"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EnvironmentConfig(**options)  # type: ignore[arg-type]
