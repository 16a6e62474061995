"""The options of a user's own files: which they are, how they are read and divided."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from gsina.formats import FileOptions

OWN = "Your own data"


def _option(type_: Any, help: str, *names: str) -> Any:
    return Annotated[type_, typer.Option(*names, help=help, rich_help_panel=OWN)]


Text, Texts, File = str | None, list[str] | None, Path | None
#: The options of a :class:`~gsina.formats.FileOptions`, by the names of its fields.
OPTIONS: dict[str, Any] = {
    "smiles": _option(Text, "Column of SMILES; by default smiles."),
    "target": _option(Texts, "Column to predict; may be repeated."),
    "task": _option(Text, "classification or regression; by default the values decide."),
    "split": _option(
        Text,
        "What to hold out for the test: scaffold (default for molecules), random, size, time, "
        "column or own; of nodes in tables random, time, environment or own.",
    ),
    "split_column": _option(Text, "Column that says train, val or test."),
    "time": _option(Text, "Column of dates or numbers: test on the latest."),
    "environment": _option(
        Text,
        "Column of groups: test on groups held out. Of graphs they are also the environments that "
        "methods such as irm compare, with --set environments=given.",
    ),
    "directed": _option(bool, "Edges go one way only.", "--directed"),
    "nodes": _option(File, "Table of nodes, to predict nodes."),
    "edges": _option(File, "Table of edges between them."),
    "id": _option(Text, "Column of node ids; by default id."),
    "label": _option(Text, "Column of node labels; by default label."),
    "edge_source": _option(Text, "Where an edge starts; by default source."),
    "edge_target": _option(Text, "Where it ends; by default target."),
    "feature": _option(Texts, "Column of node features; may be repeated, by default all others."),
}


def with_file_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of users' files in place of its parameter ``file_options``."""
    plain = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.default == () else field.default,
            annotation=OPTIONS[field.name],
        )
        for field in fields(FileOptions)
    ]
    kept = [value for name, value in plain.parameters.items() if name != "file_options"]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        found = {name: given.pop(name) for name in OPTIONS}
        chosen = {name: value for name, value in found.items() if value not in (None, [])}
        command(**given, file_options=FileOptions(**chosen))

    with_options.__signature__ = plain.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in (*kept, *options)}
    return with_options
