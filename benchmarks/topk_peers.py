"""Other soft top-k operators, each called on ragged groups as its users would call it.

Most know rows of one length only, so groups are padded to the longest for them, and the padding is
part of their time. Two that are in no registry are written here from their papers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from typing import Any

import torch
from torch import Tensor

#: Weights ``[N]`` from scores ``[N]``, the group of each ``[N]`` ascending, and a number to keep
#: per group ``[G]``.
Peer = Callable[[Tensor, Tensor, Tensor], Tensor]

#: What would have been measured if it could be installed by its name, and why it is not.
ABSENT = {
    "fast-soft-sort": "not in the registry; torchsort is the same in C++",
    "LML": "not in the registry, where lml is another project; written from its paper",
    "LapSum": "not in the registry; written from its paper",
}


def installed() -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that can be called, and why others cannot."""
    found: dict[str, Peer] = {"LML": lml, "LapSum": lapsum}
    missing = dict(ABSENT)
    for name, peer in (("entmax", entmax), ("torchsort", torchsort), ("difftopk", difftopk)):
        try:
            with redirect_stdout(StringIO()):
                __import__(name)
        except ImportError:
            missing[name] = f"not installed; pip install --no-build-isolation {name}"
        else:
            found[name] = peer
    return found, missing


def entmax(scores: Tensor, index: Tensor, keep: Tensor) -> Tensor:
    """Entmax's budget bisection: ``clip(s + dual, 0, 1)``, 50 halvings."""
    from entmax import budget_bisect

    budget = keep.to(scores.dtype).unsqueeze(1)
    return _on_rows(lambda rows: budget_bisect(rows, budget), scores, index, keep.numel(), 1.0)


def torchsort(scores: Tensor, index: Tensor, keep: Tensor) -> Tensor:
    """Fast soft ranks (Blondel et al., 2020), cut to [0, 1] at the k-th."""
    from torchsort import soft_rank

    def weigh(rows: Tensor) -> Tensor:
        first = rows.size(1) - keep.unsqueeze(1)
        return (soft_rank(rows) - first).clamp(0, 1)  # type: ignore[no-any-return]

    longest = float(torch.bincount(index).max())
    return _on_rows(weigh, scores, index, keep.numel(), longest)


def difftopk(scores: Tensor, index: Tensor, keep: Tensor) -> Tensor:
    """Relaxed sorting networks (Petersen et al., 2022), a network for each length and k."""
    sizes = torch.bincount(index, minlength=keep.numel()).tolist()
    if len({*sizes}) == 1 and len({*keep.tolist()}) == 1:
        return _by_network(scores.view(len(sizes), -1), int(keep[0])).flatten()
    parts = zip(torch.split(scores, sizes), keep.tolist(), strict=True)
    return torch.cat([_by_network(part.unsqueeze(0), int(k))[0] for part, k in parts if len(part)])


def _by_network(rows: Tensor, k: int) -> Tensor:
    size = rows.size(1)
    power = 1 << (size - 1).bit_length()
    low = float(rows.detach().min()) - 10
    filled = torch.nn.functional.pad(rows.float(), (0, power - size), value=low)
    return _network(power, k)(filled)[1].sum(2)[:, :size].to(rows.dtype)  # type: ignore[no-any-return]


@cache
def _network(size: int, k: int) -> Any:
    from difftopk import DiffTopkNet

    return DiffTopkNet("bitonic", size, k, steepness=2.0, distribution="logistic")


def lml(scores: Tensor, index: Tensor, keep: Tensor) -> Tensor:
    """Limited multi-label projection (Amos et al., 2019): ``sigmoid(2 s + dual)``, by tenths."""
    return _on_rows(lambda rows: _weigh_lml(2 * rows, keep), scores, index, keep.numel())


def _weigh_lml(rows: Tensor, keep: Tensor) -> Tensor:
    with torch.no_grad():
        order = rows.sort(1, descending=True).values
        last = (rows.isfinite().sum(1) - 1).clamp(min=0)
        low = -order.gather(1, (keep - 1).clamp(min=0).unsqueeze(1)) - 7
        high = -order.gather(1, torch.minimum(keep, last).unsqueeze(1)) + 7
        steps = torch.linspace(0, 1, 10, dtype=rows.dtype)
        while float((high - low).max()) > 1e-4:
            duals = low + (high - low) * steps
            sums = torch.stack([torch.sigmoid(rows + one).sum(1) for one in duals.split(1, 1)], 1)
            above = (sums < keep.unsqueeze(1)).sum(1, keepdim=True).clamp(1, 9)
            low, high = duals.gather(1, above - 1), duals.gather(1, above)
        weights = torch.sigmoid(rows + (low + high) / 2)
    return _Implicit.apply(rows, weights, weights * (1 - weights))  # type: ignore[no-any-return,no-untyped-call]


def lapsum(scores: Tensor, index: Tensor, keep: Tensor) -> Tensor:
    """LapSum (Struski et al., 2025): sums of Laplace distributions, in closed form after a sort."""

    def weigh(rows: Tensor) -> Tensor:
        with torch.no_grad():
            weights, slope = _solve_laplace(2 * rows, keep.to(rows.dtype).unsqueeze(1))
        return _Implicit.apply(2 * rows, weights, slope)  # type: ignore[no-any-return,no-untyped-call]

    return _on_rows(weigh, scores, index, keep.numel())


def _solve_laplace(rows: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Weights ``F(x + b)`` with the sum ``keep``, and their slopes.

    Where j of the sorted x lie above -b, the sum is ``j - C / (2 u) + D u / 2`` with ``u = e^b``, C
    the sum of ``e^-x`` over these and D that of ``e^x`` over the others.
    """
    x = rows.sort(1, descending=True).values
    padding = x.isinf()
    number = torch.arange(1, x.size(1) + 1, dtype=x.dtype).expand_as(x)
    above = torch.logcumsumexp((-x).masked_fill(padding, -torch.inf), 1)
    below = torch.logcumsumexp(x.flip(1), 1).flip(1)
    below = torch.cat([below[:, 1:], below.new_full((len(x), 1), -torch.inf)], 1)
    sums = number - (above + x).exp() / 2 + (below - x).exp() / 2
    sums = sums.masked_fill(padding, torch.inf)
    count = (sums <= keep).sum(1, keepdim=True)
    at = (count - 1).clamp(min=0)
    shift = x.gather(1, at)
    c = torch.where(count > 0, (above.gather(1, at) + shift).exp(), 0)
    d = (torch.where(count > 0, below.gather(1, at), torch.logsumexp(x, 1, True)) - shift).exp()
    gap = count - keep
    root = (gap.square() + c * d).sqrt()
    u = torch.where(gap > 0, c / (gap + root), (root - gap) / d)
    centred = rows - shift + u.log()
    half = (-centred.abs()).exp() / 2
    return torch.where(centred > 0, 1 - half, half), half


class _Implicit(torch.autograd.Function):
    """Weights that add up to a constant: ``f (g - <f, g> / <f>)`` with their slopes f."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weights: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        pull = (slope * grad).sum(1, keepdim=True) / slope.sum(1, keepdim=True)
        return slope * (grad - pull), None, None


def _on_rows(
    weigh: Callable[[Tensor], Tensor],
    scores: Tensor,
    index: Tensor,
    groups: int,
    below: float = torch.inf,
) -> Tensor:
    """Weights ``[N]`` by a function of rows ``[G, L]``, filled up far below the least of each.

    Args:
        weigh: From rows to weights of the same shape.
        scores: Scores ``[N]``.
        index: Group of every score ``[N]``, ascending.
        groups: Number of groups G.
        below: How far below the least score of a group its row is filled.
    """
    if groups == 1:
        return weigh(scores.unsqueeze(0))[0]
    sizes = torch.bincount(index, minlength=groups)
    place = torch.arange(index.numel()) - (sizes.cumsum(0) - sizes)[index]
    least = scores.new_full((groups,), torch.inf)
    least = least.scatter_reduce(0, index, scores.detach(), "amin") - below
    rows = least.unsqueeze(1).repeat(1, int(sizes.max())).index_put((index, place), scores)
    return weigh(rows)[index, place]
