"""Nodes by the number of messages that they receive."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gsina.ops.host import at_hand, count_members


class Receivers(NamedTuple):
    """The nodes that receive one message, and those that receive several.

    All aggregates of one message are that message, so only the second kind has something to
    aggregate. In trees and molecules that is a part of the nodes.

    Attributes:
        one: Nodes that receive one message ``[N1]``.
        one_edge: The edge that it comes by ``[N1]``.
        several: Nodes that receive several ``[N2]``.
        several_edge: The edges that they come by ``[E2]``, ascending.
        several_row: Row in ``several`` of the receiver of each of these edges ``[E2]``.
        several_count: Number of messages ``[N2]``.
        place: Row of every node ``[N]`` in: one row for all that receive none, then ``one``, then
            ``several``.
    """

    one: Tensor
    one_edge: Tensor
    several: Tensor
    several_edge: Tensor
    several_row: Tensor
    several_count: Tensor
    place: Tensor


def sort_receivers(target: Tensor, num_nodes: int) -> Receivers:
    """Sort nodes by what they receive.

    Args:
        target: Node that receives the message of every edge ``[E]``.
        num_nodes: Number of nodes N.
    """
    count = count_members(target, num_nodes)
    if not at_hand(target):
        return _all_as_several(target, count)
    one, several = (count == 1).nonzero().squeeze(1), (count > 1).nonzero().squeeze(1)
    place = torch.zeros_like(count)
    place[one] = torch.arange(1, 1 + one.numel(), device=target.device)
    first = 1 + one.numel()
    place[several] = torch.arange(first, first + several.numel(), device=target.device)
    row = place.index_select(0, target)
    one_edge = torch.empty_like(one)
    lone = (row < first).nonzero().squeeze(1)
    one_edge[row.index_select(0, lone) - 1] = lone
    edges = (row >= first).nonzero().squeeze(1)
    return Receivers(
        one=one,
        one_edge=one_edge,
        several=several,
        several_edge=edges,
        several_row=row.index_select(0, edges) - first,
        several_count=count.index_select(0, several),
        place=place,
    )


def _all_as_several(target: Tensor, count: Tensor) -> Receivers:
    """All nodes as such that receive several, so that their number is known beforehand."""
    nodes = torch.arange(count.numel(), device=target.device)
    none = nodes[:0]
    return Receivers(
        one=none,
        one_edge=none,
        several=nodes,
        several_edge=torch.arange(target.numel(), device=target.device),
        several_row=target,
        several_count=count,
        place=torch.where(count > 0, nodes + 1, 0),
    )
