"""Datasets: packed storage, batching, and where raw files come from."""

from gsina.data import spmotif
from gsina.data.batch import Batch
from gsina.data.packed import PackedGraphs
from gsina.data.task import Task

__all__ = ["Batch", "PackedGraphs", "Task", "spmotif"]
