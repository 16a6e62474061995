"""``gsina report``: tables from result files, beside the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gsina.cli import show
from gsina.cli.bench import RESULTS, ResultsFolder


def report(
    table: Annotated[
        str | None, typer.Argument(help="A table, such as gsat; all of them if left out.")
    ] = None,
    results: ResultsFolder = RESULTS,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the page here, such as docs/results.md."),
    ] = None,
) -> None:
    """Print a table from the runs that are there, or write the page of all tables.

    \b
    [bold]Examples[/]
    gsina report gsat
    gsina report --out docs/results.md
    """
    from rich.markdown import Markdown

    from gsina.experiments.report import markdown, results_page, write_results_page
    from gsina.experiments.results import Results
    from gsina.experiments.tables import make_table

    store = Results(results)
    for path in store.broken():
        show.say(f"{path} is not a whole result file and is left out.", "yellow")
    if out is not None:
        if table is not None:
            raise ValueError("--out writes the page of all tables; leave the table out.")
        write_results_page(out, store)
        show.say(f"written: {out}")
        return
    text = results_page(store) if table is None else markdown(make_table(table), store)
    if show.console.is_terminal:
        show.console.print(Markdown(text))
    else:
        show.say(text)
