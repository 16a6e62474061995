"""``gsina datasets``: what there is to train on."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any

import typer

from gsina.cli import show
from gsina.cli.explained import option_lines
from gsina.cli.options import AsJson
from gsina.errors import check_name
from gsina.metrics import metric_label


def datasets(
    name: Annotated[str | None, typer.Argument(help="Tell more about this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the datasets, and whether their files are here.

    \b
    [bold]Examples[/]
    gsina datasets
    gsina datasets spmotif
    gsina datasets --json
    """
    rows = _rows()
    if name is not None:
        check_name(name, [row["name"] for row in rows], "dataset")
        rows = [row for row in rows if row["name"] == name]
    if as_json:
        show.console.print_json(json.dumps(rows))
    elif name is not None:
        _tell(rows[0])
    else:
        show.console.print(show.entries({row["name"]: _lines(row) for row in rows}))


def _lines(row: dict[str, Any]) -> list[str]:
    """What the list says of a dataset."""
    here = "here" if row["here"] else "not here"
    return [
        row["task"],
        f"{row['size']}; {metric_label(row['metric'])}; {here}",
        f"shift: {row['shift']}",
    ]


def _tell(row: dict[str, Any]) -> None:
    """All about one dataset."""
    for key in ("name", "task", "size", "metric", "shift"):
        show.say(f"{key:8} {row[key]}")
    show.say(f"{'files':8} {'here' if row['here'] else 'not here'}")
    if row["options"]:
        from gsina.datasets.catalog import DATASETS

        show.say("options, as in: --data-option NAME=VALUE")
        load = DATASETS[row["name"]].load
        show.console.print(show.entries(option_lines(row["options"], load), gap=False))


def _rows() -> list[dict[str, Any]]:
    from gsina.datasets.catalog import DATASETS

    return [
        {
            "name": entry.name,
            "task": entry.task,
            "size": entry.size,
            "metric": entry.metric,
            "shift": entry.shift,
            "options": _options(entry.load),
            "here": entry.at_hand(),
        }
        for _, entry in sorted(DATASETS.items())
    ]


def _options(load: Any) -> dict[str, Any]:
    """Options of a loader with their defaults; functions to call back are none for a user."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(load, eval_str=True).parameters.items()
        if parameter.default is not parameter.empty and "Callable" not in str(parameter.annotation)
    }
