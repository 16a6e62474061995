"""The page of users' files: what the default is worth beside what people would use instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.paper.grid.results import Results
from gsina.paper.report.comparisons import compare, in_words
from gsina.paper.report.summaries import Summary, summarise
from gsina.paper.report.table_page import markdown
from gsina.paper.tables import make_table
from gsina.paper.tables.own import RIVALS, SOURCES

HEADER = """# The default on users' files

{findings}
## Ranks

This part is written by `gsina report`; every number comes from a file in `results/runs/`. A rank is
that of the mean test ROC-AUC over seeds among the rows that are run on the same data, 1 for the
best; data without molecules have no forest.

"""


def write_own_data(path: Path, results: Results) -> None:
    """Write the page; the findings beside it (``<name>.findings.md``) are put at its beginning."""
    findings = path.with_name(f"{path.stem}.findings.md")
    text = findings.read_text(encoding="utf-8") if findings.exists() else ""
    save_text(path, own_data_page(results, text))


def own_data_page(results: Results, findings: str = "") -> str:
    """The whole page; the findings stand first."""
    table = make_table("own")
    summaries = summarise(table, results)
    chosen = {one.title for one in SOURCES if one.chosen_on}
    parts = [HEADER.format(findings=findings)]
    for title, inside in (
        ("Data that nothing was chosen on", False),
        ("Data whose training rows helped to choose", True),
    ):
        own = [one for one in summaries if (_source(one) in chosen) == inside]
        parts.append(f"### {title}\n\n{_ranks(own)}")
    parts.append("## The default against each, seed by seed\n\n" + _differences(summaries))
    parts.append(markdown(table, results, run_only=True))
    return "\n".join(parts)


def ranks(summaries: Sequence[Summary]) -> dict[str, list[float]]:
    """The rank of every rival on every column on which the default was run; ties share theirs."""
    found: dict[str, list[float]] = {}
    for column in dict.fromkeys(one.cell.column for one in summaries):
        means = {
            one.cell.row: one.mean
            for one in summaries
            if one.cell.column == column and one.cell.row in RIVALS and one.values
        }
        if "default" not in means or len(means) < 2:
            continue
        for row, mean in means.items():
            better = sum(other > mean for other in means.values())
            equal = sum(other == mean for other in means.values())
            found.setdefault(row, []).append(better + (equal + 1) / 2)
    return found


def _ranks(summaries: Sequence[Summary]) -> str:
    found = ranks(summaries)
    if not found:
        return "Not run yet.\n"
    rows = [
        [row, f"{np.mean(places):.2f}", str(sum(place == 1 for place in places)), str(len(places))]
        for row, places in sorted(found.items(), key=lambda item: float(np.mean(item[1])))
    ]
    return markdown_table(("", "mean rank", "times first", "of"), rows)


def _differences(summaries: Sequence[Summary]) -> str:
    rows = []
    for rival in RIVALS:
        for one in compare(summaries, "default", rival) if rival != "default" else ():
            worse = one.difference < -2 * one.standard_error  # never of one seed: that is NaN
            told = "more than two standard errors below" if worse else ""
            rows.append([rival, one.column, in_words(one), told])
    if not rows:
        return "Not run yet.\n"
    return markdown_table(("against", "data", "difference in points", ""), rows)


def _source(summary: Summary) -> str:
    return summary.cell.column.partition(",")[0]
