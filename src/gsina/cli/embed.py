"""``gsina embed``: the states of a model for new data, for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gsina.cli import show
from gsina.cli.options import Device, Threads
from gsina.cli.predict import Edges, File, Force, Nodes, Raw, Run, Smiles, check_out, open_model
from gsina.cli.progress import Count

#: Endings of the output; a copy of `gsina.models.embed.SUFFIXES`, which needs torch.
SUFFIXES = (".npy", ".csv", ".parquet")


def embed(
    run: Run,
    file: File = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Output file: .npy (float32), .csv, or .parquet (needs pyarrow).",
        ),
    ] = Path("vectors.npy"),
    node_states: Annotated[
        bool,
        typer.Option(
            "--node-states",
            help="One row per node (atom) of every graph; beside an array, its row and node go to "
            "<out>-index.npy.",
        ),
    ] = False,
    smiles: Smiles = None,
    nodes: Nodes = None,
    edges: Edges = None,
    raw: Raw = False,
    force: Force = False,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Write the vector that a trained model predicts from, for every row of a file.

    These are the states that the last layer takes, with attention applied: one
    row per row of the input, in the same order, or one per node. Molecules and
    graphs that cannot be read have a row of NaN. Tables begin with the column
    that names the rows, or with those of their molecules.

    \b
    [bold]Examples[/]
    gsina embed run new.csv -o vectors.npy
    gsina embed run new.jsonl -o vectors.csv
    gsina embed run new.csv --node-states -o atoms.parquet
    gsina embed run --nodes nodes.csv --edges edges.csv -o vectors.npy
    """
    check_out(out, (), force, SUFFIXES)  # before torch is imported
    model, files = open_model(run, file, nodes, edges, threads, device)
    from gsina.models.embed import check_parquet, embed_files, index_file

    check_out(out, files, force, SUFFIXES)
    check_parquet(out)
    beside = node_states and model.task.level == "graph" and out.suffix.lower() == ".npy"
    if beside:
        check_out(index_file(out), files, force, SUFFIXES)
    with show.on_interrupt(f"interrupted; {out} is unchanged."), Count("embedding") as count:
        done = embed_files(
            model,
            files,
            out,
            names=smiles or None,
            nodes=node_states,
            raw=raw,
            on_rows=count.update,
        )
    lost = f", {done.unreadable:,} could not be read (the first: {done.first_reason})"
    counts = f"{done.rows:,} rows: {done.rows - done.unreadable:,} embedded"
    show.say(f"{counts}{lost * bool(done.unreadable)}: {out}")
    if beside:
        show.say(f"the row and the node of every vector are in {index_file(out)}")
    show.exit_if_nothing(done.rows, done.unreadable, done.first_reason)
