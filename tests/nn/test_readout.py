"""Readout against plain loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gsina.nn.readout import READOUTS, readout
from gsina.ops.groups import Groups

OF_GRAPH = torch.tensor([0, 0, 0, 2, 2, 3])  # graph 1 has no nodes
GRAPHS = Groups(OF_GRAPH, 4, 6)


def looped(h: Tensor, how: str, weight: Tensor) -> Tensor:
    rows = []
    for graph in range(4):
        mine, scale = h[graph == OF_GRAPH], weight[graph == OF_GRAPH]
        weighted = mine * scale[:, None]
        if len(mine) == 0:
            rows.append(torch.zeros(h.size(1)))
        elif how == "max":
            rows.append(weighted.max(0).values)
        else:
            total = weighted.sum(0)
            rows.append(total / scale.sum() if how == "mean" else total)
    return torch.stack(rows)


@pytest.mark.parametrize("how", READOUTS)
def test_against_a_loop(how: str) -> None:
    h, weight = torch.randn(6, 5), torch.rand(6)
    torch.testing.assert_close(readout(h, GRAPHS, how, weight), looped(h, how, weight))
    torch.testing.assert_close(readout(h, GRAPHS, how), looped(h, how, torch.ones(6)))


@pytest.mark.parametrize("how", READOUTS)
def test_ones_change_nothing(how: str) -> None:
    h = torch.randn(6, 5)
    assert torch.equal(readout(h, GRAPHS, how), readout(h, GRAPHS, how, torch.ones(6)))


@pytest.mark.parametrize("how", READOUTS)
def test_one_group_without_an_index(how: str) -> None:
    h, weight = torch.randn(6, 5), torch.rand(6)
    index = Groups(torch.zeros(6, dtype=torch.long), 1, 6)
    torch.testing.assert_close(
        readout(h, Groups.single(6), how, weight), readout(h, index, how, weight)
    )


def test_mean_of_weights_that_are_all_zero_is_zero_and_has_a_gradient() -> None:
    h = torch.randn(6, 5, requires_grad=True)
    weight = torch.zeros(6, requires_grad=True)
    pooled = readout(h, GRAPHS, "mean", weight)
    assert bool((pooled == 0).all())
    pooled.sum().backward()
    assert weight.grad is not None
    assert bool(weight.grad.isfinite().all())


@pytest.mark.parametrize("how", READOUTS)
def test_half_precision_states_stay_half(how: str) -> None:
    """Attention is float32 in every model; the head behind the readout is not."""
    assert readout(torch.randn(6, 5).bfloat16(), GRAPHS, how, torch.rand(6)).dtype == torch.bfloat16


def test_weights_of_zero_have_a_finite_gradient() -> None:
    h = torch.randn(3, 2, requires_grad=True)
    weight = torch.zeros(3, requires_grad=True)
    pooled = readout(h, Groups(torch.tensor([0, 0, 1]), 2, 3), "mean", weight)
    assert pooled.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    (10 * pooled.sum()).backward()
    assert weight.grad is not None
    torch.testing.assert_close(weight.grad, 10 * h.detach().sum(1))
