"""EIIL: the worst split is the worst of all; the reference is trained first, and only then."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

import tiny
from gsina.graphs.task import Task
from gsina.methods.parts.environments import loss_slopes
from gsina.methods.risk.eiil import EIIL, EIILConfig, worst_environments
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})


def model(**options: Any) -> EIIL:
    torch.manual_seed(0)
    options = {"reference_epochs": 2, **options}
    return EIIL.build(SPEC, tiny.CLASSES, EIILConfig(**options))


def objective(slopes: Tensor, soft: Tensor) -> Tensor:
    """What the paper maximises over soft environments."""
    return (soft * slopes).mean().square() + ((1 - soft) * slopes).mean().square()


@pytest.mark.parametrize("task", [tiny.CLASSES, Task("binary", 1, "roc_auc")])
def test_no_split_violates_more(task: Task) -> None:
    torch.manual_seed(1)
    logits = 2 * torch.randn(9, task.outputs)
    y = torch.randint(3, (9,)) if task.kind == "multiclass" else (torch.rand(9, 1) > 0.5).float()
    slopes = loss_slopes(logits, y, task)
    found = objective(slopes, worst_environments(logits, y, task).float())
    splits = torch.tensor(list(product([0.0, 1.0], repeat=9)))
    best = torch.stack([objective(slopes, split) for split in splits]).max()
    torch.testing.assert_close(found, best)
    # And no soft one either, found by the paper's ascent.
    v = torch.randn(9, requires_grad=True)
    optimiser = torch.optim.Adam([v], lr=0.1)
    for _ in range(200):
        optimiser.zero_grad()
        (-objective(slopes, v.sigmoid())).backward()
        optimiser.step()
    assert float(objective(slopes, v.detach().sigmoid())) <= float(found) + 1e-6


def test_the_first_stage_trains_the_reference_alone_and_once() -> None:
    eiil, graphs = model(), tiny.motifs(4)
    before = {name: value.clone() for name, value in eiil.state_dict().items()}
    drawn = torch.get_rng_state()
    prepared = eiil.prepare(graphs, 0, 5)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert prepared.environment is not None
    after = {name: value.clone() for name, value in eiil.state_dict().items()}
    changed = {name.split(".")[0] for name in after if not torch.equal(after[name], before[name])}
    assert changed == {"reference"}
    assert not any(value.requires_grad for value in eiil.reference.parameters())
    later = eiil.prepare(graphs, 1, 5)
    assert torch.equal(later.environment, prepared.environment)  # type: ignore[arg-type]
    assert all(torch.equal(value, after[name]) for name, value in eiil.state_dict().items())


def test_a_resumed_run_infers_the_same_environments() -> None:
    eiil, graphs = model(), tiny.motifs(4)
    first = eiil.prepare(graphs, 0, 5).environment
    resumed = model()
    resumed.load_state_dict(eiil.state_dict())
    again = resumed.prepare(graphs, 1, 5).environment
    assert first is not None
    assert again is not None
    assert torch.equal(first, again)


def test_steps_leave_the_reference_alone() -> None:
    eiil = model()
    batch = tiny.whole(eiil.prepare(tiny.motifs(4), 0))
    before = [value.clone() for value in eiil.reference.parameters()]
    optimiser = torch.optim.Adam(eiil.parameters(), lr=0.1, weight_decay=0.1)
    terms = eiil.train().step(batch, optimiser)
    assert set(terms) == {"prediction", "penalty"}
    assert all(torch.equal(a, b) for a, b in zip(before, eiil.reference.parameters(), strict=True))


def test_needs_labels() -> None:
    with pytest.raises(ValueError, match="has no labels"):
        model().prepare(replace(tiny.motifs(2), y=None), 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference_epochs": -1}, "reference_epochs must be 0 or more, got -1"),
        ({"reference_learning_rate": 0.0}, "reference_learning_rate must be above 0, got 0.0"),
        ({"penalty": -2.0}, "penalty must be 0 or more, got -2.0"),
        ({"form": "square"}, "did you mean 'squares'"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EIILConfig(**options)
