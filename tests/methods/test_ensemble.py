"""Several methods that answer as one."""

from __future__ import annotations

import pytest
import torch

import tiny
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.methods.ensemble import Ensemble, mean_logits
from gsina.nn.predictor import NetworkSpec
from gsina.training.evaluate import predict

SMALL = {"hidden_channels": 8, "num_layers": 2}


def members(method: str = "gsina", count: int = 3, **options: object) -> list:
    spec = NetworkSpec("gin", tiny.FEATURES, 1, SMALL)
    found = []
    for seed in range(count):
        torch.manual_seed(seed)
        found.append(build_method(method, spec, tiny.CLASSES, dict(options)).eval())
    return found


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_the_mean_is_that_of_probabilities_or_values(kind):
    torch.manual_seed(0)
    each = 3 * torch.randn(6, 4, 3, dtype=torch.double)
    metric = "rmse" if kind == "regression" else "accuracy"
    found = mean_logits(each, Task(kind, 3, metric))
    squash = {
        "binary": torch.sigmoid,
        "multiclass": lambda x: x.softmax(-1),
        "regression": lambda x: x,
    }
    assert torch.allclose(squash[kind](found), squash[kind](each).mean(1))


def test_the_mean_of_certain_members_is_finite():
    each = torch.tensor([[[200.0], [180.0]], [[-200.0], [-180.0]], [[200.0], [-200.0]]])
    found = mean_logits(each, Task("binary", 1)).flatten()
    assert found.isfinite().all()
    assert found[0] > 100 > -100 > found[1]
    assert found[2] == 0


def test_it_answers_with_the_mean_and_keeps_what_its_members_say():
    graphs, every = tiny.ragged(), members()
    found = predict(Ensemble(every), graphs, 3, states="label")
    alone = [predict(one, graphs, 3, states="label") for one in every]
    shares = torch.stack([one.logits.softmax(-1) for one in alone])
    assert torch.allclose(found.logits.softmax(-1), shares.mean(0), atol=1e-6)
    assert torch.equal(found.members, torch.stack([one.logits for one in alone], dim=1))
    for part in ("edge", "node"):
        mean = torch.stack([getattr(one, part) for one in alone]).mean(0)
        assert torch.allclose(getattr(found, part), mean)
    assert found.scores is None
    assert torch.equal(found.states, alone[0].states)


def test_node_states_are_those_of_the_first_member():
    graphs, every = tiny.ragged(), members("erm")
    found = predict(Ensemble(every), graphs, 3, states="node")
    assert torch.equal(found.node_states, predict(every[0], graphs, 3, states="node").node_states)
    assert found.edge is None


def test_one_member_that_depends_on_the_batch_makes_it_depend():
    every = members("erm", 2)
    assert Ensemble(every).batch_invariant
    every[1].batch_invariant = False
    assert not Ensemble(every).batch_invariant


def test_it_unpacks_like_any_output():
    logits, attention = Ensemble(members())(tiny.whole(tiny.ragged()))
    assert logits.shape == (7, 3)
    assert attention.scores is None
