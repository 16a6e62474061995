from __future__ import annotations

import json
from dataclasses import replace

import torch

from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import find_scaling, standardise


def graph(x: torch.Tensor) -> PackedGraphs:
    return PackedGraphs(
        x=x,
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        node_ptr=torch.tensor([0, len(x)]),
        edge_ptr=torch.tensor([0, 2]),
    )


def test_mean_zero_and_variance_one_over_masked_nodes() -> None:
    torch.manual_seed(0)
    x = torch.rand(50, 2) * torch.tensor([1e5, 1e-3]) + torch.tensor([1e6, 0.0])
    mask = torch.arange(50) < 30
    whole = replace(graph(x), mask=mask)
    scaling = json.loads(json.dumps(find_scaling(whole)))
    (found,) = standardise(scaling, whole)
    inside = found.x[mask].double()
    torch.testing.assert_close(inside.mean(0), torch.zeros(2).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        inside.std(0, unbiased=False), torch.ones(2).double(), atol=1e-6, rtol=0
    )
    # Other nodes change nothing.
    x = x.clone()
    x[~mask] = 1e9
    assert find_scaling(replace(whole, x=x)) == scaling


def test_a_constant_becomes_one_and_zero_stays_zero() -> None:
    whole = graph(torch.tensor([[7e5, 1.0, 0.0, 0.1]] * 3))
    (found,) = standardise(find_scaling(whole), whole)
    torch.testing.assert_close(found.x, torch.tensor([[1.0, 1.0, 0.0, 1.0]] * 3))
    assert find_scaling(whole)["node"]["scale"] == [1, 1, 1, 1]


def test_shared_features_stay_shared_and_nothing_is_done_without_a_scaling() -> None:
    whole = graph(torch.tensor([[1.0], [3.0]]))
    one, other = standardise(find_scaling(whole), whole, replace(whole, mask=torch.ones(2).bool()))
    assert one.x is other.x
    assert one.x.tolist() == [[-1], [1]]
    assert whole.x.tolist() == [[1], [3]]
    assert standardise({}, whole)[0] is whole
