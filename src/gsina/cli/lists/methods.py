"""``gsina methods``: the methods to train."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gsina.cli import show
from gsina.cli.completion import complete_method
from gsina.cli.lists.option_docs import option_lines
from gsina.cli.options import AsJson
from gsina.errors import check_name

if TYPE_CHECKING:
    from gsina.methods.registry import MethodEntry


def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this one and its options.", autocompletion=complete_method),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, their papers and what they can predict; with a name, its options too.

    \b
    [bold]Examples[/]
    gsina methods
    gsina methods cigav2
    gsina methods --json
    """
    from gsina.methods import METHODS

    names = sorted(METHODS) if name is None else [check_name(name, METHODS, "method")]
    entries = [METHODS[one] for one in names]
    if as_json:
        show.console.print_json(json.dumps([_row(entry) for entry in entries]))
        return
    show.console.print(show.entries({entry.name: _lines(entry) for entry in entries}))
    if name is None:
        show.say("the options of a method: gsina methods NAME")
    elif options := _options(entries[0]):
        show.say(f"options, as in: gsina train DATASET --method {name} --set NAME=VALUE")
        show.console.print(show.entries(option_lines(options, entries[0].config), gap=False))


def _lines(entry: MethodEntry) -> list[str]:
    """Lines about a method, without its options, as its module is not imported for the list."""
    can = f"{' and '.join(entry.levels)} level: {', '.join(entry.kinds)}"
    return [line for line in (can, entry.paper, entry.note) if line]


def _options(entry: MethodEntry) -> dict[str, Any]:
    return {
        field.name: None if field.default is MISSING else field.default
        for field in fields(entry.config)
    }


def _row(entry: MethodEntry) -> dict[str, Any]:
    keys = ("name", "paper", "label", "note", "levels", "kinds")
    return {key: getattr(entry, key) for key in keys} | {"options": _options(entry)}
