"""Turn command-line options for a user's files into options of their reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.formats.base import FileOptions
from gsina.formats.table import header
from gsina.molecules.descriptors import NONE, USUAL, check_kinds

#: Options that only tables of nodes have.
NODE_OPTIONS = ("--id", "--label", "--edge-source", "--edge-target", "--feature", "--edge-feature")
#: The option that names the column of a rule.
COLUMN_OPTIONS = {"time": "--time", "column": "--environment", "own": "--split-column"}


def molecule_table(given: FileOptions, file: str) -> dict[str, Any]:
    """Options of a table of molecules."""
    _refuse(given, NODE_OPTIONS, "is for tables of nodes, which --nodes and --edges give")
    if not given.target:
        columns = [name for name in header(file) if name not in (given.smiles or ["smiles"])]
        raise InputError(
            f"name the column to predict with --target; columns of {Path(file).name}: "
            f"{', '.join(columns)}."
        )
    smiles = list(given.smiles) or ["smiles"]
    wanted = {"smiles": smiles if len(smiles) > 1 else smiles[0], "targets": list(given.target)}
    return _task(given) | wanted | _split(given, "scaffold") | _molecule_features(given)


def json_graphs(given: FileOptions, file: str) -> dict[str, Any]:
    """Options of graphs in JSON."""
    return tu_collection(given, file) | ({"directed": True} if given.directed else {})


def tu_collection(given: FileOptions, file: str) -> dict[str, Any]:
    """Options of graphs that bring their labels along, as a dataset of the TU collection."""
    _refuse(given, NODE_OPTIONS, "is for tables of nodes, which --nodes and --edges give")
    _refuse(
        given,
        ("--smiles", "--target", "--features"),
        "is for tables of molecules, not for graphs, whose labels are part of the file",
    )
    return _task(given) | _split(given, "random")


def tensor_file(given: FileOptions, file: str) -> dict[str, Any]:
    """Options of a file of tensors."""
    known = ("--task", "--time", "--environment")
    if other := [name for name in given.given() if name not in known]:
        raise InputError(
            f"{', '.join(other)} cannot be used with a file of tensors: its masks say what is held "
            "out, or the tensor that --time or --environment names."
        )
    return _task(given) | _only_given(environment=given.environment, time=given.time)


def node_tables(given: FileOptions, file: str) -> dict[str, Any]:
    """Options of a table of nodes and one of edges."""
    if given.features:
        raise InputError(
            "--features is for tables of molecules; name columns of the table with --feature."
        )
    if given.smiles or given.target:
        option = "--smiles" if given.smiles else "--target"
        raise InputError(
            f"{option} is for tables of molecules; name the column of node labels with --label."
        )
    columns = {
        "environment": given.environment,
        "time": given.time,
        "split_column": given.split_column,
    }
    rules = {"environment": "environment", "time": "time", "own": "split_column"}
    if given.split not in (None, "random") and (
        given.split not in rules or columns[rules[given.split]] is None
    ):
        raise InputError(
            f"--split {given.split} cannot be used for nodes as it stands; expected random, time "
            "with --time, environment with --environment, or own with --split-column."
        )
    if given.split == "random" and (column := next(filter(None, columns.values()), None)):
        raise InputError(
            f"--split random does not use the column {column!r}; leave one of them out, and name "
            "the columns to learn from with --feature."
        )
    return _task(given) | _only_given(
        id=given.id,
        label=given.label,
        source=given.edge_source,
        target=given.edge_target,
        features=list(given.feature) or None,
        edge_features=list(given.edge_feature) or None,
        directed=given.directed or None,
        **columns,
    )


def _molecule_features(given: FileOptions) -> dict[str, Any]:
    """The kinds of features of whole molecules: the usual ones, those asked for, or none."""
    if given.features is None:
        return {"features": list(USUAL)}
    if given.features.strip() == NONE:
        return {}
    kinds = [kind.strip() for kind in given.features.split(",") if kind.strip()]
    check_kinds(kinds)
    return {"features": kinds}


def _refuse(given: FileOptions, options: tuple[str, ...], why: str) -> None:
    for name in given.given():
        if name in options:
            raise InputError(f"{name} {why}; leave it out.")


def _task(given: FileOptions) -> dict[str, Any]:
    return _only_given(kind=given.task)


def _split(given: FileOptions, default: str) -> dict[str, Any]:
    """Rule and column of the split of molecules or graphs."""
    columns = {"time": given.time, "column": given.environment, "own": given.split_column}
    named = {rule: column for rule, column in columns.items() if column is not None}
    if len(named) > 1:
        raise InputError(
            "give one of --time, --environment and --split-column: data are split in one way."
        )
    if not named:
        if given.split in COLUMN_OPTIONS:
            raise InputError(
                f"--split {given.split} needs a column; name it with {COLUMN_OPTIONS[given.split]}."
            )
        return {"split": given.split or default}
    rule, column = next(iter(named.items()))
    if rule == "own" and given.split in ("time", "column"):
        rule = given.split
    if given.split not in (None, rule):
        raise InputError(
            f"--split {given.split} does not use the column {column!r}; leave one of them out."
        )
    return {"split": rule, "split_column": column}


def _only_given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
