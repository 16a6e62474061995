"""``gsina predict``: predictions of a model for new data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gsina.cli import show
from gsina.cli.completion import complete_runs
from gsina.cli.options import Device, Threads, use_threads
from gsina.cli.progress import Count
from gsina.cli.recipes import check_files
from gsina.errors import InputError, MissingFileError
from gsina.listeners.progress import clock
from gsina.models.hub_name import hub_name

if TYPE_CHECKING:
    from gsina.models.model import Model

Run = Annotated[
    Path,
    typer.Argument(
        help="Folder of a run or of a model; or a model on the hub, [bold]hf://user/name[/].",
        autocompletion=complete_runs,
    ),
]
File = Annotated[
    Path | None,
    typer.Argument(
        help="Molecules (.csv), graphs (.jsonl, or a folder of .json), or one graph of tensors "
        "(.safetensors, .pt) for models of nodes."
    ),
]
Smiles = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of SMILES, repeated for several; by default those of the training file."
    ),
]
Nodes = Annotated[Path | None, typer.Option(help="Table of nodes, for models of nodes.")]
Edges = Annotated[Path | None, typer.Option(help="Table of the edges between them.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Write cells of .csv as they are, also those that a spreadsheet would run as a "
        "formula; without it, these begin with an apostrophe.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file in --out.")]


def predict(
    run: Run,
    file: File = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Output file: .csv, or .jsonl for one object per line; by default "
            "<file>-predictions.csv.",
            show_default=False,
        ),
    ] = None,
    smiles: Smiles = None,
    attention: Annotated[
        bool,
        typer.Option(
            "--attention",
            help="Add the weights of all bonds and atoms (edges and nodes) as JSON; for models of "
            "nodes, the weights of the edges go to <out>-edges.csv.",
        ),
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Share of sets (classes) or intervals (numbers) that are to hold the truth; by "
            "default 0.9.",
            show_default=False,
        ),
    ] = None,
    shift: Annotated[
        bool,
        typer.Option(
            "--shift",
            help="Read the file once more, before, to correct sets and intervals for how its rows "
            "differ from the validation data.",
        ),
    ] = False,
    nodes: Nodes = None,
    edges: Edges = None,
    raw: Raw = False,
    force: Force = False,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Predict every row of a file with a trained model.

    The output has the rows of the input in the same order, with all their columns,
    the prediction and the probability of every class (or the predicted value), and
    how far to trust it: the confidence and a set of classes (or an interval, low to
    high) that holds the truth nine times in ten, and the domain: the percentage of
    validation rows that are nearer to the training data. A model of several members
    (--ensemble) adds their spread: the standard deviation of that probability (or value).
    Molecules and graphs that cannot be read have an empty prediction and a reason.
    In a table of nodes or edges, a row that cannot be read is an error and nothing
    is written, as the predictions of the nodes around it depend on it.

    \b
    [bold]Examples[/]
    gsina predict run new.csv -o out.csv
    gsina predict run new.csv --attention -o out.csv
    gsina predict run new.csv --coverage 0.95 --shift -o out.csv
    gsina predict run new.jsonl -o out.jsonl
    gsina predict run --nodes nodes.csv --edges edges.csv -o out.csv
    gsina predict hf://user/name new.csv -o out.csv
    """
    model, files = open_model(run, file, nodes, edges, threads, device)
    from gsina.models.answers import decision
    from gsina.models.predict import edges_file, predict_files
    from gsina.models.uncertainty.conformal import check_coverage

    if coverage is not None:
        check_coverage(coverage)
    if out is None:
        out = files[0].with_name(f"{files[0].name.split('.')[0]}-predictions.csv")
    check_out(out, files, force)
    beside = attention and model.task.level == "node"
    if beside:
        check_out(edges_file(out), files, force)
    with show.on_interrupt(f"interrupted; {out} is unchanged."), Count("predicting") as count:
        done = predict_files(
            model,
            files,
            out,
            names=smiles or None,
            with_attention=attention,
            coverage=coverage,
            shift=shift,
            raw=raw,
            on_rows=count.update,
        )
    lost = f", {done.unreadable:,} could not be read (the first: {done.first_reason})"
    counts = f"{done.rows:,} rows: {done.rows - done.unreadable:,} predicted"
    show.say(f"{counts}{lost * bool(done.unreadable)}: {out}")
    if said := decision(model):
        show.say(said)
    for note in done.notes:
        show.say(f"note: {note}")
    if beside:
        show.say(f"the weights of the edges are in {edges_file(out)}")
    show.exit_if_nothing(done.rows, done.unreadable, done.first_reason)
    if done.model_seconds > 0:
        readable = done.rows - done.unreadable
        show.say(
            f"{clock(done.seconds)} in all; the model itself did "
            f"{readable / done.model_seconds:,.0f} {model.task.level}s per second"
        )


def open_model(
    run: Path,
    file: Path | None,
    nodes: Path | None,
    edges: Path | None,
    threads: int | None,
    device: str | None = None,
) -> tuple[Model, tuple[Path, ...]]:
    """The model of a run, and the files that it is to read; all paths must exist."""
    if hub_name(run) is None and not run.is_dir():  # before torch is imported
        raise MissingFileError(
            f"there is no model in {run}, as there is no such folder; `gsina train <your file> "
            "--out <folder>` makes one."
        )
    check_files(file, nodes, edges)
    use_threads(threads)
    from gsina.runs.trained import load_model

    model = load_model(run, device=device or "cpu")
    files = tuple(path for path in (nodes, edges) if path is not None)
    if model.task.level == "node":
        if file is not None and not files:
            files = (file,)
        elif file is not None or len(files) != 2:
            raise InputError(
                "this model predicts nodes; give --nodes and --edges, or one file of tensors."
            )
    elif files or file is None:
        raise InputError("this model predicts whole graphs; give one file of them.")
    else:
        files = (file,)
    return model, files


def check_out(
    out: Path,
    files: tuple[Path, ...],
    force: bool,
    suffixes: tuple[str, ...] = (".csv", ".jsonl"),
) -> None:
    """Refuse to overwrite the input, and without ``force`` any file; and other endings."""
    if out.is_dir():
        raise InputError(f"--out must be a file, and {out} is a folder.")
    if out.suffix.lower() not in suffixes:
        *others, last = suffixes
        known = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"--out must end in {known}, got {out.name}.")
    if any(path.exists() and out.exists() and path.samefile(out) for path in files):
        raise InputError(f"--out {out} is the input itself; choose another file.")
    if out.exists() and not force:
        raise InputError(f"{out} exists already; choose another --out, or replace it with --force.")
