"""A user's own data on the command line: which files, how they are read and divided."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from gsina.errors import InputError

OWN = "Your own data"

TABLES = (".csv", ".tsv", ".txt", ".smi")
GRAPHS = (".jsonl", ".json")
TENSORS = (".pt", ".pth", ".safetensors")
TENSOR_OPTIONS = ("--task", "--time", "--environment")
#: Options of tables of nodes that mean nothing for other files.
NODE_OPTIONS = ("--id", "--label", "--edge-source", "--edge-target", "--feature")
TU = "tu:"


def _option(type_: Any, help: str, *names: str) -> Any:
    return Annotated[type_, typer.Option(*names, help=help, rich_help_panel=OWN)]


Text, Texts, File = str | None, list[str] | None, Path | None
#: The options of a :class:`Source`, by the names of its fields.
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


@dataclass(frozen=True)
class Source:
    """Where a user's data are and how they are divided; one field an option."""

    smiles: str | None = None
    target: Sequence[str] = ()
    task: str | None = None
    split: str | None = None
    split_column: str | None = None
    time: str | None = None
    environment: str | None = None
    directed: bool = False
    nodes: Path | None = None
    edges: Path | None = None
    id: str | None = None
    label: str | None = None
    edge_source: str | None = None
    edge_target: str | None = None
    feature: Sequence[str] = ()

    def given(self) -> list[str]:
        """The options that were used, as on the command line."""
        used = [name for name, value in vars(self).items() if value not in (None, (), False)]
        return [f"--{name.replace('_', '-')}" for name in used]


def takes_source(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of a :class:`Source` in place of its parameter ``source``."""
    plain = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.default == () else field.default,
            annotation=OPTIONS[field.name],
        )
        for field in fields(Source)
    ]
    kept = [value for name, value in plain.parameters.items() if name != "source"]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        found = {name: given.pop(name) for name in OPTIONS}
        said = {name: value for name, value in found.items() if value not in (None, [])}
        command(**given, source=Source(**said))

    with_options.__signature__ = plain.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in (*kept, *options)}
    return with_options


def kind_of(text: str) -> str | None:
    """What a file or folder holds, by its name; ``None`` if the text is no file."""
    from gsina.datasets.catalog import DATASETS

    if text in DATASETS:
        return None
    if text.startswith(TU):
        return "tu"
    path = Path(text)
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    for kind, known in (("molecules", TABLES), ("graphs", GRAPHS), ("node tensors", TENSORS)):
        if ending in known and not path.is_dir():
            return kind
    if path.is_dir():
        return "graphs"
    if path.exists():
        raise InputError(
            f"{path} is of no known kind; expected molecules in a .csv, graphs in a .jsonl or a "
            "folder of .json files, or one graph of tensors in a .safetensors or .pt file."
        )
    return None


def read_options(source: Source, kind: str, path: Path | None) -> dict[str, Any]:
    """Arguments of the reader of this kind of data."""
    wanted: dict[str, Any] = {} if source.task is None else {"kind": source.task}
    if kind == "nodes":
        return wanted | _node_options(source)
    if kind == "node tensors":
        return wanted | _tensor_options(source)
    for name in source.given():
        if name in NODE_OPTIONS:
            raise InputError(
                f"{name} is for tables of nodes, which --nodes and --edges give; leave it out."
            )
    if kind == "molecules":
        wanted |= {"smiles": source.smiles or "smiles", "targets": list(_targets(source, path))}
    elif source.smiles or source.target:
        raise InputError(
            f"--smiles and --target are for tables of molecules, not for {kind}; the label is part "
            "of the file."
        )
    if kind == "graphs" and source.directed:
        wanted["directed"] = True
    return wanted | _split(source, "scaffold" if kind == "molecules" else "random")


def _targets(source: Source, path: Path | None) -> Sequence[str]:
    from gsina.formats.table import header

    if source.target:
        return source.target
    assert path is not None
    columns = [name for name in header(path) if name != (source.smiles or "smiles")]
    raise InputError(
        f"name the column to predict with --target; columns of {path.name}: {', '.join(columns)}."
    )


def _split(source: Source, default: str) -> dict[str, Any]:
    """Rule and column of the split of molecules or graphs."""
    columns = {"time": source.time, "column": source.environment, "own": source.split_column}
    given = {rule: column for rule, column in columns.items() if column is not None}
    if len(given) > 1:
        raise InputError(
            "give one of --time, --environment and --split-column: data are split in one way."
        )
    if not given:
        if source.split in ("time", "column", "own"):
            option = {"time": "--time", "column": "--environment", "own": "--split-column"}
            raise InputError(
                f"--split {source.split} needs a column; name it with {option[source.split]}."
            )
        return {"split": source.split or default}
    rule, column = next(iter(given.items()))
    if rule == "own" and source.split in ("time", "column"):
        rule = source.split
    if source.split not in (None, rule):
        raise InputError(
            f"--split {source.split} does not use the column {column!r}; leave one of them out."
        )
    return {"split": rule, "split_column": column}


def _tensor_options(source: Source) -> dict[str, Any]:
    if other := [name for name in source.given() if name not in TENSOR_OPTIONS]:
        raise InputError(
            f"{', '.join(other)} cannot be used with a file of tensors: its masks say what is held "
            "out, or the tensor that --time or --environment names."
        )
    named = {"environment": source.environment, "time": source.time}
    return {name: value for name, value in named.items() if value is not None}


def _node_options(source: Source) -> dict[str, Any]:
    if source.nodes is None or source.edges is None:
        raise InputError("a graph of nodes needs both tables: give --nodes and --edges.")
    if source.smiles or source.target:
        option = "--smiles" if source.smiles else "--target"
        raise InputError(
            f"{option} is for tables of molecules; name the column of node labels with --label."
        )
    columns = {
        "environment": source.environment,
        "time": source.time,
        "split_column": source.split_column,
    }
    rules = {"environment": "environment", "time": "time", "own": "split_column"}
    if source.split not in (None, "random") and (
        source.split not in rules or columns[rules[source.split]] is None
    ):
        raise InputError(
            f"--split {source.split} cannot be used for nodes as it stands; expected random, time "
            "with --time, environment with --environment, or own with --split-column."
        )
    if source.split == "random" and (column := next(filter(None, columns.values()), None)):
        raise InputError(
            f"--split random does not use the column {column!r}; leave one of them out, and name "
            "the columns to learn from with --feature."
        )
    named = {
        "id": source.id,
        "label": source.label,
        "source": source.edge_source,
        "target": source.edge_target,
        "features": list(source.feature) or None,
        "directed": source.directed or None,
    }
    return {name: value for name, value in (named | columns).items() if value is not None}
