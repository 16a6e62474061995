"""Chances that make labels independent of what a shallow network reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tiny
from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.shortcuts import MOST, shortcut_weights
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 16, "readout": "max"})
TASK = Task("binary", 1)
COUNT = 600


def shortcut_graphs() -> tuple[PackedGraphs, torch.Tensor]:
    """Cycles whose features tell the label nine times in ten, and which graphs are the others."""
    torch.manual_seed(0)
    label = torch.arange(COUNT) % 2
    odd = torch.rand(COUNT) < 0.1
    graphs = []
    for y, against in zip(label.tolist(), odd.tolist(), strict=True):
        one = tiny.cycle(5, y)
        one.x = one.x * 0.1 + (1.0 if y != against else -1.0)
        one.y = torch.tensor([[float(y)]])
        graphs.append(one)
    return PackedGraphs.from_pyg(graphs), odd


def test_the_label_is_independent_of_the_shortcut() -> None:
    graphs, odd = shortcut_graphs()
    weight = shortcut_weights(graphs, TASK, SPEC, seed=0, batch_size=16)
    assert weight.shape == (COUNT,)
    assert float(weight.max()) <= MOST
    # Without weights 10 % of the graphs speak against the shortcut; with them about half do.
    assert 0.35 < float(weight[odd].sum() / weight.sum()) < 0.65


def test_weights_are_repeatable_and_leave_the_generator_alone() -> None:
    graphs, _ = shortcut_graphs()
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = shortcut_weights(graphs, TASK, SPEC, seed=1, batch_size=64)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first, shortcut_weights(graphs, TASK, SPEC, seed=1, batch_size=64))
    assert not torch.equal(first, shortcut_weights(graphs, TASK, SPEC, seed=2, batch_size=64))


def test_missing_labels_have_weight_one() -> None:
    graphs, _ = shortcut_graphs()
    y = graphs.y.clone()
    y[:5] = torch.nan
    weight = shortcut_weights(replace(graphs, y=y), TASK, SPEC, seed=0, batch_size=64)
    assert torch.equal(weight[:5], torch.ones(5))


def test_one_graph_has_no_network_to_judge_it() -> None:
    graphs, _ = shortcut_graphs()
    assert shortcut_weights(graphs[:1], TASK, SPEC, seed=0, batch_size=4).tolist() == [1.0]


@pytest.mark.parametrize("task", [Task("regression", 1, "rmse"), Task("binary", 2)])
def test_other_tasks_are_refused(task: Task) -> None:
    graphs, _ = shortcut_graphs()
    graphs = replace(graphs, y=graphs.y.repeat(1, task.outputs))
    with pytest.raises(InputError, match="one class label per graph"):
        shortcut_weights(graphs, task, SPEC, seed=0, batch_size=64)
