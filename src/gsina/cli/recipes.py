"""From the options of ``gsina train`` and ``gsina tune`` to a recipe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsina.cli.options import given_only
from gsina.errors import InputError, MissingFileError, check_name, readable
from gsina.formats import FORMATS, TU, FileOptions, Format, find_format
from gsina.molecules.descriptors import NONE

if TYPE_CHECKING:
    from gsina.runs.recipe import Recipe


@dataclass(frozen=True)
class Request:
    """The part of a command line that defines a training.

    Attributes:
        data: The name of a dataset, or a file.
        file_options: Where a user's files are and how they are read.
        data_options: Options of a named dataset.
        method: Name of the method.
        backbone: Name of the network.
        options: Settings of the method.
        changes: Fields of the optimiser and of the selection rule.
        which: Of a named dataset, the ``published`` settings or the ``recommended`` ones.
        ensemble: Members of the model; ``None`` for one.
        trees: Whether boosted trees answer beside the network; ``None`` as usual for the data.
    """

    data: str | None
    file_options: FileOptions
    data_options: dict[str, Any]
    method: str | None
    backbone: str | None
    options: dict[str, Any]
    changes: dict[str, Any]
    which: str = "published"
    ensemble: int | None = None
    trees: bool | None = None

    def given(self) -> list[str]:
        """Names of everything that was given, for messages."""
        names = {
            "dataset": self.data,
            "method": self.method,
            "backbone": self.backbone,
            "ensemble": self.ensemble,
            "trees": self.trees,
        }
        used = [name for name, value in names.items() if value is not None]
        return [*used, *self.data_options, *self.options, *self.changes, *self.file_options.given()]

    def recipe(self) -> Recipe:
        """The recipe, with defaults for what is not given.

        Raises:
            InputError: One sentence about the first thing that is wrong.
        """
        chosen = self.format()
        from gsina.runs.recipe import FieldError

        try:
            recipe = self._named() if chosen is None else self._of_files(chosen)
            return recipe.changed(**given_only(ensemble=self.ensemble))
        except FieldError as error:
            option = self._option(error.field)
            if option is None:
                raise
            raise InputError(f"{option}: {error.problem}.") from error

    def _option(self, field: str) -> str | None:
        """The option that a field of the recipe was given by; ``None`` if by none."""
        part, _, rest = field.partition(".")
        name = rest.removeprefix("options.")
        if (part, name) in (("method", "name"), ("backbone", "name")):
            return f"--{part}" if getattr(self, part) is not None else None
        if part == "method" and name in self.options:
            return f"--{name}" if name in ("ratio", "budget") else f"--set {name}"
        if part == "data" and name in self.data_options:
            return "--bias" if name == "bias" else f"--data-option {name}"
        if part in ("optimiser", "selection") and name.split(".")[0] in self.changes:
            return f"--{name.split('.')[0].replace('_', '-')}"
        return None

    def format(self) -> Format | None:
        """The format of the user's files, found without torch; ``None`` for a named dataset.

        Raises:
            InputError: Neither is named, or the file is not there.
        """
        files = self.file_options
        if files.nodes is not None or files.edges is not None:
            if self.data is not None:
                raise InputError(f"give either {self.data}, or --nodes and --edges.")
            if files.nodes is None or files.edges is None:
                raise InputError("a graph of nodes needs both tables: give --nodes and --edges.")
            check_files(files.nodes, files.edges)
            return FORMATS["nodes"]
        if self.data is None:
            raise InputError("name your file or a dataset; gsina datasets lists the datasets.")
        from gsina.datasets.catalog import DATASETS

        found = None if self.data in DATASETS else find_format(self.data)
        if found is None:
            if self.file_options.given():
                raise InputError(
                    f"{self.file_options.given()[0]} is for your own files, but {self.data} is not "
                    "one; leave it out, or check the path."
                )
            check_name(self.data, DATASETS, "dataset")
            return None
        if found.suffixes:
            check_files(Path(self.data))
        if self.data_options:
            raise InputError("--bias and --data-option are for named datasets; leave them out.")
        return found

    def _named(self) -> Recipe:
        from gsina.methods.registry import check_can
        from gsina.runs.published import default_recipe

        assert self.data is not None
        if self.trees:
            raise InputError(
                f"--trees are for your own files and for the TU collection (tu:PROTEINS), and "
                f"{self.data} is a named dataset; leave them out."
            )
        recipe = default_recipe(
            self.data,
            self.backbone,
            self.method or "gsina",
            data=self.data_options,
            options=self.options,
            which=self.which,
            **self.changes,
        )
        check_can(recipe.method.name, recipe.data.level)
        return recipe

    def _of_files(self, chosen: Format) -> Recipe:
        if self.which == "recommended":
            raise InputError(
                "--recipe recommended is for named datasets; leave it out: your own files have "
                "settings of their own."
            )
        from gsina.runs.defaults import file_recipe

        given = self.file_options
        if self.trees is False and given.features is None and chosen.molecules:
            given = replace(given, features=NONE)  # the usual ones are for the trees
        files: tuple[Path | str, ...]
        if self.data is None:
            files = tuple(filter(None, (self.file_options.nodes, self.file_options.edges)))
        else:
            files = (self.data.removeprefix(TU),)
        return file_recipe(
            chosen.name,
            files,
            chosen.arguments(given, str(files[0])),
            method=self.method or "gsina",
            backbone=self.backbone,
            options=self.options,
            trees=self.trees,
            **self.changes,
        )


def check_files(*paths: Path | None) -> None:
    """Refuse files that are named but do not exist, and names that cannot be noted."""
    for path in paths:
        if path is not None and not path.exists():
            raise MissingFileError(f"there is no file {path}; check the path.")
        if path is not None and readable(str(path)) != str(path):
            raise InputError(f"the file name {path} is not UTF-8; rename the file or its folder.")
