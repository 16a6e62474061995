"""The datasets by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from gsina.errors import MissingFileError, check_name

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.graphs.task import Level


@dataclass(frozen=True)
class DatasetEntry:
    """One line of ``gsina datasets``.

    Attributes:
        name: The name on the command line.
        loader: Makes the dataset, or where it is: ``"package.module:function"``, which is imported
            when it is first used, so that the list can be shown without it.
        task: What is predicted, in words.
        size: Number of graphs, in words.
        metric: The metric of the benchmark.
        shift: What differs between training and test.
        at_hand: Whether the raw files are available (or none are needed).
        level: Whether graphs or nodes are classified.
        arguments: First arguments of the loader, where several datasets share one.
        classes: Names of class 0, 1, ..., where they have natural ones.
    """

    name: str
    loader: Callable[..., Dataset] | str
    task: str
    size: str
    metric: str
    shift: str
    at_hand: Callable[[], bool] = lambda: True
    level: Level = "graph"
    arguments: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    @cached_property
    def load(self) -> Callable[..., Dataset]:
        """The loader; its other arguments are the options of the dataset."""
        load = resolve_name(self.loader) if isinstance(self.loader, str) else self.loader
        return partial(load, *self.arguments) if self.arguments else load


#: The named datasets; :func:`register` adds one.
DATASETS: dict[str, DatasetEntry] = {}


def register(entry: DatasetEntry) -> DatasetEntry:
    """Add a dataset to the list."""
    DATASETS[entry.name] = entry
    return entry


def load_dataset(name: str, **options: Any) -> Dataset:
    """Load a dataset by name; options go to its loader.

    Raises:
        MissingFileError: Its files are missing; says where to put them, and names others.
    """
    entry = DATASETS[check_name(name, DATASETS, "dataset")]
    try:
        dataset = entry.load(**options)
        return replace(dataset, class_names=entry.classes) if entry.classes else dataset
    except FileNotFoundError as error:
        if error.errno is not None:
            raise
        alike = (other for other in DATASETS.values() if other.level == entry.level)
        names = ", ".join(sorted(other.name for other in alike if other.at_hand())) or "no others"
        raise MissingFileError(f"{str(error).rstrip('.')}; available are {names}.") from error
