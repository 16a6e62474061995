"""Trials that have fallen far behind are stopped half-way; runs that are reported never are.

A trial of a cell is stopped when :data:`SHARE` of its epochs are done and its best validation score
so far is more than :data:`MARGIN` below what the best finished trial of the cell had after as many
epochs. Both look at validation data only. It is recorded beside the results with what it was behind
of, counts as worse than every other trial, and is not run again; its checkpoint stays in the cache
folder, so that a cell that reports the same run goes on from there, bit for bit. Then its result
counts, as if it had never been stopped.

Nothing is stopped where a score has no common scale (errors in the units of a target), where a cell
has several seeds per trial, whose mean counts, where cells with other trials want the same run, on
users' files, whose runs train baselines too, and behind results that are older than their curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gsina.listeners import Listener, Stopped
from gsina.metrics import METRICS, metric_label, metric_text
from gsina.paper.grid.results import Results, metric_of
from gsina.paper.tables.table import Cell
from gsina.runs.data import FileData
from gsina.runs.job import Job
from gsina.training.selection import SELECTIONS

#: Share of the epochs after which a trial is judged, once.
SHARE = 0.5
#: How far behind it may be.
MARGIN = 0.1


class Rival(NamedTuple):
    """The best finished trial of a cell, and what it had when another is judged."""

    job: Job
    metric: str
    epochs: int
    best: float


def rivals_of(cells: Iterable[Cell]) -> dict[str, tuple[Job, ...]]:
    """The trials beside every trial that may be stopped, by the name of its job.

    Args:
        cells: All that may want one of the jobs. What one of them reports is not stopped, nor what
            is beside other trials in another: it may have no rival there.
    """
    found: dict[str, dict[str, Job]] = {}
    never: set[str] = set()
    for cell in cells:
        jobs = {job.name: job for job in cell.jobs}
        if not cell.trials or len(cell.trial_seeds) > 1:
            never |= jobs.keys()
            continue
        never |= {name for name in jobs if found.setdefault(name, jobs).keys() != jobs.keys()}
    return {name: tuple(jobs.values()) for name, jobs in found.items() if name not in never}


def watching(job: Job, rivals: Sequence[Job], results: Results) -> list[StopIfHopeless]:
    """What stops a trial if it is hopeless; nothing if there is nothing to hold it against."""
    rival = best_rival(job, rivals, results)
    return [] if rival is None else [StopIfHopeless(rival)]


def best_rival(job: Job, rivals: Sequence[Job], results: Results) -> Rival | None:
    """The finished trial with the best validation score; ``None`` if it cannot be compared."""
    if job.recipe.ensemble > 1 or job.recipe.auto_ratio or isinstance(job.recipe.data, FileData):
        return None  # several trainings in one run; of users' files those of baselines
    finished: list[tuple[float, Job, dict[str, Any]]] = []
    for other in rivals:
        result = results.load(other)
        if result is not None:
            score = result["metrics"]["val"][metric_of(result)]
            finished.append((-math.inf if score is None else score, other, result))
    if not finished:
        return None
    _, best, result = max(finished, key=lambda one: one[0])
    known = METRICS[metric_of(result)]
    epochs = math.ceil(SHARE * job.recipe.optimiser.epochs)
    selection = best.recipe.selection
    first = 0 if SELECTIONS[selection.rule].early else selection.first_epoch
    curve = [value for value in result.get("validation", [])[first:epochs] if value is not None]
    if known.unit != "%" or not known.larger_is_better or not curve:
        return None
    return Rival(best, known.name, epochs, max(curve))


class StopIfHopeless(Listener):
    """Raises :class:`Stopped`, with the reason, when a trial is too far behind its rival."""

    def __init__(self, rival: Rival) -> None:
        self.rival = rival
        self.best: float | None = None

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        """Go on from an earlier session, which may have ended just before it was judged."""
        self.best = best
        self._judge(done)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Keep the score of the selected epoch, and judge when it is time."""
        if record["best"]:
            self.best = record["val"][self.rival.metric]
        self._judge(record["epoch"] + 1)

    def _judge(self, done: int) -> None:
        rival = self.rival
        if done != rival.epochs or self.best is None or self.best >= rival.best - MARGIN:
            return
        ours, theirs = (metric_text(value, rival.metric) for value in (self.best, rival.best))
        raise Stopped(
            f"stopped after epoch {done}: validation {metric_label(rival.metric)} {ours}, where "
            f"the best trial had {theirs}."
        )


def stopped_in(cell: Cell, job: Job, results: Results) -> str | None:
    """Why a trial of a cell was stopped, behind another of it; ``None`` if it was not."""
    found = results.stopped(job) if cell.trials else None
    behind = found is not None and any(found["behind"] == one.name for one in cell.jobs)
    return found["message"] if found is not None and behind else None
