"""``gsina bench``: figures and tables of the paper, made here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gsina.cli import show
from gsina.cli.options import Threads, use_threads

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Make the figures and tables of the paper.

    \b
    [bold]Examples[/]
    gsina bench convergence
    """


@app.command()
def convergence(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the page and figure.")] = Path(
        "docs"
    ),
    threads: Threads = None,
) -> None:
    """Measure how fast the paper's sweeps converge, beside the rate that theory gives.

    \b
    [bold]Examples[/]
    gsina bench convergence
    gsina bench convergence --out /tmp/convergence
    """
    from gsina.experiments.convergence import write_convergence

    use_threads(threads)
    write_convergence(out)
    show.say(f"the figure and its page are in {out}")
