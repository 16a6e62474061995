"""The command ``gsina``, which reports errors in one sentence, without a traceback."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gsina.cli import (
    bench,
    demo,
    embed,
    explain,
    figure,
    predict,
    push,
    report,
    show,
    train,
    tune,
)
from gsina.cli.lists import datasets, doctor, methods, runs


class Sentences(TyperGroup):
    """A group whose commands answer bad input with one sentence and exit code 2."""

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """Read the options before the command."""
        with show.errors_as_sentences():
            return super().make_context(*given, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with show.errors_as_sentences(), show.notes_as_sentences():
            return super().invoke(ctx)


app = typer.Typer(
    name="gsina",
    cls=Sentences,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("tune")(tune.tune)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("embed")(embed.embed)
app.command("push")(push.push)
app.command("runs")(runs.runs)
app.command("datasets")(datasets.datasets)
app.command("methods")(methods.methods)
app.command("doctor")(doctor.doctor)
app.command("bench")(bench.bench)
app.command("report")(report.report)
app.add_typer(figure.figure, name="figure")


def _version(wanted: bool) -> None:
    if wanted:
        from gsina import __version__

        show.console.print(f"gsina {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show version and exit."),
    ] = False,
) -> None:
    """Train graph neural networks that rely on a small part of each graph, and see which part.

    \b
    gsina demo                          three models and a picture, in minutes
    gsina train molecules.csv --target active --out run       train on your own file
    gsina tune molecules.csv --target active --out search     find good settings
    gsina predict run new.csv -o out.csv                      predict new rows
    gsina explain run new.csv -o page.html                    see which edges decide
    gsina embed run new.csv -o vectors.npy                    states for other tools
    gsina train spmotif --bias 0.5      train GSINA on Spurious-Motif
    gsina push run user/name            share the model on the Hugging Face hub
    gsina runs                          runs below this folder, with their scores
    gsina datasets                      datasets to train on
    gsina methods                       methods to train
    gsina doctor                        what is installed, and what is missing
    gsina --install-completion          let Tab complete names and options
    """


def main() -> None:
    """Run the command line."""
    app()
