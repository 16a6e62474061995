"""Tables and pages from result files; every number comes from a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gsina.data.files import write_aside
from gsina.experiments.results import Results
from gsina.experiments.run import short_commit
from gsina.experiments.tables import TABLES, Cell, Table, make_table

HEADER = """# Results

This page is written by `gsina report`; every number comes from a file in `results/runs/`, which
holds the recipe, the seed, the versions, the hardware and the commit of its run. Mean ± standard
deviation (population, as the paper's) over the seeds that are there; every seed is shown. The epoch
is selected on validation data by the rule of the recipe; the test data are evaluated once, with the
selected weights.
"""


@dataclass(frozen=True)
class Summary:
    """What is known of a cell.

    Attributes:
        cell: The cell.
        values: Value of each seed that has been run.
        results: The result files behind the values.
    """

    cell: Cell
    values: dict[int, float]
    results: tuple[dict[str, Any], ...]

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(list(self.values.values())))

    @property
    def std(self) -> float:
        """Population standard deviation over the seeds."""
        return float(np.std(list(self.values.values())))

    @property
    def missing(self) -> list[int]:
        """Seeds that have not been run."""
        return [seed for seed in self.cell.seeds if seed not in self.values]


def summarise(table: Table, results: Results) -> list[Summary]:
    """Collect the finished runs of a table."""
    summaries = []
    for cell in table.cells:
        found = {job.seed: result for job in cell.jobs if (result := results.load(job))}
        values = {seed: _value(table, result) for seed, result in found.items()}
        summaries.append(Summary(cell, values, tuple(found.values())))
    return summaries


def _value(table: Table, result: dict[str, Any]) -> float:
    name = table.metric or result.get("metric", "accuracy")
    value = result["metrics"]["test"][name]
    if value is None:  # not defined, such as the area under the curve of one class
        return math.nan
    return float(value) * (100 if table.percent else 1)


def markdown(table: Table, results: Results) -> str:
    """A table as Markdown: ours beside the paper's, every seed, and what is missing."""
    summaries = sorted(summarise(table, results), key=lambda one: _order(table, one))
    digits = 2 if table.percent else 3
    lines = [f"## {table.title}", "", f"`gsina bench {table.name}`", ""]
    lines += ["| | data | here | paper | seeds | every seed |", "|---|---|---|---|---|---|"]
    for summary in summaries:
        if summary.values:
            lines.append(_row(summary, digits))
    return "\n".join([*lines, "", *_footnotes(table, summaries)])


def _row(summary: Summary, digits: int) -> str:
    cell = summary.cell
    seeds = sorted(summary.values)
    each = ", ".join(f"{summary.values[seed]:.{digits - 1}f}" for seed in seeds)
    ours = _pair(summary.mean, summary.std if len(seeds) > 1 else None, digits)
    paper = "" if cell.paper is None else _pair(cell.paper.mean, cell.paper.std, digits)
    which = ", ".join(str(seed) for seed in seeds)
    return f"| {cell.row} | {cell.column} | {ours} | {paper} | {which} | {each} |"


def _order(table: Table, summary: Summary) -> tuple[int, int]:
    """Group by column, rows in the order of first appearance."""
    columns = list(dict.fromkeys(cell.column for cell in table.cells))
    rows = list(dict.fromkeys(cell.row for cell in table.cells))
    return columns.index(summary.cell.column), rows.index(summary.cell.row)


def _pair(mean: float, std: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


def _footnotes(table: Table, summaries: Sequence[Summary]) -> list[str]:
    results = [result for summary in summaries for result in summary.results]
    lines = list(table.notes)
    begun = [one for one in summaries if one.values and one.missing]
    if begun:
        seeds = "; ".join(
            f"{one.cell.row} on {one.cell.column} seeds {', '.join(map(str, one.missing))}"
            for one in begun
        )
        lines.append(f"Seeds not run yet: {seeds}.")
    untouched = sum(not one.values for one in summaries)
    if untouched:
        lines.append(
            f"Cells not run yet: {untouched} of {len(summaries)}; "
            f"`gsina bench {table.name} --dry-run` names them."
        )
    if results:
        commits = sorted({short_commit(result["commit"]) for result in results})
        machines = sorted(
            {f"{r['hardware']['cpu']}, {r['hardware']['threads']} thread(s)" for r in results}
        )
        rules = sorted({result["selection"] for result in results})
        torch = sorted({result["versions"]["torch"] for result in results})
        lines.append(
            f"Selection: {', '.join(rules)}. Hardware: {'; '.join(machines)}. torch "
            f"{', '.join(torch)}. Commits: {', '.join(commits)}."
        )
    return [line + "\n" for line in lines]


def results_page(results: Results, findings: str = "") -> str:
    """The whole page: every table of which two cells or more have runs, and the findings.

    One cell says nothing by itself; it may be there only because another table shares it.
    """
    parts = [HEADER]
    not_run = []
    for name in TABLES:
        table = make_table(name)
        if sum(bool(summary.values) for summary in summarise(table, results)) >= 2:
            parts.append(markdown(table, results))
        else:
            not_run.append(f"`{name}`")
    if not_run:
        parts.append(f"Not run yet: {', '.join(not_run)}.\n")
    if findings:
        parts.append(findings)
    return "\n".join(parts)


def write_results_page(path: Path, results: Results) -> None:
    """Write the page; the findings beside it (``<name>.findings.md``) are put at its end."""
    findings = path.with_name(f"{path.stem}.findings.md")
    text = findings.read_text(encoding="utf-8") if findings.exists() else ""
    with write_aside(path) as file:
        file.write(results_page(results, text).encode())
