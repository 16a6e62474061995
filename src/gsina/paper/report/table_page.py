"""A table from result files, as Markdown and as a picture; every number comes from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.paper.grid.estimate import epoch_times
from gsina.paper.grid.results import Results
from gsina.paper.report.summaries import Summary, digits_of, not_run, ours, pair, summarise
from gsina.paper.tables.table import Table
from gsina.paper.tables.tuned_cells import resolve
from gsina.runs.provenance import short_commit

#: Tables of a swept setting: the option, its symbol, and whether its axis is logarithmic.
SWEPT = {
    "sensitivity-r": ("ratio", "r", False),
    "sensitivity-tau": ("temperature", "τ", True),
}
#: Tables whose picture shows more than the table.
DRAWN = (*SWEPT, "node")


def markdown(
    table: Table, results: Results, picture: str | None = None, *, run_only: bool = False
) -> str:
    """A table as Markdown: ours beside the paper's, every seed, and what is missing.

    Args:
        table: The table.
        results: The runs.
        picture: Link to a picture to show above the rows.
        run_only: Leave rows out that have no runs; a note says how many.
    """
    table = resolve(table, results)
    summaries = sorted(summarise(table, results), key=lambda one: _order(table, one))
    times = epoch_times(results)
    extra = [one.label for one in table.extra]
    columns = ["", "data", "here", "paper", *extra, "seeds", "every seed"]
    lines = [f"## {table.title}", "", f"`gsina bench {table.name}`", ""]
    if picture is not None:
        lines += [f"![{table.title}]({picture})", ""]
    rows = [_row(table, one, times) for one in summaries if one.values or not run_only]
    if rows:
        lines.append(markdown_table(columns, rows))
    return "\n".join([*lines, *_footnotes(table, summaries, notes=bool(rows))])


def _row(table: Table, summary: Summary, times: dict[str, float]) -> list[str]:
    cell, digits = summary.cell, digits_of(table)
    seeds = sorted(summary.values)
    each = ", ".join(f"{summary.values[seed]:.{digits - 1}f}" for seed in seeds)
    further = [summary.further(one) for one in table.extra]
    return [
        cell.row,
        cell.column,
        ours(summary, digits) or ("diverged" if summary.diverged else not_run(cell, times)),
        "" if cell.paper is None else pair(cell.paper.mean, cell.paper.std, digits),
        *("" if found is None else pair(*found, 2) for found in further),
        ", ".join(str(seed) for seed in seeds),
        each,
    ]


def _order(table: Table, summary: Summary) -> tuple[int, int]:
    """Group by column, rows in the order of first appearance."""
    columns = list(dict.fromkeys(cell.column for cell in table.cells))
    rows = list(dict.fromkeys(cell.row for cell in table.cells))
    return columns.index(summary.cell.column), rows.index(summary.cell.row)


def _footnotes(table: Table, summaries: Sequence[Summary], *, notes: bool) -> list[str]:
    results = [result for summary in summaries for result in summary.results]
    lines = list(table.notes) if notes else []
    begun = Counter(
        (len(one.cell.jobs) - len(one.missing), len(one.cell.jobs))
        for one in summaries
        if one.values and one.missing
    )
    if begun:
        counts = ", ".join(f"{cells} with {done} of {of}" for (done, of), cells in begun.items())
        lines.append(
            f"Not all seeds are run in {begun.total()} of {len(summaries)} cells: {counts}."
        )
    diverged = [_seeds(one, one.diverged) for one in summaries if one.diverged]
    if diverged:
        lines.append(f"Diverged, and so in no mean: {'; '.join(diverged)}.")
    untouched = sum(not one.values and not one.diverged for one in summaries)
    if untouched:
        lines.append(
            f"Cells not run yet: {untouched} of {len(summaries)}; "
            f"`gsina bench {table.name} --dry-run` names them."
        )
    if results:
        commits = sorted({short_commit(result["commit"]) or "unknown" for result in results})
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


def _seeds(summary: Summary, seeds: Sequence[int]) -> str:
    """Some seeds of a cell, in words."""
    cell = summary.cell
    return f"{cell.row} on {cell.column} seeds {', '.join(map(str, seeds))}"


def write_table(table: Table, results: Results, folder: Path) -> list[Path]:
    """Write one table as ``<name>.md`` and ``<name>.png``; returns the two."""
    page, picture = folder / f"{table.name}.md", folder / f"{table.name}.png"
    draw_table(table, results, picture)
    save_text(page, markdown(table, results, picture.name))
    return [page, picture]


def draw_table(table: Table, results: Results, path: Path) -> None:
    """Draw a table; one of a swept setting as a curve with an error band."""
    # Matplotlib takes a second to import, and only pictures need it.
    from gsina.explain.pictures.save import save_figure
    from gsina.paper.figures.nodes import draw_node
    from gsina.paper.figures.sensitivity import draw_sweep
    from gsina.paper.figures.table import draw_cells

    summaries = summarise(table, results)
    if table.name in SWEPT:
        save_figure(draw_sweep(table, summaries, *SWEPT[table.name]), path)
    elif table.name == "node":
        save_figure(draw_node(table, summaries), path)
    else:
        save_figure(draw_cells(table, summaries, epoch_times(results)), path)
