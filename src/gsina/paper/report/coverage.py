"""The page about coverage: what was promised on validation rows, and what test rows say."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.paper.studies.coverage import EPOCHS, sources
from gsina.runs.provenance import short_commit

PAGE = "coverage.md"
HEAD = """# Coverage of sets and intervals, measured

`gsina predict` gives a set of classes, or an interval, that is to hold the truth in nine rows of
ten ([how far to trust an answer](how-to/uncertainty.md)). This page counts how
often it does, on test rows that neither training nor validation has seen. It is written by
`gsina bench coverage` from `results/bench/coverage.json`, which has every run with its recipe,
seed, versions and commit. Models of molecules are networks alone here (`--no-trees`).
"""
COLUMNS = ("data", "test", "coverage", "worst class", "size", "with --shift", "size", "labels")


def coverage_page(content: dict[str, Any]) -> str:
    """The page of a measurement."""
    rows: list[dict[str, Any]] = content["rows"]
    wanted = rows[0]["plain"]["wanted"]
    cells = [
        (source.label, split, *_cells(some))
        for name, source in sources().items()
        for split in source.splits
        if (some := [row for row in rows if (row["data"], row["split"]) == (name, split)])
    ]
    lines = [HEAD, *_summary(rows, wanted), "", markdown_table(COLUMNS, cells).rstrip()]
    commits = dict.fromkeys(short_commit(row["commit"]) or "unknown" for row in rows)
    machine, torch = rows[-1]["hardware"], rows[-1]["versions"]["torch"]
    lines += [
        "",
        f"Means over seeds, of coverage ± their standard deviation; {_seeds(rows)}. A seed draws "
        "the split where it is drawn and seeds the training, which had at most "
        f"{EPOCHS} epochs: the promise does not depend on how good a model is, the size does. "
        "Size: classes per set, or the width of the interval in units of the target. Worst class: "
        "the class with the least coverage, all targets together. `--shift` weights validation "
        "rows by how likely they are among the test rows.",
        "",
        f"Hardware: {machine['cpu']}, {machine['threads']} thread(s). torch {torch}. Commit: "
        f"{', '.join(commits)}.",
        "",
    ]
    return "\n".join(lines)


def write_page(folder: Path, content: dict[str, Any]) -> Path:
    """Write the page into a folder."""
    save_text(folder / PAGE, coverage_page(content))
    return folder / PAGE


def _summary(rows: list[dict[str, Any]], wanted: float) -> list[str]:
    """One line per rule: the mean over sets of data, as it stands and corrected."""
    lines = []
    for split in dict.fromkeys(row["split"] for row in rows):
        some = [row for row in rows if row["split"] == split]
        sets = dict.fromkeys(row["data"] for row in some)
        plain, shift = (
            statistics.fmean(
                statistics.fmean(row[how]["found"] for row in some if row["data"] == name)
                for name in sets
            )
            for how in ("plain", "shift")
        )
        lines.append(
            f"* **{split}** test: {100 * plain:.1f} % in the mean of {len(sets)} sets of data, "
            f"{100 * shift:.1f} % with `--shift`; promised were {100 * wanted:g} %."
        )
    return lines


def _cells(rows: list[dict[str, Any]]) -> list[str]:
    worst = [min(row["plain"]["by_class"].values()) for row in rows if row["plain"]["by_class"]]
    labels = round(statistics.fmean(row["plain"]["labels"] for row in rows))
    return [
        _percent(row["plain"]["found"] for row in rows),
        _percent(worst) if worst else "",
        _size(row["plain"]["size"] for row in rows),
        _percent(row["shift"]["found"] for row in rows),
        _size(row["shift"]["size"] for row in rows),
        f"{labels:,}",
    ]


def _percent(shares: Iterable[float]) -> str:
    values = [100 * share for share in shares]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread}"


def _size(sizes: Iterable[float | None]) -> str:
    known = list(sizes)
    if any(size is None for size in known):
        return "∞"
    return f"{statistics.fmean(size for size in known if size is not None):.2f}"


def _seeds(rows: list[dict[str, Any]]) -> str:
    seeds = sorted({row["seed"] for row in rows})
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
