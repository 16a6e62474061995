"""``gsina report``: tables from result files, beside the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gsina.cli import show
from gsina.cli.bench import RESULTS, ResultsFolder, open_results
from gsina.errors import InputError, check_name


def report(
    table: Annotated[
        str | None, typer.Argument(help="A table, such as gsat; by default all of them.")
    ] = None,
    results: ResultsFolder = RESULTS,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="With a table: folder of its .md and .png; by default [bold]tables[/] in "
            "--results. Without: file that lists the pages of all tables, such as docs/results.md; "
            "they go into a folder of its name.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print a table and write it as Markdown and PNG, or write the pages of all tables.

    Beside that page it writes the others that are made from results: leaderboard.md,
    what-decides.md and own-data-results.md.

    \b
    [bold]Examples[/]
    gsina report gsat
    gsina report sensitivity-r --out docs/tables
    gsina report --out docs/results.md
    """
    if results != RESULTS and not results.is_dir():
        raise InputError(f"there is no folder {results} with results; gsina bench makes one.")
    from gsina.paper.report import pages, table_page
    from gsina.paper.studies.runtime import read_runtime
    from gsina.paper.tables import TABLES, make_table
    from gsina.paper.tables.tuned_cells import jobs_of

    if table is not None:
        check_name(table, [*TABLES, "runtime"], "table")
    store = open_results(results)
    if table is None and out is not None and (out.is_dir() or not out.suffix):
        raise InputError(
            f"--out without a table is the page of all tables, such as docs/results.md, got {out}; "
            "name a table to write its files into a folder."
        )
    folder = _folder(results, out if table is not None else None)
    if table == "runtime":
        from gsina.paper.report.runtime import runtime_markdown, write_runtime

        content = read_runtime(results)
        _print_markdown(runtime_markdown(content))
        _say_written(write_runtime(content, folder))
        return
    wanted = [make_table(name) for name in (TABLES if table is None else [table])]
    for path in store.broken([job for one in wanted for job in jobs_of(one, store)]):
        show.say(f"{path} is not a complete result of its run, so it is left out.", "yellow")
    if table is None:
        try:
            read_runtime(results)
        except FileNotFoundError:
            pass
        except ValueError as problem:
            show.say(f"the runtime is left out: {problem}", "yellow")
    if table is None and out is not None:
        from gsina.paper.report.leaderboard import write_leaderboard
        from gsina.paper.report.own_data import write_own_data
        from gsina.paper.report.what_decides import write_what_decides

        written = pages.write_pages(out, store)
        decides, own = out.with_name("what-decides.md"), out.with_name("own-data-results.md")
        write_what_decides(decides, store)
        write_own_data(own, store)
        board = out.with_name("leaderboard.md")
        write_leaderboard(board, store)
        _say_written([*written, decides, own, board])
        return
    chosen = None if table is None else make_table(table)
    text = pages.all_tables(store) if chosen is None else table_page.markdown(chosen, store)
    _print_markdown(text)
    if chosen is not None:
        _say_written(table_page.write_table(chosen, store, folder))


def _print_markdown(text: str) -> None:
    """Print Markdown, rendered on a terminal."""
    from rich.markdown import Markdown

    if show.console.is_terminal:
        show.console.print(Markdown(text))
    else:
        show.say(text)


def _folder(results: Path, out: Path | None) -> Path:
    """Where the files of one table go."""
    folder = results / "tables" if out is None else out
    if folder.suffix == ".md" or folder.is_file():
        raise InputError(
            f"--out is a folder for the files of one table, got {folder}; leave the table out "
            "to write the page of all tables."
        )
    return folder


def _say_written(written: list[Path]) -> None:
    show.say(f"written: {', '.join(map(str, written))}")
