"""Summaries of the result files of the cells of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsina.paper.grid.estimate import about, kind_name
from gsina.paper.grid.results import Results, metric_of, ood_score
from gsina.paper.tables.table import ALL_TESTS, Cell, ExtraColumn, Table
from gsina.paper.tables.tuned_cells import resolve


@dataclass(frozen=True)
class Summary:
    """What is known of a cell.

    Attributes:
        cell: The cell.
        values: Value of each seed that has been run.
        results: The result files behind the values.
        diverged: Seeds whose runs diverged.
        sample_std: As of :class:`~gsina.paper.tables.table.Table`.
    """

    cell: Cell
    values: dict[int, float]
    results: tuple[dict[str, Any], ...]
    diverged: tuple[int, ...] = ()
    sample_std: bool = False

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(list(self.values.values())))

    @property
    def std(self) -> float:
        """Standard deviation over the seeds; of a sample only for two or more."""
        return float(np.std(list(self.values.values()), ddof=int(self.sample_std)))

    def further(self, extra: ExtraColumn) -> tuple[float, float | None] | None:
        """Mean and standard deviation of another metric; ``None`` where a run lacks it."""
        tests = [_scores(result, self.cell) for result in self.results]
        if not tests or any(test.get(extra.metric) is None for test in tests):
            return None
        factor = 100 if extra.percent else extra.times
        values = np.array([test[extra.metric] for test in tests]) * factor
        return float(values.mean()), float(values.std(ddof=int(self.sample_std))) if len(
            values
        ) > 1 else None

    @property
    def missing(self) -> list[int]:
        """Seeds that have not been run."""
        known = {*self.values, *self.diverged}
        return [seed for seed in self.cell.seeds if seed not in known]


def summarise(table: Table, results: Results) -> list[Summary]:
    """Collect the finished runs of a table."""
    summaries = []
    for cell in resolve(table, results).cells:
        jobs = [] if cell.trials else cell.jobs  # trials are no values of the cell
        found = {job.seed: result for job in jobs if (result := results.load(job))}
        # A test split whose files were not at hand is not in the result.
        found = {seed: one for seed, one in found.items() if _scores(one, cell)}
        values = {seed: _value(table, cell, result) for seed, result in found.items()}
        diverged = tuple(job.seed for job in jobs if results.diverged(job))
        summaries.append(Summary(cell, values, tuple(found.values()), diverged, table.sample_std))
    return summaries


def _value(table: Table, cell: Cell, result: dict[str, Any]) -> float:
    value = _scores(result, cell).get(table.metric or metric_of(result))
    if value is None:  # not defined, such as the area under the curve of one class
        return math.nan
    return float(value) * (100 if table.percent else 1)


def _scores(result: dict[str, Any], cell: Cell) -> dict[str, Any]:
    """The metrics of a result on the split of a cell, or their mean over all test splits."""
    if cell.split != ALL_TESTS:
        found = result["metrics"]
        if cell.baseline is not None:
            found = result.get("baselines", {}).get("metrics", {}).get(cell.baseline, {})
        return dict(found.get(cell.split, {}))
    value = ood_score(result)
    return {} if value is None else {metric_of(result): value}


def digits_of(table: Table) -> int:
    """Digits after the point of a mean."""
    return 2 if table.percent else 3


def ours(summary: Summary, digits: int) -> str:
    """Mean ± standard deviation as text; empty without runs."""
    if not summary.values:
        return ""
    return pair(summary.mean, summary.std if len(summary.values) > 1 else None, digits)


def not_run(cell: Cell, times: dict[str, float]) -> str:
    """The text in place of a number, with the time of an epoch where it has been measured."""
    seconds = times.get(kind_name(cell.recipe))
    return "not run" if seconds is None else f"not run (about {about(seconds)} s per epoch here)"


def pair(mean: float, std: float | None, digits: int) -> str:
    """Mean ± standard deviation as text."""
    return f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")
