"""Timing of several candidates side by side, so that a busy machine slows all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import quantiles
from time import perf_counter
from typing import NamedTuple

import torch

Candidate = Callable[[], object]


#: Most calls of one candidate in a round.
MOST = 20


class Timing(NamedTuple):
    """Seconds of one call: median, quartiles, how often it was measured, and the least."""

    median: float
    low: float
    high: float
    calls: int
    least: float


@contextmanager
def threads(number: int = 1) -> Iterator[None]:
    """Let torch use this many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def interleaved(
    candidates: Mapping[str, Candidate],
    seconds: float,
    warmup: int = 2,
    at_least: int = 5,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Timing]:
    """Call the candidates in turn, round after round, on one thread.

    In a round a quick candidate is called several times, up to ``MOST``, as long as it takes less
    time than the slowest one.

    Args:
        candidates: What to time, by name.
        seconds: Time to spend in all; a round that has begun is finished.
        warmup: Rounds that do not count.
        at_least: Rounds to make however long they take.
        clock: Seconds; ``time.process_time`` does not count what other processes take.
    """
    with threads():
        begin = perf_counter()
        for _ in range(warmup):
            once = {name: _measure(call, clock) for name, call in candidates.items()}
        slowest = max(once.values())
        calls = {name: min(max(int(slowest / own), 1), MOST) for name, own in once.items()}
        seen: dict[str, list[float]] = {name: [] for name in candidates}
        rounds = 0
        while rounds < at_least or perf_counter() - begin < seconds:
            for name, call in candidates.items():
                seen[name] += [_measure(call, clock) for _ in range(calls[name])]
            rounds += 1
    return {name: _timing(values) for name, values in seen.items()}


def _measure(call: Candidate, clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def _timing(values: list[float]) -> Timing:
    low, median, high = quantiles(values, n=4, method="inclusive")
    return Timing(median, low, high, len(values), min(values))
