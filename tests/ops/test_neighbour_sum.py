"""Weighted neighbour sums and blockwise scores: against plain torch, values and gradients."""

from __future__ import annotations

import gc
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from gsina.ops import adjacency as adjacency_module
from gsina.ops import neighbour_sum as sums
from gsina.ops import pair_scores as scores
from gsina.ops.adjacency import adjacency
from gsina.ops.compiled import kernels_for_memory, torch_alone
from gsina.ops.neighbour_sum import message_sum, neighbour_sum
from gsina.ops.pair_scores import pair_scores


def graph(nodes: int, edges: int) -> Tensor:
    return torch.randint(nodes, (2, edges), generator=torch.Generator().manual_seed(nodes))


def draw(*shape: int, seed: int = 0) -> Tensor:
    values = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return values.requires_grad_()


@pytest.mark.parametrize(("nodes", "edges"), [(1, 0), (4, 1), (7, 40), (30, 12)])
@pytest.mark.parametrize("with_weights", [False, True])
def test_values_and_gradients(
    nodes: int, edges: int, with_weights: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "BLOCK", 16)  # several blocks, the last one short
    edge_index, h, weight = graph(nodes, edges), draw(nodes, 3), draw(edges, seed=1)
    messages = h[edge_index[0]] * (weight[:, None] if with_weights else 1)
    plain = torch.zeros(nodes, 3, dtype=torch.float64).index_add(0, edge_index[1], messages)
    ours = neighbour_sum(h, edge_index, weight if with_weights else None)
    torch.testing.assert_close(ours, plain)
    wanted = [h, weight] if with_weights else [h]
    pull = draw(nodes, 3, seed=2).detach()
    expected = torch.autograd.grad((plain * pull).sum(), wanted)
    for found, right in zip(
        torch.autograd.grad((ours * pull).sum(), wanted), expected, strict=True
    ):
        torch.testing.assert_close(found, right)


def test_nothing_of_the_size_of_messages_is_kept() -> None:
    edge_index, h = graph(50, 4000), torch.randn(50, 16, requires_grad=True)
    weight = torch.rand(4000, requires_grad=True)
    sizes: list[int] = []

    def keep(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        neighbour_sum(h, edge_index, weight)
        pair_scores(torch.randn(100, 32, requires_grad=True), torch.randn(32), edge_index)
    assert sizes
    assert max(sizes) <= 4000


@pytest.mark.parametrize(("nodes", "edges"), [(4, 1), (7, 40), (30, 12), (3, 200)])
def test_pair_scores(nodes: int, edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "BLOCK", 16)
    monkeypatch.setattr(scores, "UNITS", 2)
    edge_index, table, weight = graph(nodes, edges), draw(2 * nodes, 5), draw(5, seed=1)
    hidden = table[:nodes][edge_index[0]] + table[nodes:][edge_index[1]]
    plain = hidden.relu() @ weight
    ours = pair_scores(table, weight, edge_index)
    torch.testing.assert_close(ours, plain)
    pull = draw(edges, seed=2).detach()
    expected = torch.autograd.grad((plain * pull).sum(), (table, weight))
    found = torch.autograd.grad((ours * pull).sum(), (table, weight))
    for one, right in zip(found, expected, strict=True):
        torch.testing.assert_close(one, right)


def test_edges_are_sorted_once_per_tensor() -> None:
    edge_index = graph(9, 30)
    first = adjacency(edge_index, 9)
    assert adjacency(edge_index, 9) is first
    assert adjacency(edge_index.clone(), 9) is not first
    assert adjacency(edge_index, 12).num_nodes == 12
    edge_index[1, 0] = (edge_index[1, 0] + 1) % 9  # changed in place: sorted again
    again = adjacency(edge_index, 9)
    for edges, own, other in ((again.by_target, 1, 0), (again.by_source, 0, 1)):
        order = edges.order.long()
        assert torch.equal(edges.sorted_end.long(), edge_index[own].sort().values)
        assert torch.equal(edge_index[own][order], edges.sorted_end.long())
        assert torch.equal(edge_index[other][order], edges.other_end.long())
        counts = torch.bincount(edge_index[own], minlength=9)
        assert torch.equal(edges.starts.diff().long(), counts)


def test_forgotten_graphs_leave_nothing_behind() -> None:
    before = len(adjacency_module._SEEN)
    edge_index = graph(5, 20)
    adjacency(edge_index, 5)
    assert len(adjacency_module._SEEN) == before + 1
    del edge_index
    gc.collect()
    assert len(adjacency_module._SEEN) == before


def test_weights_must_fit() -> None:
    with pytest.raises(ValueError, match=r"weights of shape \[3\] for 20 edges"):
        neighbour_sum(torch.randn(5, 2), graph(5, 20), torch.rand(3))


@pytest.mark.usefixtures("with_and_without_kernels")
@pytest.mark.parametrize(
    ("nodes", "edges", "width"), [(1, 0, 3), (4, 1, 5), (7, 40, 16), (30, 99, 37)]
)
@pytest.mark.parametrize("kind", ["states", "edges", "scaled"])
def test_sums_of_messages(nodes: int, edges: int, width: int, kind: str) -> None:
    """In float32 by the kernel, where it was built, beside float64 by torch."""
    edge_index = graph(nodes, edges)
    given = [draw(nodes, width), draw(edges, seed=1), draw(edges, width, seed=2)]
    scale = None if kind != "scaled" else draw(nodes, 1, seed=3).detach()
    found = []
    for dtype in (torch.float64, torch.float32):
        h, weight, states = (one.detach().to(dtype).requires_grad_() for one in given)
        taken = [h, weight] if kind == "states" else [h, weight, states]
        more = () if kind == "states" else (states, None if scale is None else scale.to(dtype))
        summed = message_sum(h, edge_index, weight, *more)
        pull = draw(nodes, width, seed=4).detach().to(dtype)
        found.append([summed, *torch.autograd.grad(summed, taken, pull)])
    for exact, single in zip(*found, strict=True):
        torch.testing.assert_close(single.double(), exact, rtol=1e-5, atol=1e-5)


def test_messages_that_are_no_numbers_stay_so() -> None:
    edge_index, states = torch.tensor([[0, 1], [1, 1]]), torch.zeros(2, 4)
    states[0, 2] = torch.nan
    for edges in (None, torch.zeros(2, 4)):
        found = message_sum(states, edge_index, torch.ones(2), edges)
        assert found.isnan().nonzero().tolist() == [[1, 2]]


def test_an_edge_to_no_node_is_an_error() -> None:
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        message_sum(torch.zeros(2, 4), torch.tensor([[0], [2]]), torch.ones(1))


def test_a_second_derivative_is_right_or_refused() -> None:
    """By the weights of a penalty on the gradient of the states, as PyG's messages have it."""
    edge_index = graph(6, 12)
    h, weight = (draw(6, 4).float().detach(), draw(12, seed=1).float().detach())
    found = []
    for alone in (True, False):
        states, weights = h.clone().requires_grad_(), weight.clone().requires_grad_()
        with torch_alone() if alone else nullcontext():
            summed = message_sum(states, edge_index, weights).pow(2).sum()
            (grad,) = torch.autograd.grad(summed, states, create_graph=True)
        again = grad.pow(2).sum()
        if not alone and kernels_for_memory() is not None:
            with pytest.raises(RuntimeError, match="differentiated again"):
                torch.autograd.grad(again, weights)
            return
        found.append(torch.autograd.grad(again, weights)[0])
    torch.testing.assert_close(*found)
