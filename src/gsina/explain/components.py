"""Connected components of a part of a graph."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from gsina.graphs.packed import PackedGraphs


def count_components(part: Tensor, graphs: PackedGraphs) -> Tensor:
    """Connected components that some edges of every graph form, whatever their direction.

    Args:
        part: Which edges are in the part ``[E]``, bool.
        graphs: The graphs.

    Returns:
        Counts ``[G]``, int64; nodes without an edge of the part do not count.
    """
    graph = torch.repeat_interleave(graphs.edge_ptr.diff())
    ends = (graphs.edge_index + graphs.node_ptr[graph])[:, part].numpy()
    size = int(graphs.node_ptr[-1])
    matrix = coo_array((np.ones(ends.shape[1], dtype=np.int8), tuple(ends)), shape=(size, size))
    _, label = connected_components(matrix, directed=False)
    # A component is a label that an edge has; its graph is that of any of its edges.
    _, first = np.unique(label[ends[0]], return_index=True)
    return torch.bincount(graph[part][torch.from_numpy(first)], minlength=len(graphs))
