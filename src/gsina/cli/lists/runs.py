"""``gsina runs``: the runs below a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from gsina.cli import show
from gsina.cli.completion import complete_folder, one_of
from gsina.cli.options import AsJson, pairs
from gsina.errors import MissingFileError, check_name, readable
from gsina.files import to_json
from gsina.metrics import metric_label, metric_text
from gsina.runs.listing import FoundRun, find_runs

#: What ``--where`` can ask for.
FIELDS = ("backbone", "data", "folder", "method", "metric", "seed", "state")
ORDERS: dict[str, Callable[[FoundRun], Any]] = {
    "folder": lambda one: str(one.folder),
    "data": lambda one: (one.data, one.method, one.rank),
    "method": lambda one: (one.method, one.data, one.rank),
    "score": lambda one: (one.data, one.metric, one.rank),
    "state": lambda one: (one.state, str(one.folder)),
    "date": lambda one: one.finished,
}


def runs(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="[DIR]",
            help="Where to look.",
            autocompletion=complete_folder,
            show_default=False,
        ),
    ] = Path("."),
    sort: Annotated[
        str,
        typer.Option(
            metavar="|".join(ORDERS),
            help="Order of the rows; by score the best of every dataset comes first.",
            autocompletion=one_of(lambda: ORDERS),
        ),
    ] = "folder",
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help=f"Only those with this {', '.join(FIELDS[:-1])} or {FIELDS[-1]}; * stands for any "
            "text; may be repeated.",
            autocompletion=one_of(lambda: (f"{name}=" for name in FIELDS)),
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the runs below a folder: data, method, score and state.

    A run is finished, running, unfinished (go on with gsina train --out FOLDER
    --resume) or damaged; behind the state stand the epochs that are done. Scores are
    those of the main metric, on validation and on test data.

    \b
    [bold]Examples[/]
    gsina runs
    gsina runs results --sort score
    gsina runs --where method=gsina --where state=unfinished
    gsina runs --where "data=spmotif*" --json
    """
    check_name(sort, ORDERS, "order")
    wanted = {name: str(value) for name, value in pairs(where or [], "--where").items()}
    for name in wanted:
        check_name(name, FIELDS, "key of --where")
    if not folder.is_dir():
        raise MissingFileError(f"there is no folder {folder}; check the path.")
    found = [one for one in find_runs(folder) if _fits(one, wanted)]
    found.sort(key=ORDERS[sort], reverse=reverse)
    if as_json:
        show.console.print_json(to_json([_row(one) for one in found]))
    elif not found:
        which = " that fit" if wanted else ""
        show.say(f"there are no runs{which} in {folder} or below.")
    else:
        show.console.print(_table(found, folder))
        _tell_problems(found)


def _fits(one: FoundRun, wanted: dict[str, str]) -> bool:
    values = _row(one)
    return all(fnmatchcase(str(values[name]), value) for name, value in wanted.items())


def _row(one: FoundRun) -> dict[str, Any]:
    values = {**asdict(one), "folder": readable(str(one.folder))}
    return {name: None if value == "" else value for name, value in values.items()}


def _table(found: list[FoundRun], below: Path) -> Table:
    names = (Column(head, overflow="fold") for head in ("folder", "data", "method"))
    rest = (Column(head, no_wrap=True) for head in ("seed", "state"))
    scores = (Column(head, justify="right", no_wrap=True) for head in ("val", "test"))
    table = Table(*names, *rest, *scores, "metric", box=show.BOX, padding=0, pad_edge=False)
    for one in found:
        table.add_row(*map(Text, _cells(one, below)))
    return table


def _cells(one: FoundRun, below: Path) -> list[str]:
    name = one.folder.relative_to(below) if one.folder != below else one.folder
    done = "" if one.epochs is None or one.state == "finished" else f" ({one.epochs})"
    return [
        readable(str(name)),
        readable(one.data),
        readable(one.method),
        "" if one.seed is None else str(one.seed),
        f"{one.state}{done}",
        "" if one.validation is None else metric_text(one.validation, one.metric),
        "" if one.test is None else metric_text(one.test, one.metric),
        metric_label(readable(one.metric)),
    ]


def _tell_problems(found: list[FoundRun]) -> None:
    for one in found:
        if one.problem:
            show.say(f"note: {one.folder} is damaged ({one.problem})")
