"""`Format`: one kind of user file; `FileOptions`: the command-line options for such files.

Everything that depends on the kind of file asks its format: how it is recognised, which options it
understands, how it is read for training, and how it is read again for predictions. The code of a
format is a module with these functions; nothing is imported before it is used.

* the reader, named by ``Format.reader``: ``(*files, **options) -> Dataset``, labels and splits
  included;
* ``read_again(files, reading, names) -> Rows | NodeGraph``: graphs without labels, made as those
  that a model was trained on;
* ``reading_of(dataset) -> dict | None``: how a file of this format could give more graphs like
  those of a dataset that came from no file; ``None`` if it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gsina.errors import InputError

if TYPE_CHECKING:
    from gsina.formats.assemble import NodeGraph, Rows
    from gsina.graphs.dataset import Dataset


@dataclass(frozen=True)
class FileOptions:
    """Where a user's data are and how they are divided; one field per command-line option."""

    smiles: Sequence[str] = ()
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
    edge_feature: Sequence[str] = ()
    features: str | None = None

    def given(self) -> list[str]:
        """The options that were used, as on the command line."""
        used = [name for name, value in vars(self).items() if value not in (None, (), False)]
        return [f"--{name.replace('_', '-')}" for name in used]


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Attributes:
        name: The name in recipes.
        module: The module of its code.
        reader: The function of that module that reads for training.
        level: Whether its labels belong to graphs or to nodes.
        suffixes: Endings of its files; a further ``.gz`` is allowed.
        description: What it is, to end "expected ...".
        new_files: The files of a prediction on the command line, as an example.
        arguments: Turns command-line options and the file into options of the reader.
        weights: Names of the columns with the weights of edges and nodes.
        molecules: Whether its graphs are molecules, whose names are SMILES.
    """

    name: str
    module: str
    reader: str
    level: str
    suffixes: tuple[str, ...]
    description: str
    new_files: tuple[str, ...]
    arguments: Callable[[FileOptions, str], dict[str, Any]]
    weights: tuple[str, str] = ("edge_weights", "node_weights")
    molecules: bool = False

    @property
    def code(self) -> ModuleType:
        """The module of the format."""
        return import_module(f"gsina.formats.{self.module}")

    @property
    def read(self) -> Callable[..., Dataset]:
        """The reader for training."""
        reader: Callable[..., Dataset] = getattr(self.code, self.reader)
        return reader

    def read_again(
        self,
        files: Sequence[Path],
        reading: dict[str, Any],
        names: str | Sequence[str] | None = None,
    ) -> Rows | NodeGraph:
        """Graphs of new files, made as those that a model was trained on.

        Args:
            files: The files.
            reading: What the model keeps, ``Model.featuriser``.
            names: The column that names a row, if the files have another one than those of the
                training; only molecules have such a column.
        """
        if names is not None and not self.molecules:
            raise InputError("--smiles is for models of molecules; leave it out.")
        found: Rows | NodeGraph = self.code.read_again(files, reading, names)
        return found

    def version(self, reading: dict[str, Any]) -> int:
        """The version of the features that this package makes now for such a reading."""
        version_of = getattr(self.code, "version_of", None)
        return 1 if version_of is None else int(version_of(reading))

    def reading_of(self, dataset: Dataset) -> dict[str, Any] | None:
        """How files of this format could give more graphs like these; ``None`` if they cannot."""
        found: dict[str, Any] | None = self.code.reading_of(dataset)
        return found
