"""Which unfinished runs of all tables are worth most for the time that there is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from gsina.paper.grid.estimate import Times, kind_name
from gsina.paper.grid.hopeless import stopped_in
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import pending
from gsina.paper.tables.table import Cell, Table
from gsina.paper.tables.tuned_cells import resolve
from gsina.runs.job import Job

#: Tables that decide the leaderboard; what they lack is worth more.
DECISIVE = ("ciga-real", "ciga-spm", "recommended-ciga", "good", "recommended")
FACTOR = 3.0


@dataclass
class Planned:
    """A run that is to be made.

    Attributes:
        job: The run.
        seconds: How long it will take, in one process.
        cell: The first cell that shows it.
        tables: Every table that does.
        worth: What its cells gain, summed: 1 for the first seed of a cell, 1/2 for the second...;
            a trial counts as its part of the first seed of every cell that it decides.
    """

    job: Job
    seconds: float
    cell: Cell
    tables: list[str] = field(default_factory=list)
    worth: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What to run now, and what not.

    Attributes:
        chosen: Runs that fit into the time, the most worth per second first.
        later: Other runs that could be made.
        unknown: How many runs of each kind there are of which nobody knows how long they take.
        missing: How many runs wait for the files of each dataset.
    """

    chosen: list[Planned]
    later: list[Planned]
    unknown: Counter[str]
    missing: Counter[str]

    @property
    def seconds(self) -> float:
        """What the chosen runs take in one process."""
        return sum(one.seconds for one in self.chosen)


def make_plan(
    tables: Iterable[Table],
    results: Results,
    seconds: float = math.inf,
    *,
    processes: int = 1,
    leave_out: Collection[str] = (),
) -> Plan:
    """Choose runs, those that several tables show once.

    Args:
        tables: The tables.
        results: What is done.
        seconds: The time that there is.
        processes: How many runs are made at a time.
        leave_out: Names of jobs that failed, and of datasets that cannot be loaded.
    """
    times = Times(results)
    found: dict[str, Planned] = {}
    unknown: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    seen: set[str] = set()
    for table in tables:
        for cell in resolve(table, results).cells:
            for job, worth in _worth(cell, results, FACTOR if table.name in DECISIVE else 1.0):
                known = times.of(job)
                if job.name in leave_out or job.recipe.data.name in leave_out:
                    continue
                if not job.recipe.data.at_hand():
                    missing[job.recipe.data.name] += job.name not in seen
                elif known is None:
                    unknown[kind_name(job.recipe)] += job.name not in seen
                else:
                    one = found.setdefault(job.name, Planned(job, max(known, 1.0), cell))
                    one.worth += worth
                    one.tables += [] if table.name in one.tables else [table.name]
                seen.add(job.name)
    chosen, later = _fill(list(found.values()), seconds, processes)
    return Plan(chosen, later, +unknown, +missing)


def waiting(cell: Cell, results: Results) -> list[Job]:
    """The jobs of a cell that are left: without those that diverged, and stopped trials."""
    left = pending(cell.jobs, results)
    names = {job.name for job in cell.jobs} if cell.trials else set()
    return [job for job in left if not stopped_in(job, names, results)]


def _worth(cell: Cell, results: Results, factor: float) -> list[tuple[Job, float]]:
    """The runs that a cell lacks, with what each is worth."""
    left = waiting(cell, results)
    if cell.trials:
        return [(job, factor / len(cell.jobs)) for job in left]
    done = len(cell.jobs) - len(left)
    return [(job, factor / (done + at)) for at, job in enumerate(left, start=1)]


def _fill(
    planned: Sequence[Planned], seconds: float, processes: int
) -> tuple[list[Planned], list[Planned]]:
    """Runs that fit, the most worth per second first, and the others."""
    chosen: list[Planned] = []
    later: list[Planned] = []
    left = seconds * processes
    for one in sorted(planned, key=lambda one: -one.worth / one.seconds):
        fits = one.seconds <= min(left, seconds)
        (chosen if fits else later).append(one)
        left -= one.seconds if fits else 0
    return chosen, later
