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
from gsina.runs.data import FileData
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
            a trial counts as its part of the first seed of every cell that it decides. A cell
            without a number counts more, the fewer others of its column lack one.
        done: How many runs of the cell are done, of how many.
    """

    job: Job
    seconds: float
    cell: Cell
    tables: list[str] = field(default_factory=list)
    worth: float = 0.0
    done: tuple[int, int] = (0, 1)


@dataclass(frozen=True)
class Plan:
    """What to run now, and what not.

    Attributes:
        chosen: Runs that fit into the time, the most worth per second first.
        later: Other runs that could be made.
        unknown: How many runs of each kind there are of which nobody knows how long they take.
        missing: How many runs wait for the files of each dataset.
        unmade: How many wait for each file that their table makes before it is run.
    """

    chosen: list[Planned]
    later: list[Planned]
    unknown: Counter[str]
    missing: Counter[str]
    unmade: Counter[str]

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
    prepared: bool = True,
) -> Plan:
    """Choose runs, those that several tables show once.

    Args:
        tables: The tables.
        results: What is done.
        seconds: The time that there is.
        processes: How many runs are made at a time.
        leave_out: Names of jobs that failed, and of datasets that cannot be loaded.
        prepared: Whether the tables have made the files that they make.
    """
    times = Times(results)
    found: dict[str, Planned] = {}
    unknown: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    unmade: Counter[str] = Counter()
    seen: set[str] = set()
    for table in tables:
        factor = FACTOR if table.name in DECISIVE else 1.0
        cells = resolve(table, results).cells
        left = [waiting(cell, results) for cell in cells]
        for cell, jobs, near in zip(cells, left, _nearness(cells, left), strict=True):
            done = len(cell.jobs) - len(jobs), len(cell.jobs)
            for job, worth in _worth(cell, jobs, factor, near):
                known = times.of(job)
                if job.name in leave_out or job.recipe.data.name in leave_out:
                    continue
                if not job.recipe.data.at_hand():
                    made = table.prepare is not None and _is_made(job) and not prepared
                    kind = unmade if made else missing
                    kind[job.recipe.data.name] += job.name not in seen
                elif known is None:
                    unknown[kind_name(job.recipe)] += job.name not in seen
                else:
                    new = Planned(job, max(known, 1.0), cell, done=done)
                    one = found.setdefault(job.name, new)
                    one.worth += worth
                    one.tables += [] if table.name in one.tables else [table.name]
                seen.add(job.name)
    chosen, later = _fill(list(found.values()), seconds, processes)
    return Plan(chosen, later, +unknown, +missing, +unmade)


def _is_made(job: Job) -> bool:
    """Whether its data are a file in the cache folder."""
    data = job.recipe.data
    return isinstance(data, FileData) and any(name.startswith("cache:") for name in data.files)


def waiting(cell: Cell, results: Results) -> list[Job]:
    """The jobs of a cell that are left: without those that diverged, and stopped trials."""
    return [job for job in pending(cell.jobs, results) if not stopped_in(cell, job, results)]


def _nearness(cells: Sequence[Cell], left: Sequence[list[Job]]) -> list[float]:
    """How near each cell's column is to a number in every cell; 1 for a cell that has one.

    The last of ten cells without a number counts ten times what the first did.
    """
    lacks = [
        bool(cell.trials) or len(jobs) == len(cell.jobs)
        for cell, jobs in zip(cells, left, strict=True)
    ]
    every = Counter(cell.column for cell in cells)
    lacking = Counter(cell.column for cell, lack in zip(cells, lacks, strict=True) if lack)
    return [
        every[cell.column] / lacking[cell.column] if lack else 1.0
        for cell, lack in zip(cells, lacks, strict=True)
    ]


def _worth(cell: Cell, left: list[Job], factor: float, near: float) -> list[tuple[Job, float]]:
    """The runs that a cell lacks, with what each is worth; the first makes its column nearer."""
    if cell.trials:
        return [(job, factor * near / len(cell.jobs)) for job in left]
    done = len(cell.jobs) - len(left)
    worth = [factor / (done + at) for at in range(1, len(left) + 1)]
    return list(zip(left, [one * near for one in worth[:1]] + worth[1:], strict=True))


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
