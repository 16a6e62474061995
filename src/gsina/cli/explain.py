"""``gsina explain``: a page that shows what a model looks at in new data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gsina.cli import show
from gsina.cli.options import Device, Threads
from gsina.cli.predict import Edges, File, Force, Nodes, Run, Smiles, check_out, open_model
from gsina.cli.progress import Count
from gsina.errors import InputError

if TYPE_CHECKING:
    from gsina.explain.evidence.certify import Certificate
    from gsina.explain.evidence.of_page import PageEvidence

#: Graphs whose line is printed; the page has all.
LINES = 10


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
    confidence: Annotated[
        float | None,
        typer.Option(
            "--certify",
            metavar="0.9",
            help="Mark so much that the marked part alone keeps the answer with this probability, "
            "by the run's validation graphs.",
        ),
    ] = None,
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
    A model without attention is explained by GNNExplainer, which the page says.

    Every graph comes with a line that says how far to believe it: the probability of the
    answer without the marked part, with only that part, and with as many random edges.

    \b
    [bold]Examples[/]
    gsina explain run new.csv --top 20 -o page.html
    gsina explain run new.csv --certify 0.9
    gsina explain run --nodes nodes.csv --edges edges.csv -o page.html
    gsina explain run graph.pt -o page.html
    """
    model, files = open_model(run, file, nodes, edges, threads, device)
    from gsina.explain.new_data import explain_files
    from gsina.explain.report import edge_word

    check_out(out, files, force, (".html",))
    certificate = None
    if confidence is not None:
        certificate = _certificate(run, confidence)
        word = edge_word(model)
        show.say(f"certified: {certificate.words(word, 'molecule' if word == 'bond' else 'graph')}")
    with Count("predicting") as count:
        done = explain_files(
            model,
            files,
            out,
            top=top,
            names=smiles or None,
            model_name=run.resolve().name,
            certificate=certificate,
            on_rows=count.update,
        )
    if done.unreadable:
        show.say(f"{done.unreadable:,} of {done.rows:,} rows could not be read and are left out")
    if done.evidence is not None:
        if model.architecture.trees is not None:
            show.say("how far to believe it, of the network alone (trees see a graph as a whole):")
        _show_evidence(done.evidence, done.names)
    show.say(f"open in a browser: {out}")


def _certificate(run: Path, confidence: float) -> Certificate:
    """The promise of a run, by its validation graphs."""
    from gsina.explain.evidence.certify import certify, check_certifiable
    from gsina.runs.trained import load_run

    if not (run / "result.json").is_file():
        raise InputError(
            f"--certify needs the validation graphs of a run, and {run} is a model without its "
            "run; give the folder that `gsina train --out` made."
        )
    known = load_run(run)
    check_certifiable(known.model, len(known.dataset.val), confidence)
    return certify(known.model, known.dataset.val, confidence)


def _show_evidence(evidence: PageEvidence, names: list[str]) -> None:
    """One line per graph, the first few of many, and the table of all."""
    for name, line in list(zip(names, evidence.lines, strict=True))[:LINES]:
        show.say(f"{name}: {line['words']}")
    if len(names) > LINES:
        show.say(f"and {len(names) - LINES} more on the page")
    head, *rows = evidence.short
    view = show.numbers_table(*head)
    for row in rows:
        view.add_row(*map(Text, row))
    show.console.print(view)
    if evidence.found.explained.removed.keys() > {"delete"}:
        show.say("two other ways to take edges away are in the table of the page")
