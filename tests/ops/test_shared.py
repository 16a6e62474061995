"""Sums over processes: two processes with half a batch each against one with the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

from gsina.nn import GraphSinkhornAttention
from gsina.nn.norm import BatchNorm
from gsina.ops.groups import Groups
from gsina.ops.shared import is_shared, shared_batch, whole_batch

CUT = 30


def scores() -> Tensor:
    return torch.linspace(-3, 3, 80, dtype=torch.float64).sin() * 5


def attend(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Weights over the whole batch and a gradient that every element's weight has a part in."""
    from gsina.ops.soft_top_r import exact_weights

    x = x.clone().requires_grad_()
    weights = exact_weights(2 * x, torch.tensor([0.3], dtype=torch.float64), whole_batch(size))
    (weights.square().sum() * 2).backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    return weights.detach(), x.grad


def normalise(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    norm = BatchNorm(4).double()
    x = x.view(-1, 4).clone().requires_grad_()
    y = norm(x)
    (y.pow(3).sum()).backward()
    assert x.grad is not None
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return y.detach(), x.grad, norm.running_mean, norm.running_var


def modules(x: Tensor, budget: float | None = None) -> Tensor:
    """The attention of scope batch on a ring of nodes, without noise."""
    torch.manual_seed(0)
    attention = GraphSinkhornAttention(
        2, None if budget else 0.4, noise=0.0, scope="batch", budget=budget, scorer="plain"
    ).double()
    h = x.view(-1, 2)
    ring = torch.arange(h.size(0))
    edges = torch.stack([ring, ring.roll(-1)])
    edge: Tensor = attention(h, edges).edge
    return edge.detach()


def _work(rank: int, file: str, results: Any) -> None:
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    x = scores()
    part = x[:CUT] if rank == 0 else x[CUT:]
    with shared_batch():
        assert is_shared()
        weights, grad = attend(part, part.numel())
        cells = normalise(x[:24] if rank == 0 else x[24:])
        rings = modules(part), modules(part, budget=9)
    assert not is_shared()
    results[rank] = [value.numpy() for value in (weights, grad, *cells, *rings)]
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> list[list[Tensor]]:
    file = tmp_path_factory.mktemp("ranks") / "meet"
    with mp.get_context("spawn").Manager() as manager:
        results = manager.dict()
        mp.spawn(_work, (str(file), results), nprocs=2)  # type: ignore[no-untyped-call]
        return [[torch.from_numpy(value) for value in results[rank]] for rank in (0, 1)]


def test_soft_top_r_over_the_global_batch(halves: list[list[Tensor]]) -> None:
    weights, grad = attend(scores(), 80)
    torch.testing.assert_close(torch.cat([half[0] for half in halves]), weights)
    torch.testing.assert_close(torch.cat([half[1] for half in halves]), grad)
    assert abs(float(torch.cat([half[0] for half in halves]).mean()) - 0.3) < 1e-9
    assert abs(float(halves[0][0].mean()) - 0.3) > 1e-3, "each half by itself has another mean"


def test_batch_norm_over_the_global_batch(halves: list[list[Tensor]]) -> None:
    expected = normalise(scores())
    for place in (2, 3):
        torch.testing.assert_close(torch.cat([half[place] for half in halves]), expected[place - 2])
    for place in (4, 5):
        for half in halves:
            torch.testing.assert_close(half[place], expected[place - 2])


def test_attention_of_scope_batch_keeps_the_share_over_both(halves: list[list[Tensor]]) -> None:
    both = torch.cat([half[6] for half in halves])
    assert abs(float(both.mean()) - 0.4) < 1e-6
    assert abs(float(halves[0][6].mean()) - 0.4) > 1e-3


def test_a_budget_is_that_of_a_graph_on_average(halves: list[list[Tensor]]) -> None:
    sums = [float(half[7].sum()) for half in halves]  # a graph in each process
    assert sum(sums) == pytest.approx(18)
    assert abs(sums[0] - 9) > 1e-3


def test_alone_nothing_is_shared(tmp_path: Path) -> None:
    with shared_batch():
        assert not is_shared()
        assert whole_batch(3) == Groups.single(3)
