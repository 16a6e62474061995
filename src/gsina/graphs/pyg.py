"""Graphs one by one, from whatever holds several: nothing is ever taken for one large graph."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.fields import GraphFields


def one_by_one(graphs: Any) -> Iterator[Any]:
    """Every graph that an object holds, in order; an object that holds none is given as it is.

    A PyG ``Batch`` and packed graphs come apart; datasets (also sliced, shuffled, or a torch
    ``Subset``), lists, arrays and iterators are gone through, also one inside the other. A
    ``DataLoader`` gives the graphs of its dataset in the dataset's order, whatever it shuffles or
    drops, so that answers can be told apart; one with a sampler of its own gives what it draws.

    Args:
        graphs: Anything; what is no graph is for the caller to refuse.

    Raises:
        InputError: Several graphs are in one object that cannot be taken apart.
    """
    from torch_geometric.data.data import BaseData

    if isinstance(graphs, BaseData):
        yield from _parts(graphs)
    elif isinstance(graphs, GraphFields):
        made: Any = graphs
        yield from one_by_one(made.to_pyg())
    elif holds_graphs(graphs):
        for graph in _items(graphs):
            yield from one_by_one(graph)
    else:
        yield graphs


def holds_graphs(value: Any) -> bool:
    """Whether a value is a dataset, a loader, a list or the like, rather than a graph itself."""
    if isinstance(value, torch.utils.data.Dataset | torch.utils.data.DataLoader):
        return True  # an in-memory dataset answers to edge_index as if it were one graph
    if isinstance(value, str | bytes | Mapping | Set | Tensor) or is_networkx(value):
        return False
    if hasattr(value, "edge_index") or hasattr(value, "columns"):  # a graph; a table
        return False
    return isinstance(value, Iterable) or hasattr(value, "__getitem__")


def is_one_graph(value: Any) -> bool:
    """Whether a value is a single graph, of any kind, and nothing that may hold several."""
    batch = hasattr(value, "to_data_list") or isinstance(value, GraphFields)
    return not batch and not holds_graphs(value)


def is_networkx(value: Any) -> bool:
    """Whether a value is a NetworkX graph, which need not be installed."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)


def _parts(data: Any) -> list[Any]:
    """The graphs of a PyG object."""
    if hasattr(data, "to_data_list") and getattr(data, "_slice_dict", None):
        return list(data.to_data_list())
    node_graph = getattr(data, "batch", None)
    if isinstance(node_graph, Tensor) and node_graph.numel() and int(node_graph.max()) > 0:
        raise InputError(
            f"got a PyG {type(data).__name__} of {int(node_graph.max()) + 1} graphs that PyG "
            "cannot take apart; make it with Batch.from_data_list, or give a list of graphs."
        )
    return [data]


def _items(graphs: Any) -> Iterable[Any]:
    data = torch.utils.data
    if isinstance(graphs, data.DataLoader):
        usual = (data.SequentialSampler, data.RandomSampler)
        plain = type(graphs.batch_sampler) is data.BatchSampler and type(graphs.sampler) in usual
        return _items(graphs.dataset) if plain else graphs
    if isinstance(graphs, Iterable):
        return graphs
    return (graphs[place] for place in range(len(graphs)))
