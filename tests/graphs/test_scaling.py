from __future__ import annotations

import json
from dataclasses import replace

import torch

from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import apply_scaling, find_scaling


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
    data = replace(graph(x), mask=mask)
    scaling = json.loads(json.dumps(find_scaling(data)))
    (found,) = apply_scaling(scaling, data)
    inside = found.x[mask].double()
    torch.testing.assert_close(inside.mean(0), torch.zeros(2).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        inside.std(0, unbiased=False), torch.ones(2).double(), atol=1e-6, rtol=0
    )
    # Other nodes change nothing.
    x = x.clone()
    x[~mask] = 1e9
    assert find_scaling(replace(data, x=x)) == scaling


def test_a_constant_becomes_one_and_zero_stays_zero() -> None:
    data = graph(torch.tensor([[7e5, 1.0, 0.0, 0.1]] * 3))
    (found,) = apply_scaling(find_scaling(data), data)
    torch.testing.assert_close(found.x, torch.tensor([[1.0, 1.0, 0.0, 1.0]] * 3))
    assert find_scaling(data)["node"]["scale"] == [1, 1, 1, 1]


def test_shared_features_stay_shared_and_nothing_is_done_without_a_scaling() -> None:
    data = graph(torch.tensor([[1.0], [3.0]]))
    one, other = apply_scaling(find_scaling(data), data, replace(data, mask=torch.ones(2).bool()))
    assert one.x is other.x
    assert one.x.tolist() == [[-1], [1]]
    assert data.x.tolist() == [[1], [3]]
    assert apply_scaling({}, data)[0] is data


def molecules(values: torch.Tensor) -> PackedGraphs:
    """As many graphs of one node, with categories, and with features of the whole graph."""
    count = len(values)
    return PackedGraphs(
        x=torch.ones(count, 1, dtype=torch.long),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        node_ptr=torch.arange(count + 1),
        edge_ptr=torch.zeros(count + 1, dtype=torch.long),
        graph_attr=values,
    )


def test_features_of_graphs_survive_gaps_and_outliers() -> None:
    torch.manual_seed(0)
    values = torch.randn(500, 4) * 3 + 100
    values[:, 1] = (values[:, 1] > 100).float()  # bits stay bits
    values[:, 2] = 0
    values[0, 2] = 7  # rare, but not a constant
    values[0, 0], values[1, 0] = 3e38, float("nan")
    values[:, 3] = 5
    data = molecules(values)
    scaling = json.loads(json.dumps(find_scaling(data)))
    assert set(scaling) == {"graph"}  # categories have no units
    (found,) = apply_scaling(scaling, data)
    scaled = found.graph_attr
    assert scaled is not None
    assert found.x is data.x
    assert scaled[0, 0] == 10
    assert scaled[1, 0] == 0
    assert 0.8 < float(scaled[2:, 0].std()) < 1.25
    assert torch.equal(scaled[:, 1], values[:, 1])
    assert scaled[0, 2] == 10
    assert scaled[:, 3].eq(0).all()
    (new,) = apply_scaling(scaling, molecules(torch.tensor([[float("-inf"), 1.0, 0.0, 6.0]])))
    assert new.graph_attr is not None
    assert new.graph_attr[0, 0] == -10


def test_features_of_graphs_do_not_hang_on_the_others() -> None:
    torch.manual_seed(0)
    values = torch.rand(20, 3)
    scaling = find_scaling(molecules(values))
    (whole,) = apply_scaling(scaling, molecules(values))
    (one,) = apply_scaling(scaling, molecules(values[3:4]))
    assert whole.graph_attr is not None
    assert one.graph_attr is not None
    assert torch.equal(one.graph_attr[0], whole.graph_attr[3])
