"""Uniform and Gumbel noise, fresh or a function of a graph's own edges."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gsina.ops.groups import Groups, Runs
from gsina.ops.host import widest

#: In place of 0, which float32 draws once in 2^24 times.
SMALLEST = 2.0**-25
#: Odd numbers that keep what is mixed apart: a draw, an edge's place, the difference of its ends.
DRAW, PLACE, ENDS = 0x632BE59BD9B4E019, 0x1D8E4E27C47D124F, 0x2545F4914F6CDD1D


class Uniform(NamedTuple):
    """Numbers in [0, 1).

    Attributes:
        each: One per element ``[N]``, of whatever type the noise is to have.
        order: Another one per element ``[N]``, float64.
        group: One per group ``[G]``, float64.
    """

    each: Tensor
    order: Tensor
    group: Tensor


def negative_gumbel(uniform: Tensor) -> Tensor:
    """Standard Gumbel noise with its sign turned, from uniform numbers, in their place."""
    return uniform.clamp_(min=SMALLEST).log_().neg_().log_()


def own_noise(edge_index: Tensor, groups: Groups, draw: int) -> Uniform:
    """Noise that a graph gets in every batch, on every device and in every process.

    It is a hash of the graph's edges and of the number of the draw, so that graphs of different
    structure have noises that have nothing to do with each other, and no state is kept.

    Args:
        edge_index: Edges ``[2, E]``.
        groups: The edges of each graph.
        draw: Number of the draw; another one is other noise.
    """
    place = _place(groups, edge_index.device)
    plain = Groups(groups.index, groups.num, groups.size)
    source, target = edge_index
    seed = torch.full((), draw + 1, device=edge_index.device) * DRAW
    graph = _mix(plain.sum(_mix(place * PLACE + (target - source) * ENDS)) + seed)
    key = plain.spread(graph) + place * PLACE
    return Uniform(*(_uniform(_mix(one)) for one in (key, key ^ ENDS, graph ^ PLACE)))


def _place(groups: Groups, device: torch.device) -> Tensor:
    """Which of its group's elements an element is ``[N]``, counted from 0."""
    position = torch.arange(groups.size, device=device)
    runs, order = groups.in_runs
    if not isinstance(runs, Runs):
        return position
    place = position - runs.spread(runs.bounds[:-1])
    return place if order is None else torch.empty_like(place).scatter_(0, order, place)


def _mix(key: Tensor) -> Tensor:
    """Spread the bits of int64 numbers; multiplications are meant to overflow (splitmix64)."""
    key = (key ^ _shift(key, 30)) * -0x40A7B892E31B1A47
    key = (key ^ _shift(key, 27)) * -0x6B2FB644ECCEEE15
    return key ^ _shift(key, 31)


def _shift(key: Tensor, by: int) -> Tensor:
    return (key >> by) & ((1 << (64 - by)) - 1)


def _uniform(key: Tensor) -> Tensor:
    wide = widest(key.device)
    bits = torch.finfo(wide).bits
    digits = 53 if bits == 64 else 24
    return _shift(key, 64 - digits).to(wide) * 2.0**-digits
