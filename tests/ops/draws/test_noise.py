"""Noise that belongs to a graph: uniform, the same in every batch, another in every draw."""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.draws.noise import negative_gumbel, own_noise
from gsina.ops.groups import Groups


def graphs(count: int, seed: int = 0) -> list[Tensor]:
    source = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, 60, (count,), generator=source).tolist()
    return [torch.randint(0, 30, (2, size), generator=source) for size in sizes]


def batch(parts: list[Tensor]) -> tuple[Tensor, Groups]:
    edges = torch.cat([part + 30 * number for number, part in enumerate(parts)], 1)
    index = torch.cat([torch.full((part.size(1),), number) for number, part in enumerate(parts)])
    return edges, Groups(index, len(parts), index.numel())


def test_a_graph_has_the_same_noise_in_every_batch() -> None:
    parts = graphs(8)
    edges, groups = batch(parts)
    together = own_noise(edges, groups, 3)
    for number, part in enumerate(parts):
        alone = own_noise(part, Groups.single(part.size(1)), 3)
        own = groups.index == number
        assert torch.equal(together.each[own], alone.each)
        assert torch.equal(together.order[own], alone.order)
        assert torch.equal(together.group[number : number + 1], alone.group)
    assert groups.index is not None
    places = torch.cat([torch.arange(part.size(1)) for part in parts])
    mixed = places.argsort(stable=True)  # the graphs' edges in turn
    scattered = Groups(groups.index[mixed], groups.num, groups.size)
    assert torch.equal(own_noise(edges[:, mixed], scattered, 3).each, together.each[mixed])


def test_noise_is_uniform_and_independent() -> None:
    edges, groups = batch(graphs(2000))
    first, second = own_noise(edges, groups, 0), own_noise(edges, groups, 1)
    columns = torch.stack([first.each, first.order, second.each, second.order])
    count = columns.size(1)
    assert count > 50_000
    bins = torch.stack([torch.histc(column, 20, 0, 1) for column in columns]) * 20 / count
    assert float((bins - 1).abs().max()) < 5 * (20 / count) ** 0.5
    off = torch.corrcoef(columns) - torch.eye(4)
    assert float(off.abs().max()) < 5 / count**0.5
    neighbours = torch.corrcoef(torch.stack([first.each[1:], first.each[:-1]]))
    assert float(neighbours[0, 1].abs()) < 5 / count**0.5
    assert float((first.group.mean() - 0.5).abs()) < 5 / (12 * 2000) ** 0.5


def test_gumbel_noise_has_its_moments_and_is_finite() -> None:
    uniform = torch.rand(100_000, generator=torch.Generator().manual_seed(0))
    uniform[0] = 0
    noise = -negative_gumbel(uniform)
    assert bool(noise.isfinite().all())
    assert abs(float(noise.mean()) - 0.5772) < 0.02
    assert abs(float(noise.var()) - 1.6449) < 0.05
