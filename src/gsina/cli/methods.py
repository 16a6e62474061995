"""``gsina methods``: what there is to train."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any

from rich.markup import escape
from rich.table import Table

from gsina.cli import show
from gsina.cli.options import AsJson


def methods(as_json: AsJson = False) -> None:
    """List the methods, their papers, what they can predict, and their options.

    \b
    [bold]Examples[/]
    gsina methods
    gsina methods --json
    """
    rows = _rows()
    if as_json:
        show.console.print_json(json.dumps(rows))
        return
    table = Table("name", "level", "tasks", "options and defaults", "paper", box=show.BOX)
    for row in rows:
        options = "\n".join(f"{name}={value}" for name, value in row["options"].items())
        paper = f"{row['paper']}\n[{row['note']}]" if row["note"] else row["paper"]
        table.add_row(
            row["name"],
            "\n".join(row["levels"]),
            "\n".join(row["kinds"]),
            options or show.NOTHING,
            escape(paper),
        )
    show.console.print(table)
    show.say("an option goes with --set, as in: gsina train spmotif --method gsina --set ratio=0.3")


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
