"""The operator under `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gsina import soft_top_r
from gsina.ops.groups import Groups
from gsina.ops.soft_top_r import exact_weights
from transport_problems import random

Function = Callable[[Tensor, Tensor, Tensor], Tensor]
GROUPS = 7


def without_checks(scores: Tensor, ratio: Tensor, index: Tensor) -> Tensor:
    groups = Groups(index, GROUPS, scores.numel())
    return exact_weights(scores.sin() * 2, ratio, groups).square().sum()


def with_checks(scores: Tensor, ratio: Tensor, index: Tensor) -> Tensor:
    return soft_top_r(scores.sin(), ratio, index, num_groups=GROUPS).square().sum()


def sweeps(scores: Tensor, ratio: Tensor, index: Tensor) -> Tensor:
    weights = soft_top_r(scores.sin(), ratio, index, num_groups=GROUPS, solver="sinkhorn")
    return weights.square().sum()


def check_compiled(function: Function, fullgraph: bool) -> None:
    """Value and gradients equal those of the function as it is, also for a second size."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=fullgraph)
    for size in (60, 90):
        inputs = [random(size).requires_grad_(), torch.full((GROUPS,), 0.3, requires_grad=True)]
        index = torch.arange(size) * 5 % GROUPS
        results = []
        for call in (function, compiled):
            value = call(*inputs, index)
            results.append([value.detach(), *torch.autograd.grad(value, inputs)])
        for plain, other in zip(*results, strict=True):
            torch.testing.assert_close(other, plain)


def test_the_exact_solver_is_one_operator_without_a_graph_break() -> None:
    check_compiled(without_checks, fullgraph=True)


@pytest.mark.parametrize("function", [with_checks, sweeps])
def test_the_checked_operator_compiles_with_a_break(function: Function) -> None:
    check_compiled(function, fullgraph=False)


def test_bad_input_is_still_refused() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(with_checks, backend="aot_eager")
    index = torch.arange(60) % GROUPS
    scores = random(60)
    compiled(scores, torch.full((GROUPS,), 0.3), index)
    with pytest.raises(ValueError, match="ratio must lie in"):
        compiled(scores, torch.full((GROUPS,), 1.3), index)


def test_the_operator_keeps_its_contract_with_torch() -> None:
    logits, ratio = random(30), torch.full((GROUPS,), 0.3)
    for index, num in ((torch.arange(30) % GROUPS, GROUPS), (None, 1)):
        torch.library.opcheck(
            torch.ops.gsina.solve_soft_top_r.default,
            (logits, ratio[:num], index, num),
            test_utils=("test_schema", "test_faketensor"),
        )
