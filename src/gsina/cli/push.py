"""``gsina push``: a trained model to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gsina.cli import options, show
from gsina.cli.completion import complete_runs
from gsina.errors import MissingFileError
from gsina.models.hub_name import check_repository


def push(
    run: Annotated[
        Path,
        typer.Argument(help="Folder of a run or of a model.", autocompletion=complete_runs),
    ],
    name: Annotated[
        str, typer.Argument(metavar="USER/NAME", help="What to call the model on the hub.")
    ],
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Let everybody see a new repository; without it, only its owner does.",
        ),
    ] = False,
    revision: Annotated[
        str | None,
        typer.Option(help="Branch of the repository; by default the main one."),
    ] = None,
    message: Annotated[str, typer.Option(help="What the commit says.", show_default=False)] = "",
    force: Annotated[
        bool,
        typer.Option("--force", help="Push into a repository that holds something else."),
    ] = False,
) -> None:
    """Push a trained model to the Hugging Face hub, where others can load it.

    Three files are sent: the weights (model.safetensors), the description
    (model.json) and a card (README.md). Of your data they hold names of columns,
    categories and classes, how many rows there are, means and spreads of features and
    targets, scores, the file's name and hash; and numbers about rows: the classes and
    errors of validation rows, the states of these and of training rows, thresholds of
    trees. No rows of your file, no fingerprints of molecules and no other file of the
    run leave this machine. Log in before, with hf auth login.

    \b
    [bold]Examples[/]
    gsina push run user/name
    gsina push run user/name --public --message "Trained on 2,000 molecules"
    gsina predict hf://user/name new.csv -o out.csv
    """
    name = name.removeprefix("hf://")
    check_repository(name)
    if not run.is_dir():  # before torch is imported
        raise MissingFileError(f"there is no folder {run}; `gsina train --out <folder>` makes one.")
    from gsina.models.hub import push_model
    from gsina.runs.trained import load_model

    done = push_model(
        load_model(run),
        name,
        private=not public,
        revision=revision,
        message=message,
        force=force,
    )
    sizes = ", ".join(f"{file} ({size:,} bytes)" for file, size in done.sizes.items())
    show.say(f"sent: {sizes}")
    show.say(f"page: {done.url}")
    again = f"hf://{name}" + (f"@{revision}" if revision else "")
    show.say(f"next: {options.command('predict', again, 'new.csv', '-o', 'out.csv')}")
