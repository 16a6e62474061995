"""Nothing that holds several graphs is taken for one, wherever graphs come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx
import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import Subset, SubsetRandomSampler
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.loader import DataLoader

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.pyg import holds_graphs, one_by_one
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec

COUNT = 7


class InMemory(InMemoryDataset):
    """A dataset as PyG keeps it: all graphs in one ``Data``, which it answers for."""

    def __init__(self, graphs: list[Data]) -> None:
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


def graphs() -> list[Data]:
    return tiny.ragged().to_pyg()


HOLDERS: dict[str, Callable[[list[Data]], Any]] = {
    "list": lambda some: some,
    "tuple": tuple,
    "generator": iter,
    "batch": PygBatch.from_data_list,
    "batches": lambda some: [PygBatch.from_data_list(some[:3]), some[3], some[4:]],
    "dataset": InMemory,
    "slice": lambda some: InMemory([*some, some[0]])[:COUNT],
    "index": lambda some: InMemory([some[0], *some])[torch.arange(1, COUNT + 1)],
    "subset": lambda some: Subset(InMemory([some[0], *some]), range(1, COUNT + 1)),
    "subset of a list": lambda some: Subset(some, range(COUNT)),
    "loader": lambda some: DataLoader(InMemory(some), batch_size=2),
    "shuffled loader": lambda some: DataLoader(some, batch_size=2, shuffle=True, drop_last=True),
    "torch loader": lambda some: TorchLoader(some, batch_size=2, collate_fn=list),
    "own sampler": lambda some: DataLoader(some, batch_size=2, sampler=range(COUNT)),
    "packed": PackedGraphs.from_pyg,
    "our batch": lambda some: tiny.whole(PackedGraphs.from_pyg(some)),
    "list of packed": lambda some: [
        PackedGraphs.from_pyg(some[:4]),
        PackedGraphs.from_pyg(some[4:]),
    ],
}


@pytest.mark.parametrize("name", HOLDERS)
def test_every_graph_counts_as_one(name: str) -> None:
    expected = PackedGraphs.from_pyg(graphs())
    found = PackedGraphs.from_pyg(HOLDERS[name](graphs()))
    assert len(found) == COUNT
    for field, value in expected.tensors().items():
        assert torch.equal(found.tensors()[field], value), field
    batch = Batch.from_pyg(HOLDERS[name](graphs()))
    assert batch.num_graphs == COUNT
    assert torch.equal(batch.edge_index, tiny.whole(expected).edge_index)


@pytest.mark.parametrize("name", HOLDERS)
def test_a_method_answers_for_every_graph(name: str) -> None:
    torch.manual_seed(0)
    spec = NetworkSpec("gin", tiny.FEATURES, 0, {"hidden_channels": 4})
    method = build_method("gsina", spec, tiny.CLASSES, {}).eval()
    expected = method(tiny.whole(tiny.ragged())).logits
    assert torch.equal(method(HOLDERS[name](graphs())).logits, expected)


def test_a_sampler_of_its_own_is_followed() -> None:
    sampler = SubsetRandomSampler([2, 4], torch.Generator().manual_seed(0))
    loader = DataLoader(graphs(), batch_size=2, sampler=sampler)
    assert sorted(data.num_nodes for data in one_by_one(loader)) == [2, 7]


def test_several_graphs_that_cannot_be_taken_apart_are_refused() -> None:
    whole = PygBatch.from_data_list(graphs())
    parts = {"x": whole.x, "edge_index": whole.edge_index, "batch": whole.batch}
    for data in (Data(**parts), PygBatch(**parts)):
        with pytest.raises(ValueError, match="of 7 graphs that PyG cannot take apart; make it"):
            PackedGraphs.from_pyg(data)
        assert Batch.from_pyg(data).num_graphs == COUNT  # which needs no taking apart
    with pytest.raises(ValueError, match="y has 7 rows; expected one per graph, that is 1"):
        PackedGraphs.from_pyg(InMemory(graphs())._data)


@pytest.mark.parametrize("value", [7, "CCO", None, {"x": 1}, torch.ones(2, 2)])
def test_what_holds_no_graphs(value: Any) -> None:
    assert not holds_graphs(value)
    assert next(one_by_one(value)) is value
    with pytest.raises(ValueError, match="expected a list of PyG Data"):
        PackedGraphs.from_pyg(value)
    with pytest.raises(ValueError, match=r"expected a (PyG Data|list of PyG Data)"):
        Batch.from_pyg([value])


def test_a_networkx_graph_is_one_although_it_iterates_over_its_nodes() -> None:
    assert not holds_graphs(networkx.path_graph(3))
    assert len(list(one_by_one([networkx.path_graph(3)] * 2))) == 2


def test_no_graphs() -> None:
    for take in (PackedGraphs.from_pyg, Batch.from_pyg):
        with pytest.raises(ValueError, match="got no graphs"):
            take([])
