"""The command-line options that describe a user's own files: columns, task and split."""

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
    "smiles": _option(
        Texts,
        "Column of SMILES or InChI; by default smiles. Repeat it for rows of several molecules.",
    ),
    "target": _option(Texts, "Column to predict; may be repeated."),
    "task": _option(Text, "Task: classification or regression; by default inferred."),
    "split": _option(
        Text,
        "Rule of the split: scaffold (default for molecules), random (default for others), size, "
        "time, column or own; for tables of nodes random, time, environment or own.",
    ),
    "split_column": _option(Text, "Column with train, val or test."),
    "time": _option(Text, "Column of dates or numbers; the latest rows are the test data."),
    "environment": _option(
        Text,
        "Column of groups; some groups are held out for testing. With --set environments=given, "
        "methods such as irm also use the groups of graphs as environments.",
    ),
    "directed": _option(bool, "Do not add the opposite of every edge.", "--directed"),
    "nodes": _option(File, "Table of nodes (.csv), to predict nodes."),
    "edges": _option(File, "Table of the edges between them (.csv)."),
    "id": _option(Text, "Column of node ids; by default id."),
    "label": _option(Text, "Column of node labels; by default label."),
    "edge_source": _option(Text, "Column of the node where an edge starts; by default source."),
    "edge_target": _option(Text, "Column of the node where it ends; by default target."),
    "feature": _option(
        Texts,
        "Column of node features, numbers or categories; may be repeated, by default all others.",
    ),
    "edge_feature": _option(
        Texts, "Column of the edge table that is a feature of edges; may be repeated."
    ),
    "features": _option(
        Text,
        "Features of whole molecules to use beside the graph, with commas between: quick (79 fast "
        "descriptors), counts (of a fingerprint), rdkit (all 2D descriptors, slow), morgan "
        "(fingerprint), or none; by default quick,counts.",
    ),
}


def with_file_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter ``file_options`` of a command by the options of users' files."""
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
