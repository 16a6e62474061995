"""What a benchmark returns, and how it reads as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.timing import Timing

Cell = str | float | int


@dataclass(frozen=True)
class Table:
    """Rows of cells under a title."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


@dataclass(frozen=True)
class Claim:
    """A number that must stay on one side of a bar."""

    text: str
    value: float
    bar: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the value is on the right side."""
        return self.value >= self.bar if self.at_least else self.value <= self.bar


@dataclass(frozen=True)
class Report:
    """The result of one benchmark."""

    tables: list[Table]
    claims: list[Claim] = field(default_factory=list)


def timing_table(title: str, timings: Mapping[str, Timing], peer: str) -> Table:
    """A row a candidate: its median, its middle half, and its ratio to ``peer``."""
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            round(time.median * 1e3, 3),
            f"{time.low * 1e3:.3f} to {time.high * 1e3:.3f}",
            round(time.median / timings[peer].median, 2),
        )
        for name, time in timings.items()
    ]
    return Table(title, ("what", "median ms", "middle half ms", f"times {peer}"), rows)


def markdown(name: str, report: Report) -> str:
    """The report as plain Markdown text."""
    lines = [f"## {name}", ""]
    for table in report.tables:
        lines += [f"### {table.title}", "", *_table(table.columns, table.rows), ""]
    if report.claims:
        rows: list[tuple[Cell, ...]] = [
            (
                claim.text,
                float(f"{claim.value:.3g}"),
                f"{'at least' if claim.at_least else 'at most'} {claim.bar:g}",
                "yes" if claim.holds else "NO",
            )
            for claim in report.claims
        ]
        lines += [*_table(("claim", "measured", "bar", "holds"), rows), ""]
    return "\n".join(lines)


HEADER = """# Speed

This page is written by `python -m benchmarks --page docs/speed.md`; every number comes from a file
in `results/bench/`. Where there are candidates, they are timed in turns in one process on one
thread, so ratios mean more than seconds. `python -m benchmarks NAME` measures one of them again.
"""


#: What is kept beside them and is not about speed.
STUDIES = ("molecule_default", "graph_default")


def speed_page(folder: Path) -> str:
    """The page of all benchmarks that are kept in a folder."""
    parts = [HEADER]
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if "tables" in content and path.stem not in STUDIES:
            tables = [
                Table(one["title"], tuple(one["columns"]), [tuple(row) for row in one["rows"]])
                for one in content["tables"]
            ]
            claims = [
                Claim(one["text"], one["value"], one["bar"], one["at_least"])
                for one in content["claims"]
            ]
            cpu, torch = content["hardware"]["cpu"], content["versions"]["torch"]
            made = f"{cpu}, torch {torch}, commit {content['commit'][:10]}.\n"
            parts += [markdown(content["benchmark"], Report(tables, claims)), made]
    return "\n".join(parts)


def _table(columns: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> list[str]:
    cells = [columns, *[tuple(str(cell) for cell in row) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
