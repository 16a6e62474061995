"""The leaderboard: every method over all benchmarks on which methods are tuned alike."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.paper.figures.critical_difference import critical_difference_picture
from gsina.paper.grid.results import Results
from gsina.paper.report.ranking import Ranking, rank_methods
from gsina.paper.report.summaries import Summary, pair, summarise
from gsina.paper.tables import make_table
from gsina.paper.tables.ciga import EC50, ORACLE, TU

#: A column counts if each of these has a number in it.
REQUIRED = ("GSINA", "ERM", "GSAT", "CIGAv2")
#: Names of rows that other tables have for the same.
SAME = {"GSINA": "GSINA, recommended", "plain network": "ERM, recommended"}
PICTURE = "img/leaderboard.svg"

HEADER = """# Leaderboard

{findings}Methods are to be ranked over the columns of four benchmarks: the TU sets with a size
shift, DrugOOD (EC50), the motifs of the CIGA benchmark, and GOOD, rebuilt ([good.md](good.md)). On
each, every method has as many trials as any other, and the trial that is best on validation data
decides. *Recommended* is the recipe of [what decides](what-decides.md), which was chosen on other
data; the other rows have the network of the benchmark. The page is written by `gsina report`; every
number comes from a file in `results/runs/`.
"""


@dataclass(frozen=True)
class Entry:
    """A cell of the leaderboard: what is known of it, and the table that runs it."""

    summary: Summary
    table: str

    @property
    def value(self) -> float | None:
        """Mean over seeds; minus infinity if all have diverged; ``None`` if nothing is known."""
        if self.summary.values:
            mean = self.summary.mean
            return -math.inf if math.isnan(mean) else mean
        return -math.inf if self.summary.diverged else None


@dataclass(frozen=True)
class Column:
    """A column of a benchmark, and what every method has there."""

    suite: str
    label: str
    entries: dict[str, Entry] = field(default_factory=dict)

    def counts(self, required: Sequence[str] = REQUIRED) -> bool:
        """Whether all that are needed have a number, or diverged."""
        return not self.missing(required)

    def missing(self, required: Sequence[str] = REQUIRED) -> list[str]:
        """Who of those that are needed has none."""
        known = {name for name, entry in self.entries.items() if entry.value is not None}
        return [name for name in required if name not in known]


def collect(results: Results) -> list[Column]:
    """All columns, benchmark by benchmark."""
    real, motifs = _entries("ciga-real", results), _entries("ciga-spm", results)
    ours, good = _entries("recommended-ciga", results), _entries("good", results)
    suites = {
        "TU": dict.fromkeys(TU.values(), real),
        "DrugOOD EC50": dict.fromkeys(EC50.values(), real),
        "CIGA motifs": dict.fromkeys(dict.fromkeys(column for _, column in motifs), motifs),
        "GOOD": dict.fromkeys(
            dict.fromkeys(column for row, column in good if row == "GSINA, recommended"), good
        ),
    }
    return [
        Column(suite, label, _of_column(label, (cells, ours)))
        for suite, columns in suites.items()
        for label, cells in columns.items()
    ]


def _entries(table: str, results: Results) -> dict[tuple[str, str], Entry]:
    """The cells of a table by row and column."""
    return {
        (one.cell.row, one.cell.column): Entry(one, table)
        for one in summarise(make_table(table), results)
        if one.cell.row != ORACLE
    }


def _of_column(label: str, tables: Iterable[dict[tuple[str, str], Entry]]) -> dict[str, Entry]:
    return {
        row: entry for cells in tables for (row, column), entry in cells.items() if column == label
    }


def rank(columns: Sequence[Column]) -> Ranking:
    """Rank the methods that have a number in every one of the columns."""
    everywhere = [
        name
        for name in dict.fromkeys(name for column in columns for name in column.entries)
        if all(name not in column.missing([name]) for column in columns)
    ]
    return rank_methods({name: [_value(column, name) for column in columns] for name in everywhere})


def _value(column: Column, name: str) -> float:
    value = column.entries[name].value
    assert value is not None
    return value


def write_leaderboard(path: Path, results: Results) -> None:
    """Write the page and its picture; findings beside it (``<name>.findings.md``) come first."""
    findings = path.with_name(f"{path.stem}.findings.md")
    text = findings.read_text(encoding="utf-8") if findings.exists() else ""
    columns = collect(results)
    save_text(path, leaderboard_page(columns, results, text))
    ranking = rank([column for column in columns if column.counts()])
    title = f"Mean ranks over {ranking.columns} columns"
    save_text(path.parent / PICTURE, critical_difference_picture(ranking, title))


def leaderboard_page(columns: Sequence[Column], results: Results, findings: str = "") -> str:
    """The page."""
    counted = [column for column in columns if column.counts()]
    ranking = rank(counted)
    parts = [
        HEADER.format(findings=f"{findings}\n" if findings else ""),
        _overall(ranking, columns, counted),
        _suites(columns),
        _draws(results),
        "## Every cell\n\nMean ± standard deviation over seeds, the number of seeds in brackets, "
        "of those that are planned. "
        "The command runs the column again, from its trials on, into a new folder; `--only "
        "'=ROW'`, added to it, runs one cell. On the same machine and thread count the "
        "numbers are the same, bit for bit.\n",
        *(_cells(column) for column in columns if column.counts()),
        _waiting(columns),
    ]
    return "\n".join(part for part in parts if part)


def _overall(ranking: Ranking, columns: Sequence[Column], counted: Sequence[Column]) -> str:
    """The ranking over all columns that count."""
    rule = ", ".join(REQUIRED)
    count = f"{len(counted)} of {len(columns)} columns count: those in which {rule} have a number."
    if not ranking.standings:
        return f"## Over all benchmarks\n\n{count}\n"
    first = ranking.standings[0]
    rows = [
        [
            str(place),
            one.method,
            f"{one.rank:.2f}",
            f"{one.low:.2f} to {one.high:.2f}",
            str(one.wins),
        ]
        for place, one in enumerate(ranking.standings, start=1)
    ]
    ranked = {one.method for one in ranking.standings}
    others = {
        name: sum(not column.missing([name]) for column in counted)
        for name in dict.fromkeys(name for column in columns for name in column.entries)
        if name not in ranked
    }
    lines = [
        f"## Over all benchmarks\n\n{count} Among the {len(ranked)} methods that have a "
        f"number in each of these columns, and only among them, **{first.method}** is first, with "
        f"a mean rank of {first.rank:.2f}.\n",
        f"![Mean ranks; a bar joins methods that are not told apart]({PICTURE})\n",
        markdown_table(("", "method", "mean rank", "95 % interval", "wins"), rows),
        "The interval is over draws of columns with replacement, so it says how much the choice of "
        "benchmarks matters. A bar in the picture joins methods whose mean ranks differ by less "
        f"than {ranking.difference:.2f}, the critical difference of Nemenyi's test at 95 %; "
        f"Friedman's test of whether all are alike gives p {_p(ranking.p)}. Columns of one "
        "benchmark are no independent samples: both tests claim too much rather than too little.\n",
    ]
    if others:
        said = ", ".join(f"{name} ({there})" for name, there in others.items())
        lines.append(
            f"Not ranked, as they have numbers in some of the {len(counted)} columns only (how "
            f"many): {said}.\n"
        )
    return "\n".join(lines)


def _p(value: float) -> str:
    if math.isnan(value):
        return "is not defined"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _suites(columns: Sequence[Column]) -> str:
    """Mean rank of every method on each benchmark, among those that are complete there."""
    found: dict[str, Ranking] = {}
    for suite in dict.fromkeys(column.suite for column in columns):
        counted = [column for column in columns if column.suite == suite and column.counts()]
        if counted:
            found[suite] = rank(counted)
    if not found:
        return ""
    names = dict.fromkeys(one.method for ranking in found.values() for one in ranking.standings)
    rows = [
        [name, *(_place(ranking, name) for ranking in found.values())]
        for name in sorted(names, key=lambda name: _mean_place(found.values(), name))
    ]
    heads = [f"{suite} ({ranking.columns} columns)" for suite, ranking in found.items()]
    return "## Benchmark by benchmark\n\nMean rank, and columns won.\n\n" + markdown_table(
        ("", *heads), rows
    )


def _place(ranking: Ranking, name: str) -> str:
    one = next((one for one in ranking.standings if one.method == name), None)
    return "" if one is None else f"{one.rank:.2f}, {one.wins}"


def _mean_place(rankings: Iterable[Ranking], name: str) -> float:
    ranks = [one.rank for ranking in rankings for one in ranking.standings if one.method == name]
    return sum(ranks) / len(ranks)


def _draws(results: Results) -> str:
    """Spurious-Motif, where fewer methods were run: ranked by itself."""
    cells = _entries("recommended", results)
    columns = [
        Column("Spurious-Motif", label, _renamed(_of_column(label, (cells,))))
        for label in dict.fromkeys(column for _, column in cells)
    ]
    needed = tuple(dict.fromkeys(name for column in columns for name in column.entries))
    counted = [column for column in columns if column.counts(needed)]
    if not counted:
        return ""
    ranking = rank(counted)
    rows = [
        [one.method, f"{one.rank:.2f}", f"{one.low:.2f} to {one.high:.2f}", str(one.wins)]
        for one in ranking.standings
    ]
    text = (
        f"## Spurious-Motif\n\n{len(counted)} of {len(columns)} columns (biases and draws of the "
        "data), all rows with the recommended network and optimiser and four trials each; not "
        "part of the ranking above. Again: `gsina bench recommended --results again`.\n\n"
    )
    return text + markdown_table(("", "mean rank", "95 % interval", "wins"), rows)


def _renamed(entries: dict[str, Entry]) -> dict[str, Entry]:
    return {SAME.get(name, name): entry for name, entry in entries.items()}


def _cells(column: Column) -> str:
    """One column: every method, the best first, with its seeds."""
    there = [name for name in column.entries if not column.missing([name])]
    there.sort(key=lambda name: -_value(column, name))
    known = [(name, column.entries[name]) for name in there]
    rows = [[name, _number(one.summary)] for name, one in known]
    tables = dict.fromkeys(one.table for _, one in known)
    commands = ", ".join(f"`{command(table, column.label)}`" for table in tables)
    return f"### {column.label}\n\n{commands}\n\n" + markdown_table(("", "OOD test"), rows)


def command(table: str, column: str) -> str:
    """What runs a column again."""
    return f"gsina bench {table} --only {shlex.quote('=' + column)} --results again"


def _number(summary: Summary) -> str:
    if not summary.values:
        return "diverged"
    spread = summary.std if len(summary.values) > 1 else None
    planned = f" of {len(summary.cell.jobs)}" if summary.missing else ""
    lost = f", {len(summary.diverged)} diverged" if summary.diverged else ""
    return f"{pair(summary.mean, spread, 2)} ({len(summary.values)}{planned}{lost})"


def _waiting(columns: Sequence[Column]) -> str:
    """The columns that do not count, and what they lack."""
    rows = [
        [
            column.suite,
            column.label,
            ", ".join(column.missing()),
            f"`gsina bench {next(iter(column.entries.values())).table} --only "
            f"{shlex.quote('=' + column.label)}`",
        ]
        for column in columns
        if not column.counts() and column.entries
    ]
    if not rows:
        return ""
    text = (
        "## Columns that do not count yet\n\n`gsina bench --all --budget 3h --jobs 2` runs what is "
        "most useful for the time given; `--dry-run` shows the plan.\n\n"
    )
    return text + markdown_table(("", "column", "no number of", "to run it"), rows)
