"""``gsina explain``: a page that shows what a model looks at in new data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gsina.cli import show
from gsina.cli.options import Device, Threads
from gsina.cli.predict import Edges, File, Force, Nodes, Run, Smiles, check_out, open_model
from gsina.cli.progress import Count


def explain(
    run: Run,
    file: File = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page: one HTML file.")] = Path(
        "page.html"
    ),
    top: Annotated[
        int,
        typer.Option(
            min=1,
            max=500,
            help="How many graphs (or nodes) to show: those that the model is surest of; of "
            "numbers, those with the largest predictions.",
        ),
    ] = 20,
    smiles: Smiles = None,
    nodes: Nodes = None,
    edges: Edges = None,
    force: Force = False,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Write a page that shows which part of each graph the model looks at.

    The page is one file that opens in any browser, also offline. It shows graphs with
    their predictions, and has sliders for how much of each graph is kept. Open a graph
    to ask what if: remove bonds or atoms, change features, and see the answer change.
    A model of graphs without attention is explained by GNNExplainer, which the page says.

    \b
    [bold]Examples[/]
    gsina explain run new.csv --top 20 -o page.html
    gsina explain run --nodes nodes.csv --edges edges.csv -o page.html
    gsina explain run graph.pt -o page.html
    """
    model, files = open_model(run, file, nodes, edges, threads, device)
    from gsina.explain.new_data import explain_files

    check_out(out, files, force)
    with Count("predicting") as count:
        done = explain_files(
            model,
            files,
            out,
            top=top,
            names=smiles or None,
            model_name=run.resolve().name,
            on_rows=count.update,
        )
    if done.unreadable:
        show.say(f"{done.unreadable:,} of {done.rows:,} rows could not be read and are left out")
    show.say(f"open in a browser: {out}")
