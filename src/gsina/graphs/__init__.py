"""What a set of graphs is: packed storage, batches, tasks, datasets."""

from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

__all__ = ["Batch", "PackedGraphs", "Task"]
