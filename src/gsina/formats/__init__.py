"""Users' own files, one `Format` per kind; nothing here needs torch until a file is read."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsina.errors import InputError, check_name
from gsina.formats import arguments
from gsina.formats.base import FileOptions, Format

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset

#: What stands before the name of a dataset of the TU collection.
TU = "tu:"

#: The kinds of files, by name.
FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format(
            name="molecules",
            module="molecule_tables",
            reader="read_molecules",
            level="graph",
            suffixes=(".csv", ".tsv", ".txt", ".smi", ".sdf", ".sd", ".parquet"),
            description="molecules in a .csv, .sdf or .parquet",
            new_files=("new.csv",),
            arguments=arguments.molecule_table,
            weights=("bond_weights", "atom_weights"),
            molecules=True,
        ),
        Format(
            name="graphs",
            module="json_graphs",
            reader="read_graphs",
            level="graph",
            suffixes=(".jsonl", ".json"),
            description="graphs in a .jsonl or a folder of .json files",
            new_files=("new.jsonl",),
            arguments=arguments.json_graphs,
        ),
        Format(
            name="nodes",
            module="node_tables",
            reader="read_nodes",
            level="node",
            suffixes=(),  # two files, which options name
            description="tables of nodes and edges by --nodes and --edges",
            new_files=("--nodes", "nodes.csv", "--edges", "edges.csv"),
            arguments=arguments.node_tables,
        ),
        Format(
            name="node tensors",
            module="tensor_files",
            reader="read_data_file",
            level="node",
            suffixes=(".safetensors", ".pt", ".pth"),
            description="one graph of tensors in a .safetensors or .pt file",
            new_files=("new.safetensors",),
            arguments=arguments.tensor_file,
        ),
        Format(
            name="tu",
            module="tu_collection",
            reader="read_tu_graphs",
            level="graph",
            suffixes=(),  # named, not a file
            description=f"a dataset of the TU collection by {TU}NAME",
            new_files=("new.jsonl",),
            arguments=arguments.tu_collection,
        ),
    )
}

#: Functions for Python, and the modules they are in.
_HOMES = {
    "from_pyg": "pyg",
    "read_data_file": "tensor_files",
    "read_graph_file": "tensor_files",
    "read_graphs": "json_graphs",
    "read_molecules": "molecule_tables",
    "read_node_graph": "node_tables",
    "read_nodes": "node_tables",
    "read_tu_graphs": "tu_collection",
    "stream_graphs": "json_graphs",
    "stream_molecules": "molecule_tables",
}

__all__ = ["FORMATS", "TU", "FileOptions", "Format", "find_format", "format_of", "reading_of"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"gsina.formats.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'gsina.formats' has no attribute {name!r}")


def find_format(text: str) -> Format | None:
    """The format of a file or folder, by its name; ``None`` if the text names no file.

    Raises:
        InputError: There is such a file, and it is of no known format.
    """
    if text.startswith(TU):
        return FORMATS["tu"]
    path = Path(text)
    if path.is_dir():
        return FORMATS["graphs"]
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    for one in FORMATS.values():
        if endings and endings[-1] in one.suffixes:
            return one
    if path.exists():
        known = ", ".join(one.description for one in FORMATS.values() if one.suffixes)
        raise InputError(f"{path} has an unknown file format; expected {known}.")
    return None


def format_of(reading: dict[str, Any]) -> Format:
    """The format that reads more graphs like those that a model was trained on.

    Raises:
        InputError: No file format gives such graphs.
    """
    kind = str(reading.get("kind"))
    if kind == "nodes" and "columns" not in reading:
        return FORMATS["node tensors"]
    if kind not in FORMATS:
        raise InputError(
            f"this model was trained on {kind}, which no file format gives; use it from Python "
            "with gsina.load_model, on graphs with the same features."
        )
    return FORMATS[check_name(kind, FORMATS, "format")]


def reading_of(dataset: Dataset) -> dict[str, Any]:
    """How to read more graphs like those of a dataset, for the folder of its model."""
    if dataset.origin.reading:
        return dataset.origin.reading
    for one in FORMATS.values():
        if (found := one.reading_of(dataset)) is not None:
            return found
    return {"kind": "tensors", "version": 1}
