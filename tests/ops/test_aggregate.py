"""multi_aggregate and aggregate_multiples against explicit loops, and their gradients."""

from __future__ import annotations

import pytest
import torch

from gsina.ops.aggregate import AGGREGATORS, aggregate_multiples, multi_aggregate


def by_loop(messages, target, num_nodes, aggregators):
    rows = []
    for node in range(num_nodes):
        mine = messages[target == node]
        if len(mine) == 0:
            zero = messages.new_zeros(messages.size(1))
            found = dict.fromkeys(("mean", "min", "max", "sum"), zero)
            found["std"] = (zero + 1e-5).sqrt()
        else:
            mean = mine.mean(0)
            variance = torch.relu(mine.square().mean(0) - mean.square())
            found = {
                "mean": mean,
                "min": mine.amin(0),
                "max": mine.amax(0),
                "sum": mine.sum(0),
                "std": (variance + 1e-5).sqrt(),
            }
        rows.append(torch.cat([found[name] for name in aggregators]))
    return torch.stack(rows)


@pytest.mark.parametrize("aggregators", [AGGREGATORS, ("mean", "min", "max", "std"), ("max",)])
def test_equals_a_loop_over_nodes(aggregators):
    torch.manual_seed(0)
    messages = torch.randn(30, 4, dtype=torch.float64)
    target = torch.randint(0, 9, (30,))
    target[target == 4] = 5  # node 4 gets no message
    found = multi_aggregate(messages, target, 10, aggregators)
    torch.testing.assert_close(found, by_loop(messages, target, 10, aggregators))


def test_gradient_equals_autograd_through_the_loop():
    torch.manual_seed(0)
    messages = torch.randn(20, 3, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 6, (20,))
    weight = torch.randn(7, 15, dtype=torch.float64)
    ours = torch.autograd.grad((multi_aggregate(messages, target, 7) * weight).sum(), messages)
    theirs = torch.autograd.grad(
        (by_loop(messages, target, 7, AGGREGATORS) * weight).sum(), messages
    )
    torch.testing.assert_close(ours, theirs)


def test_equal_extremes_share_the_gradient():
    messages = torch.tensor([[1.0], [1.0], [0.0]], dtype=torch.float64, requires_grad=True)
    multi_aggregate(messages, torch.tensor([0, 0, 0]), 1, ("max",)).sum().backward()
    assert messages.grad is not None
    assert messages.grad.flatten().tolist() == [0.5, 0.5, 0.0]


def test_no_messages_at_all():
    found = multi_aggregate(torch.zeros(0, 2), torch.zeros(0, dtype=torch.long), 3, ("mean", "std"))
    assert found[:, :2].abs().max() == 0
    torch.testing.assert_close(found[:, 2:], torch.full((3, 2), 1e-5).sqrt())


@pytest.mark.parametrize("aggregators", [AGGREGATORS, ("std", "min"), ("max",)])
def test_multiples_of_the_own_state_need_no_messages(aggregators):
    torch.manual_seed(0)
    states = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
    factors = torch.randn(30, 1, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 9, (30,))  # the last node gets no message
    found = aggregate_multiples(states, multi_aggregate(factors, target, 10), aggregators)
    expected = by_loop(factors * states[target], target, 10, aggregators)
    torch.testing.assert_close(found.flatten(1), expected)
    mix = torch.randn_like(expected)
    ours = torch.autograd.grad((found.flatten(1) * mix).sum(), (states, factors))
    theirs = torch.autograd.grad((expected * mix).sum(), (states, factors))
    torch.testing.assert_close(ours, theirs)


def test_a_multiple_of_zero_has_the_gradient_of_one_extreme():
    states = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    factors = multi_aggregate(torch.ones(2, 1, dtype=torch.float64), torch.tensor([0, 0]), 1)
    aggregate_multiples(states, factors, ("max",)).sum().backward()
    assert states.grad is not None
    assert float(states.grad) == 1
