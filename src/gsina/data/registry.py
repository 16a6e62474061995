"""The datasets by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gsina.data.dataset import Dataset
from gsina.names import check_name


@dataclass(frozen=True)
class Entry:
    """One line of ``gsina datasets``.

    Attributes:
        name: The name on the command line.
        load: Makes the dataset; keyword options are those of the loader.
        task: What is predicted, in words.
        size: Number of graphs, in words.
        metric: The metric of the benchmark.
        shift: What differs between training and test.
        at_hand: Whether the raw files are there (or none are needed).
    """

    name: str
    load: Callable[..., Dataset]
    task: str
    size: str
    metric: str
    shift: str
    at_hand: Callable[[], bool] = lambda: True


DATASETS: dict[str, Entry] = {}


def register(entry: Entry) -> Entry:
    """Add a dataset to the list."""
    DATASETS[entry.name] = entry
    return entry


def load_dataset(name: str, **options: Any) -> Dataset:
    """Load a dataset by name; options go to its loader."""
    return DATASETS[check_name(name, DATASETS, "dataset")].load(**options)
