"""``gsina datasets``: the named datasets."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gsina.cli import show
from gsina.cli.completion import complete_dataset
from gsina.cli.lists.option_docs import option_lines
from gsina.cli.options import AsJson
from gsina.errors import check_name
from gsina.metrics import metric_label

if TYPE_CHECKING:
    from gsina.datasets import DatasetEntry


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this one and its options.", autocompletion=complete_dataset),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the named datasets, and whether their files are on this machine.

    \b
    [bold]Examples[/]
    gsina datasets
    gsina datasets spmotif
    gsina datasets --json
    """
    from gsina.datasets import DATASETS

    names = sorted(DATASETS) if name is None else [check_name(name, DATASETS, "dataset")]
    entries = [DATASETS[one] for one in names]
    if as_json:
        show.console.print_json(json.dumps([_row(entry) for entry in entries]))
    elif name is not None:
        _tell(entries[0])
    else:
        show.console.print(show.entries({entry.name: _lines(entry) for entry in entries}))


def _here(entry: DatasetEntry) -> str:
    return "here" if entry.at_hand() else "not here"


def _lines(entry: DatasetEntry) -> list[str]:
    """Lines about a dataset, without its options, as its loader is not imported for the list."""
    return [
        entry.task,
        f"{entry.size}; {metric_label(entry.metric)}; {_here(entry)}",
        f"shift: {entry.shift}",
    ]


def _tell(entry: DatasetEntry) -> None:
    """Print one dataset in detail."""
    for key in ("name", "task", "size", "metric", "shift"):
        show.say(f"{key:8} {getattr(entry, key)}")
    show.say(f"{'files':8} {_here(entry)}")
    if options := _options(entry.load):
        show.say("options, as in: --data-option NAME=VALUE")
        show.console.print(show.entries(option_lines(options, entry.load), gap=False))


def _row(entry: DatasetEntry) -> dict[str, Any]:
    row = {key: getattr(entry, key) for key in ("name", "task", "size", "metric", "shift")}
    return row | {"options": _options(entry.load), "here": entry.at_hand()}


def _options(load: Any) -> dict[str, Any]:
    """Options of a loader with their defaults; callbacks are not options for users."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(load, eval_str=True).parameters.items()
        if parameter.default is not parameter.empty and "Callable" not in str(parameter.annotation)
    }
