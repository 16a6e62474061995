"""A user's own data on the command line: which files, how they are read and divided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

OWN = "Your own data"

TABLES = (".csv", ".tsv", ".txt", ".smi")
GRAPHS = (".jsonl", ".json")
TENSORS = (".pt", ".pth", ".safetensors")
TU = "tu:"

Smiles = Annotated[
    str | None,
    typer.Option(help="Column of SMILES; by default smiles.", rich_help_panel=OWN),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(help="Column to predict; may be repeated.", rich_help_panel=OWN),
]
TaskKind = Annotated[
    str | None,
    typer.Option(
        help="classification or regression; by default the values decide.", rich_help_panel=OWN
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        help="What to hold out for the test: scaffold (default for molecules), random, size, "
        "time, column or own.",
        rich_help_panel=OWN,
    ),
]
SplitColumn = Annotated[
    str | None,
    typer.Option(help="Column that says train, val or test.", rich_help_panel=OWN),
]
Time = Annotated[
    str | None,
    typer.Option(help="Column of dates or numbers: test on the latest.", rich_help_panel=OWN),
]
Environment = Annotated[
    str | None,
    typer.Option(help="Column of groups: test on groups held out.", rich_help_panel=OWN),
]
Directed = Annotated[
    bool, typer.Option("--directed", help="Edges go one way only.", rich_help_panel=OWN)
]
Nodes = Annotated[
    Path | None, typer.Option(help="Table of nodes, to predict nodes.", rich_help_panel=OWN)
]
Edges = Annotated[
    Path | None, typer.Option(help="Table of edges between them.", rich_help_panel=OWN)
]
Id = Annotated[
    str | None, typer.Option(help="Column of node ids; by default id.", rich_help_panel=OWN)
]
Label = Annotated[
    str | None,
    typer.Option(help="Column of node labels; by default label.", rich_help_panel=OWN),
]
EdgeSource = Annotated[
    str | None,
    typer.Option(help="Where an edge starts; by default source.", rich_help_panel=OWN),
]
EdgeTarget = Annotated[
    str | None,
    typer.Option(help="Where it ends; by default target.", rich_help_panel=OWN),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of node features; may be repeated, by default all others.",
        rich_help_panel=OWN,
    ),
]


@dataclass(frozen=True)
class Source:
    """Where a user's data are and how they are divided; one field an option."""

    smiles: str | None = None
    targets: tuple[str, ...] = ()
    nodes: Path | None = None
    edges: Path | None = None
    id: str | None = None
    label: str | None = None
    edge_source: str | None = None
    edge_target: str | None = None
    features: tuple[str, ...] = ()
    directed: bool = False
    task: str | None = None
    split: str | None = None
    split_column: str | None = None
    time: str | None = None
    environment: str | None = None

    def given(self) -> list[str]:
        """The options that were used, as on the command line."""
        names = {"targets": "target", "features": "feature"}
        used = [name for name, value in vars(self).items() if value not in (None, (), False)]
        return [f"--{names.get(name, name).replace('_', '-')}" for name in used]


def kind_of(text: str) -> str | None:
    """What a file or folder holds, by its name; ``None`` if the text is no file."""
    from gsina.data.catalog import DATASETS

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
        raise ValueError(
            f"{path} is of no known kind; expected molecules in a .csv, graphs in a .jsonl or a "
            "folder of .json files, or one graph of tensors in a .safetensors or .pt file."
        )
    return None


def read_options(source: Source, kind: str, path: Path | None) -> dict[str, Any]:
    """Arguments of the reader of this kind of data."""
    wanted: dict[str, Any] = {} if source.task is None else {"kind": source.task}
    if kind == "nodes":
        return wanted | _node_options(source)
    if kind == "molecules":
        wanted |= {"smiles": source.smiles or "smiles", "targets": list(_targets(source, path))}
    elif source.smiles or source.targets:
        raise ValueError(
            f"--smiles and --target are for tables of molecules, not for {kind}; the label is part "
            "of the file."
        )
    if kind == "graphs" and source.directed:
        wanted["directed"] = True
    if kind == "node tensors":
        return wanted
    return wanted | _split(source, "scaffold" if kind == "molecules" else "random")


def _targets(source: Source, path: Path | None) -> tuple[str, ...]:
    from gsina.data.own.table import header

    if source.targets:
        return source.targets
    assert path is not None
    columns = [name for name in header(path) if name != (source.smiles or "smiles")]
    raise ValueError(
        f"name the column to predict with --target; columns of {path.name}: {', '.join(columns)}."
    )


def _split(source: Source, default: str) -> dict[str, Any]:
    """Rule and column of the split of molecules or graphs."""
    columns = {"time": source.time, "column": source.environment, "own": source.split_column}
    given = {rule: column for rule, column in columns.items() if column is not None}
    if len(given) > 1:
        raise ValueError(
            "give one of --time, --environment and --split-column: data are split in one way."
        )
    if not given:
        if source.split in ("time", "column", "own"):
            option = {"time": "--time", "column": "--environment", "own": "--split-column"}
            raise ValueError(
                f"--split {source.split} needs a column; name it with {option[source.split]}."
            )
        return {"split": source.split or default}
    rule, column = next(iter(given.items()))
    if rule == "own" and source.split in ("time", "column"):
        rule = source.split
    if source.split not in (None, rule):
        raise ValueError(
            f"--split {source.split} does not use the column {column!r}; leave one of them out."
        )
    return {"split": rule, "split_column": column}


def _node_options(source: Source) -> dict[str, Any]:
    if source.nodes is None or source.edges is None:
        raise ValueError("a graph of nodes needs both tables: give --nodes and --edges.")
    columns = {
        "environment": source.environment,
        "time": source.time,
        "split_column": source.split_column,
    }
    rules = {"environment": "environment", "time": "time", "own": "split_column"}
    if source.split not in (None, "random") and (
        source.split not in rules or columns[rules[source.split]] is None
    ):
        raise ValueError(
            f"--split {source.split} cannot be used for nodes as it stands; expected random, time "
            "with --time, environment with --environment, or own with --split-column."
        )
    named = {
        "id": source.id,
        "label": source.label,
        "source": source.edge_source,
        "target": source.edge_target,
        "features": list(source.features) or None,
        "directed": source.directed or None,
    }
    return {name: value for name, value in (named | columns).items() if value is not None}
