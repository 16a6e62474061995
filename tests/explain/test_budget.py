"""The same scores with another budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tiny
from gsina.errors import InputError
from gsina.explain.budget import with_budget
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.ops.budget import Budget
from gsina.training import predict

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})


@pytest.mark.parametrize("undirected", [False, True])
def test_it_is_what_a_model_with_that_budget_says(undirected: bool) -> None:
    graphs = tiny.ragged(undirected=undirected)
    torch.manual_seed(0)
    half = build_method("gsina", SPEC, tiny.CLASSES, {"ratio": 0.5}).eval()
    torch.manual_seed(0)
    three = build_method("gsina", SPEC, tiny.CLASSES, {"budget": 3}).eval()
    found = with_budget(predict(half, graphs), graphs, Budget(count=3))
    right = predict(three, graphs)
    torch.testing.assert_close(found.edge, right.edge, atol=1e-6, rtol=0)
    torch.testing.assert_close(found.node, right.node, atol=1e-6, rtol=0)
    assert torch.equal(found.logits, predict(half, graphs).logits)
    share = with_budget(right, graphs, Budget(share=0.5))
    torch.testing.assert_close(share.edge, predict(half, graphs).edge, atol=1e-6, rtol=0)


def test_without_scores_there_is_nothing_to_solve() -> None:
    graphs = tiny.ragged()
    torch.manual_seed(0)
    found = predict(build_method("gsina", SPEC, tiny.CLASSES, {}).eval(), graphs)
    with pytest.raises(InputError, match="scores"):
        with_budget(replace(found, scores=None), graphs, Budget(share=0.5))
