"""The runtime table as Markdown and its files."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.paper.numbers import paper_number
from gsina.paper.studies.runtime import DATA, PLAIN, ROWS
from gsina.runs.provenance import short_commit

OURS = "GSINA, scope graph"
#: What the seconds of our method are compared with, and the aim.
BARS = {
    PLAIN: "at most 3 on SPMotif and NCI1",
    "GSAT": "at most 1.10",
    "CIGAv2": "below 1",
}
TITLE = f"Runtime: a training epoch as a multiple of {PLAIN}'s"


def runtime_markdown(content: dict[str, Any], picture: str | None = None) -> str:
    """The table: ratios to the plain network here, with their spread, and in the paper.

    Args:
        content: What was measured.
        picture: Link to a picture to show above the rows.
    """
    found, data = by_cell(content)
    lines = [f"## {TITLE}", "", "`gsina bench runtime`", ""]
    if picture is not None:
        lines += [f"![{TITLE}]({picture})", ""]
    seconds = (f"{statistics.median(found[PLAIN, name]['seconds']):.2f}" for name in data)
    rows = [(f"{PLAIN}, seconds", *seconds)]
    rows += [
        (row, *(_cell(row, name, found[row, name]) for name in data))
        for row in ROWS
        if row != PLAIN and all((row, name) in found for name in data)
    ]
    lines.append(markdown_table(("", *(DATA[name][1] for name in data)), rows).rstrip())
    lines += _against_peers(found, data)
    machine, made = content["hardware"], short_commit(content["commit"]) or "unknown"
    quick = " A quick run: a few batches only." if content["quick"] else ""
    missing = [label for name, (_, label, _) in DATA.items() if name not in data]
    rest = f" Not measured, as their data were not there: {', '.join(missing)}." if missing else ""
    lines += [
        "",
        "Medians over epochs, lowest and highest of them, and the paper's ratio; all rows take "
        "turns batch by batch in one process. The paper's seconds are of another machine (a GPU), "
        "and its DrugOOD is IC50, here EC50: compare ratios. Its GSINA per graph, and its CIGA, "
        f"loop over graphs in Python, as the padded loop does here.{quick}{rest}\n",
        f"Hardware: {machine['cpu']}, {machine['threads']} thread(s). torch "
        f"{content['versions']['torch']}. Commit: {made}.\n",
    ]
    return "\n".join(lines)


def by_cell(content: dict[str, Any]) -> tuple[dict[tuple[str, str], dict[str, Any]], list[str]]:
    """What was measured by row and dataset, and the datasets in the order of the table."""
    found = {(one["row"], one["dataset"]): one for one in content["rows"]}
    return found, [name for name in DATA if (PLAIN, name) in found]


def write_runtime(content: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``runtime.md`` and ``runtime.png``; returns the two."""
    page, picture = folder / "runtime.md", folder / "runtime.png"
    save_picture(content, picture)
    save_text(page, runtime_markdown(content, picture.name))
    return [page, picture]


def save_picture(content: dict[str, Any], path: Path) -> None:
    """Draw what was measured."""
    # Matplotlib takes a second to import, and only pictures need it.
    from gsina.explain.pictures.save import save_figure
    from gsina.paper.figures.runtime import draw_runtime

    save_figure(draw_runtime(content), path)


def paper_ratio(row: str, dataset: str) -> float:
    """The paper's seconds as a multiple of its plain network's."""
    ours, plain = (
        paper_number("runtime", name, "ciga", DATA[dataset][2]) for name in (ROWS[row][2], "erm")
    )
    assert ours is not None  # the paper has every row and column of this table
    assert plain is not None
    return ours.mean / plain.mean


def _against_peers(found: dict[tuple[str, str], dict[str, Any]], data: list[str]) -> list[str]:
    """Our method as multiples of others, and what was aimed at."""
    if not all((row, name) in found for row in (OURS, *BARS) for name in data):
        return []
    rows = []
    for peer, bar in BARS.items():
        ratios = []
        for name in data:
            pairs = zip(found[OURS, name]["seconds"], found[peer, name]["seconds"], strict=True)
            ratios.append(f"{statistics.median(ours / theirs for ours, theirs in pairs):.2f}")
        rows.append((f"times {peer}", *ratios, str(bar)))
    heads = (OURS, *(DATA[name][1] for name in data), "aim")
    return ["", markdown_table(heads, rows).rstrip()]


def _cell(row: str, dataset: str, one: dict[str, Any]) -> str:
    ratios = one["ratios"]
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    paper = paper_ratio(row, dataset)
    return f"{statistics.median(ratios):.2f}{spread}; paper {paper:.2f}"
