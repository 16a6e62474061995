"""The named datasets, one file per family."""

from gsina.datasets.catalog import DATASETS, Entry, load_dataset
from gsina.datasets.registry import register

__all__ = ["DATASETS", "Entry", "load_dataset", "register"]
