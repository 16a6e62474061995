"""The named datasets, one file per family."""

from gsina.datasets.catalog import DATASETS, DatasetEntry, load_dataset
from gsina.datasets.registry import register

__all__ = ["DATASETS", "DatasetEntry", "load_dataset", "register"]
