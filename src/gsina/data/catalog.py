"""All datasets of the package; importing this module fills the registry."""

from gsina.data import ogbg, spmotif
from gsina.data.registry import DATASETS, Entry, load_dataset

__all__ = ["DATASETS", "Entry", "load_dataset", "ogbg", "spmotif"]
