"""`soft_top_r` beside other soft top-k operators, on groups of one length, ragged, and large."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks.report import Claim, Report, Table
from benchmarks.timing import interleaved
from benchmarks.topk_peers import Peer, installed
from gsina import soft_top_r

OURS, QUADRATIC = "soft_top_r", "soft_top_r, quadratic"
GROUPS = 128
LARGE = 1_000_000
#: Its matrices have a row per element and a column per element kept.
SMALL_ONLY = ("difftopk",)
Case = tuple[Tensor, Tensor, Tensor]


def run(quick: bool) -> Report:
    peers, missing = installed()
    candidates: dict[str, Peer] = {OURS: _ours("entropic"), QUADRATIC: _ours("quadratic")} | peers
    cases = {
        f"{GROUPS} groups of 64 scores": _case(torch.full((GROUPS,), 64)),
        f"{GROUPS} ragged groups, 6,000 scores in all": _case(_ragged(6_000)),
        f"one group of {LARGE:,} scores": _case(torch.tensor([LARGE])),
    }
    tables, claims = [], []
    for title, case in cases.items():
        large = case[0].numel() >= LARGE
        taken = {n: c for n, c in candidates.items() if not (large and n in SMALL_ONLY)}
        seconds = _least_seconds(taken, case, 2 if quick else 12)
        tables.append(_table(title, taken, case, seconds))
        others = [seconds[name] for name in peers if name in seconds]
        if large:
            text = f"{title}: in times the fastest of the others"
            claims.append(Claim(text, seconds[OURS] / min(others), 1.3))
        elif "ragged" in title:
            text = f"{title}: the fastest of the others takes so many times as long"
            claims.append(Claim(text, min(others) / seconds[OURS], 1, at_least=True))
    rows: list[tuple[str | float | int, ...]] = list(missing.items())
    for name in SMALL_ONLY:
        if name in peers:
            rows.append((name, f"not on {LARGE:,} scores: a matrix of all by those kept"))
    tables.append(Table("what is not as its authors publish it", ("what", "why"), rows))
    return Report(tables, claims)


def _ours(regulariser: str) -> Peer:
    def weigh(scores: Tensor, index: Tensor, keep: Tensor) -> Tensor:
        groups = keep.numel()
        if groups == 1:
            return soft_top_r(scores, float(keep) / scores.numel(), regulariser=regulariser)  # type: ignore[call-overload,no-any-return]
        ratio = keep / torch.bincount(index, minlength=groups)
        return soft_top_r(scores, ratio, index, num_groups=groups, regulariser=regulariser)  # type: ignore[call-overload,no-any-return]

    return weigh


def _ragged(total: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(GROUPS, (total,), generator=generator)
    return torch.bincount(index, minlength=GROUPS)


def _case(sizes: Tensor) -> Case:
    """Scores, the group of each, and half of every group, rounded down, to keep."""
    index = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    scores = torch.randn(index.numel(), generator=torch.Generator().manual_seed(1))
    return scores, index, sizes // 2


def _call(peer: Peer, case: Case) -> Callable[[], Tensor]:
    """Forward and backward."""
    scores, index, keep = case
    upstream = torch.randn(scores.shape, generator=torch.Generator().manual_seed(2)).to(scores)

    def call() -> Tensor:
        x = scores.clone().requires_grad_()
        peer(x, index, keep).backward(upstream)  # type: ignore[no-untyped-call]
        assert x.grad is not None
        return x.grad

    return call


def _least_seconds(candidates: dict[str, Peer], case: Case, seconds: float) -> dict[str, float]:
    calls = {name: _call(peer, case) for name, peer in candidates.items()}
    timings = interleaved(calls, seconds, warmup=1, at_least=2, clock=process_time)
    return {name: timing.least for name, timing in timings.items()}


def _table(title: str, candidates: dict[str, Peer], case: Case, seconds: dict[str, float]) -> Table:
    rows = [
        (
            name,
            round(seconds[name] * 1e3, 3),
            round(seconds[name] / seconds[OURS], 2),
            round(_peak(_call(peer, case)) / case[0].numel(), 1),
            f"{_mean_error(peer, case):.1e}",
            f"{_gradient_error(peer, case):.1e}",
        )
        for name, peer in candidates.items()
    ]
    columns = ("what", "least ms", f"times {OURS}", "bytes per score at the peak")
    columns += ("error of the mean", "error of the gradient")
    return Table(f"{title}, forward and backward", columns, rows)


def _peak(call: Callable[[], object]) -> int:
    """Most bytes of tensors that are there at a time."""
    call()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        call()
    held = most = 0
    for event in watched.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most


def _mean_error(peer: Peer, case: Case) -> float:
    """Largest difference of a group's mean weight from its share."""
    _, index, keep = case
    sums = torch.zeros(keep.numel(), dtype=torch.double)
    sums.index_add_(0, index, peer(*case).detach().double())
    return float(((sums - keep) / torch.bincount(index, minlength=keep.numel())).abs().max())


def _gradient_error(peer: Peer, case: Case, step: float = 1e-4) -> float:
    """Of the derivative along the gradient: its difference from that by small steps, relative."""
    scores, index, keep = case
    upstream = torch.randn(scores.shape, generator=torch.Generator().manual_seed(2))
    gradient = _call(peer, case)().double()
    along = gradient / gradient.abs().max()
    ends = [peer(scores + sign * step * along, index, keep).detach() for sign in (1, -1)]
    expected = float(((ends[0] - ends[1]) * upstream).sum()) / (2 * step)
    return abs(float((gradient * along).sum()) / expected - 1) if expected else torch.inf
