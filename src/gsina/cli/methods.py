"""``gsina methods``: what there is to train."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from gsina.cli import show
from gsina.cli.explained import option_lines
from gsina.cli.options import AsJson
from gsina.errors import check_name


def methods(
    name: Annotated[str | None, typer.Argument(help="Tell more about this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, their papers, what they can predict, and their options.

    \b
    [bold]Examples[/]
    gsina methods
    gsina methods cigav2
    gsina methods --json
    """
    rows = _rows()
    if name is not None:
        check_name(name, [row["name"] for row in rows], "method")
        rows = [row for row in rows if row["name"] == name]
    if as_json:
        show.console.print_json(json.dumps(rows))
        return
    if name is not None:
        _tell(rows[0])
        return
    show.console.print(show.entries({row["name"]: _lines(row) for row in rows}))
    show.say("an option goes with --set, as in: gsina train spmotif --method gsina --set ratio=0.3")


def _tell(row: dict[str, Any]) -> None:
    """All about one method."""
    from gsina.methods import METHODS

    show.console.print(show.entries({row["name"]: _about(row)}))
    if row["options"]:
        show.say(f"options, as in: gsina train DATASET --method {row['name']} --set NAME=VALUE")
        lines = option_lines(row["options"], METHODS[row["name"]].config)
        show.console.print(show.entries(lines, gap=False))


def _lines(row: dict[str, Any]) -> list[str]:
    """What the list says of a method."""
    options = ", ".join(f"{name}={value}" for name, value in row["options"].items())
    return [*_about(row), *([f"options: {options}"] if options else [])]


def _about(row: dict[str, Any]) -> list[str]:
    """What a method is, without its options."""
    can = f"{' and '.join(row['levels'])} level: {', '.join(row['kinds'])}"
    return [line for line in (can, row["paper"], row["note"]) if line]


def _rows() -> list[dict[str, Any]]:
    from gsina.methods import METHODS

    return [
        {
            "name": entry.name,
            "paper": entry.paper,
            "label": entry.label,
            "note": entry.note,
            "levels": list(entry.levels),
            "kinds": list(entry.kinds),
            "options": {
                field.name: None if field.default is MISSING else field.default
                for field in fields(entry.config)
            },
        }
        for entry in sorted(METHODS.values(), key=lambda entry: entry.name)
    ]
