"""The pages of results: a short one per benchmark, its finding first, and one that lists them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.paper.grid.results import Results
from gsina.paper.report.runtime import runtime_markdown, save_picture
from gsina.paper.report.summaries import summarise
from gsina.paper.report.table_page import DRAWN, draw_table, markdown
from gsina.paper.studies.runtime import read_runtime
from gsina.paper.tables import TABLES, make_table
from gsina.paper.tables.tuned_cells import jobs_of

#: The one table that is no grid of runs.
RUNTIME = "runtime"


class Page(NamedTuple):
    """A page of results: its file, its title, and the tables on it."""

    name: str
    title: str
    tables: tuple[str, ...]


PAGES = (
    Page("spurious-motif", "Spurious-Motif: the GSAT benchmark", ("gsat", "draws", "plain")),
    Page("molecules", "Molecules: the OGB sets", ("gsat-ogbg",)),
    Page(
        "ablation",
        "What the parts of GSINA are worth",
        (
            "ablation",
            "connectivity",
            "sensitivity-r",
            "sensitivity-r-more",
            "sensitivity-tau",
            "sensitivity-tau-pna",
        ),
    ),
    Page(
        "explanations",
        "Explanations",
        (
            "interpret-auc",
            "interpret-p5",
            "interpret-long",
            "explainer-trials",
            "explanations",
            "certified",
        ),
    ),
    Page("ciga-motifs", "The CIGA benchmark: motifs", ("ciga-spm",)),
    Page("ciga-real", "The CIGA benchmark: real data", ("ciga-real", "ciga-more")),
    Page("nodes", "Nodes: the EERM benchmark", ("node", "node-facebook")),
    Page("good", "The GOOD benchmark, rebuilt", ("good",)),
    Page("peers", "Newer peers, beside their own numbers", ("peers",)),
    Page(RUNTIME, "Runtime", (RUNTIME,)),
)
#: Tables on the pages of :mod:`~gsina.paper.report.what_decides` and
#: :mod:`~gsina.paper.report.own_data`.
ELSEWHERE = (
    "own",
    "recommended",
    "recommended-more",
    "recommended-ciga",
    "factors",
    "factors-nodes",
    "factors-molecules",
    "transport",
    "ideas",
)
#: Other pages of results, beside the list, and what they say.
FURTHER = {
    "leaderboard": "which method stands where over all benchmarks, and how sure that is",
    "own-data-results": "what the default is worth on users' files, beside a forest and boosting",
    "coverage": "how often sets and intervals of predictions hold the truth",
    "properties": "how sparse, soft and differentiable three ways to extract a subgraph are",
    "galleries": "what trained models looked at, in random graphs of three datasets",
    "speed": "how long each part takes, as ratios measured in one run",
}

ABOUT = """Every number comes from a file in `results/runs/`, which holds the recipe, the seed, the
versions, the hardware and the commit of its run; the runtime's from `results/bench/runtime.json`.
Mean ± standard deviation (population, as the paper's; of a sample in the CIGA benchmark, as there)
over the seeds that are there; every seed is shown. The epoch is selected on validation data by the
rule of the recipe; the test data are evaluated once, with the selected weights.
"""
HEADER = f"""# Results

A short page per benchmark, its finding first, written by `gsina report`. What decides more than any
method, and the recommended recipe, are in [what decides](what-decides.md).

{ABOUT}"""


def tables_shown(results: Results) -> dict[str, str]:
    """Every table that has runs of its own, or half of its cells, as Markdown, by name.

    Some cells may be there only because other tables share them.
    """
    tables = {name: make_table(name) for name in TABLES}
    jobs = {name: {job.name for job in jobs_of(one, results)} for name, one in tables.items()}
    shown = {}
    for name, table in tables.items():
        if name in ELSEWHERE:
            continue
        shared = set().union(*(names for other, names in jobs.items() if other != name))
        run = [one for one in summarise(table, results) if one.values]
        done = {job.name for one in run for job in one.cell.jobs if job.seed in one.values}
        if 2 * len(run) >= len(table.cells) or done - shared:
            # The pictures of tables say no more than the tables; those of curves do.
            # Where there is no number of the paper either, a row without runs says nothing.
            alone = all(cell.paper is None for cell in table.cells)
            picture = _picture(name) if name in DRAWN else None
            shown[name] = markdown(table, results, picture, run_only=alone)
    runtime = _runtime(results)
    if runtime is not None:
        shown[RUNTIME] = runtime_markdown(runtime, _picture(RUNTIME))
    return shown


def all_tables(results: Results) -> str:
    """Every table below the next, for the terminal."""
    shown = tables_shown(results)
    return "\n".join([f"# Results\n\n{ABOUT}", *shown.values(), *_not_run(shown)])


def page_text(page: Page, shown: dict[str, str], findings: str = "") -> str:
    """One page: what was found, then the tables."""
    said = [findings] if findings else []
    about = "What the columns are, and where the numbers come from: [results](../results.md).\n"
    return "\n".join([f"# {page.title}\n", *said, about, *_tables(page, shown)])


def list_text(shown: dict[str, str], findings: dict[str, str]) -> str:
    """The page that lists the others, each with its finding."""
    rows = [
        (f"[{page.title}](results/{page.name}.md)", _claim(findings.get(page.name, "")))
        for page in PAGES
        if _tables(page, shown)
    ]
    table = [markdown_table(("page", "finding"), rows)] if rows else []
    more = [
        (f"[{name.replace('-', ' ').capitalize()}]({name}.md)", said)
        for name, said in FURTHER.items()
    ]
    further = [markdown_table(("page", "says"), more)]
    return "\n".join([HEADER, *table, *further, *_not_run(shown)])


def write_pages(path: Path, results: Results) -> list[Path]:
    """Write the list, the pages in a folder of its name, and their pictures in ``img`` beside it.

    What was found is written by hand, in ``findings/<page>.md`` in that folder. Returns the pages.
    """
    shown = tables_shown(results)
    folder = path.with_suffix("")
    findings = read_findings(folder)
    save_text(path, list_text(shown, findings))
    written = [path]
    for page in PAGES:
        if _tables(page, shown):
            written.append(folder / f"{page.name}.md")
            save_text(written[-1], page_text(page, shown, findings.get(page.name, "")))
    for name in DRAWN:
        if name in shown:
            draw_table(make_table(name), results, path.parent / "img" / f"{name}.png")
    runtime = _runtime(results)
    if runtime is not None:
        save_picture(runtime, path.parent / "img" / f"{RUNTIME}.png")
    return written


def read_findings(folder: Path) -> dict[str, str]:
    """What was found, by the name of the page."""
    found = {page.name: folder / "findings" / f"{page.name}.md" for page in PAGES}
    return {name: file.read_text(encoding="utf-8") for name, file in found.items() if file.exists()}


def _tables(page: Page, shown: dict[str, str]) -> list[str]:
    return [shown[name] for name in page.tables if name in shown]


def _claim(findings: str) -> str:
    """The first paragraph of the findings, in one line."""
    return " ".join(findings.split("\n\n")[0].split()).replace("](../", "](").replace("**", "")


def _not_run(shown: dict[str, str]) -> list[str]:
    names = ", ".join(f"`{name}`" for name in TABLES if name not in {*shown, *ELSEWHERE})
    said = f"Not run yet, but for runs that they share with other tables: {names}.\n"
    return [said] if names else []


def _picture(name: str) -> str:
    return f"../img/{name}.png"


def _runtime(results: Results) -> dict[str, Any] | None:
    """What was measured of the runtime; ``None`` if there is no complete measurement."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return read_runtime(results.root)
    return None
