"""`NamedData` and `FileData`: what a run is trained on, by name or by files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.datasets.tu import tu_file
from gsina.errors import InputError, check_name
from gsina.files import cache_dir, data_dir
from gsina.formats import FORMATS
from gsina.graphs.dataset import Dataset
from gsina.runs.options import changed_options, check_options, signature_of

#: Called with the steps done and in all while data are prepared.
OnProgress = Callable[[int, int | None], None]


class Part(BaseModel):
    """A table of a recipe: no other fields than its own, and none that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NamedPart(Part):
    """A choice by name, with options."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)


class NamedData(NamedPart):
    """A dataset by name, with the options of its loader."""

    @model_validator(mode="after")
    def _known(self) -> NamedData:
        entry = DATASETS[check_name(self.name, DATASETS, "dataset")]
        check_options(
            entry.load, self.options, f"dataset {self.name}", leave_out=("progress", "download")
        )
        return self

    @property
    def level(self) -> str:
        """Whether graphs or nodes are predicted."""
        return DATASETS[self.name].level

    def at_hand(self) -> bool:
        """Whether the data can be loaded without a download."""
        return DATASETS[self.name].at_hand()

    def load(self, progress: OnProgress | None = None) -> Dataset:
        """Load the dataset; the first preparation reports its progress."""
        wanted = "progress" in signature_of(DATASETS[self.name].load)[0]
        return load_dataset(self.name, **self.options, **({"progress": progress} if wanted else {}))

    def essential(self) -> dict[str, Any]:
        """The name, and the options that are not defaults."""
        return {
            "name": self.name,
            "options": changed_options(DATASETS[self.name].load, self.options),
        }


class FileData(Part):
    """Files of a user.

    Attributes:
        format: Name of their format.
        files: Absolute paths, or such in the folder of raw data (``data:ogb/...``) or of prepared
            ones (``cache:...``); of the TU collection the name of the dataset.
        options: Arguments of the reader.
        title: What to call the data, if not by the name of the first file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    format: str = Field(validation_alias=AliasChoices("format", "kind"))  # `kind` in version 0.1
    files: tuple[str, ...]
    options: dict[str, Any] = Field(default_factory=dict)
    title: str | None = None

    @model_validator(mode="after")
    def _known(self) -> FileData:
        chosen = FORMATS[check_name(self.format, FORMATS, "format")]
        check_options(chosen.read, self.options, self.format, leave_out=("on_progress",))
        parameters = signature_of(chosen.read)[0].values()
        files = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        if len(self.files) != len(files):
            raise InputError(
                f"got {len(self.files)} files, expected {len(files)}: {', '.join(files)}"
            )
        for one in parameters:
            needed = one.kind is one.KEYWORD_ONLY and one.default is one.empty
            if needed and one.name not in self.options:
                raise InputError(f"option {one.name} of {self.format} is missing")
        return self

    @property
    def name(self) -> str:
        """The title, or the name of the first file, without its endings."""
        if self.title is not None:
            return self.title
        return re.sub(r"[^\w.-]", "_", Path(self.files[0]).name.split(".")[0]) or "data"

    @property
    def level(self) -> str:
        """Whether graphs or nodes are predicted."""
        return FORMATS[self.format].level

    def load(self, progress: OnProgress | None = None) -> Dataset:
        """Read and split the data."""
        read = FORMATS[self.format].read
        wanted = "on_progress" in signature_of(read)[0]
        found = read(*self.paths, **self.options, **({"on_progress": progress} if wanted else {}))
        return found if self.title is None else replace(found, name=self.title)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files as this machine knows them."""
        return tuple(_place_of(file) for file in self.files)

    def at_hand(self) -> bool:
        """Whether the files are there."""
        paths = [tu_file(name).target for name in self.files] if self.format == "tu" else self.paths
        return all(Path(path).exists() for path in paths)

    def essential(self) -> dict[str, Any]:
        """Format, files, and the options that are not defaults."""
        options = changed_options(FORMATS[self.format].read, self.options)
        title = {} if self.title is None else {"title": self.title}
        return {"format": self.format, "files": list(self.files), "options": options} | title


#: The folders that files of a recipe may be in, so that it means the same on every machine.
FOLDERS = {"data:": data_dir, "cache:": cache_dir}


def _place_of(file: str) -> str:
    for prefix, folder in FOLDERS.items():
        if file.startswith(prefix):
            return str(folder() / file.removeprefix(prefix))
    return file


def tag_of(data: Any) -> str:
    """Whether data are files or have a name."""
    if isinstance(data, dict):
        return "file" if data.keys() & {"format", "kind", "files"} else "named"
    return "file" if isinstance(data, FileData) else "named"


TAGS = ("named", "file")
Data = Annotated[
    Annotated[NamedData, Tag("named")] | Annotated[FileData, Tag("file")], Discriminator(tag_of)
]
