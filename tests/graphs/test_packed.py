"""Tests of packed graphs: PyG's own batching is the reference."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data, InMemoryDataset

from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.ops.edges import reverse_edges

FIELDS = ("x", "edge_index", "edge_attr", "y", "edge_truth", "node_truth", "environment")


def make_graph(nodes: int, pairs: list[tuple[int, int]], seed: int = 0) -> Data:
    """A graph with every field filled with noise."""
    noise = torch.Generator().manual_seed(seed)
    edges = len(pairs)
    return Data(
        x=torch.rand(nodes, 3, generator=noise),
        edge_index=torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T.contiguous(),
        edge_attr=torch.rand(edges, 2, generator=noise),
        edge_truth=torch.rand(edges, generator=noise) < 0.5,
        node_truth=torch.rand(nodes, generator=noise) < 0.5,
        y=torch.randint(0, 10**6, (1,), generator=noise),
        environment=torch.randint(0, 9, (1,), generator=noise),
    )


@st.composite
def graphs(draw: st.DrawFn) -> Data:
    """Small graphs: also without nodes, without edges, with loops and parallel edges."""
    nodes = draw(st.integers(0, 5))
    ends = st.integers(0, max(nodes - 1, 0))
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=12 if nodes else 0))
    return make_graph(nodes, pairs, seed=draw(st.integers(0, 1000)))


@st.composite
def graphs_and_ids(draw: st.DrawFn) -> tuple[list[Data], list[int]]:
    found = draw(st.lists(graphs(), min_size=1, max_size=6))
    return found, draw(st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=10))


class Collated(InMemoryDataset):  # type: ignore[misc]
    """A dataset as PyG keeps it in memory."""

    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


def three() -> PackedGraphs:
    """A graph with four edges, one without edges, one that is a pair of opposite edges."""
    return PackedGraphs.from_pyg(
        [
            make_graph(4, [(0, 1), (1, 0), (2, 2), (1, 2)], seed=1),
            make_graph(2, [], seed=2),
            make_graph(3, [(2, 0), (0, 2)], seed=3),
        ]
    )


def assert_same(found: Any, expected: Any, names: tuple[str, ...] = FIELDS) -> None:
    for name in names:
        left, right = getattr(found, name), getattr(expected, name)
        assert left.dtype == right.dtype, name
        assert torch.equal(left, right), name


@given(graphs_and_ids())
def test_batch_is_that_of_pyg(case: tuple[list[Data], list[int]]) -> None:
    singles, ids = case
    batch = PackedGraphs.from_pyg(singles).batch(ids)
    expected = PygBatch.from_data_list([singles[i] for i in ids])
    assert_same(batch, expected)
    assert torch.equal(batch.node_graph, expected.batch)
    assert torch.equal(batch.edge_graph, expected.batch[expected.edge_index[0]])
    assert batch.num_graphs == len(ids)
    assert batch.num_nodes == expected.num_nodes
    assert batch.num_edges == expected.num_edges


@given(graphs_and_ids())
def test_batch_knows_the_opposite_edges(case: tuple[list[Data], list[int]]) -> None:
    singles, ids = case
    batch = PackedGraphs.from_pyg(singles).batch(ids)
    expected = reverse_edges(batch.edge_index, batch.num_nodes)
    if expected is None:  # The whole dataset may have some where this batch has none.
        expected = torch.arange(batch.num_edges)
    found = torch.arange(batch.num_edges) if batch.reverse is None else batch.reverse
    assert torch.equal(found, expected)


@given(graphs_and_ids())
def test_subset_holds_the_graphs_asked_for(case: tuple[list[Data], list[int]]) -> None:
    singles, ids = case
    part = PackedGraphs.from_pyg(singles)[ids]
    assert len(part) == len(ids)
    for found, i in zip(part.to_pyg(), ids, strict=True):
        assert_same(found, singles[i])


@given(graphs_and_ids())
def test_there_and_back(case: tuple[list[Data], list[int]]) -> None:
    singles, ids = case
    packed = PackedGraphs.from_pyg(singles)
    for found, expected in zip(packed.to_pyg(), singles, strict=True):
        assert_same(found, expected)
    again = PackedGraphs.from_batch(packed.batch(ids))
    for name, value in packed[ids].tensors().items():
        assert torch.equal(getattr(again, name), value), name
    same = PackedGraphs(**packed.tensors())
    assert same.tensors().keys() == packed.tensors().keys()


def test_whatever_pyg_keeps_graphs_in() -> None:
    singles = three().to_pyg()
    whole = Collated(singles)
    for kept in (singles, iter(singles), PygBatch.from_data_list(singles), whole, whole[:]):
        found = PackedGraphs.from_pyg(kept)
        for name, value in three().tensors().items():
            assert torch.equal(found.tensors()[name], value), name
    assert_same(PackedGraphs.from_pyg(singles[0]), three()[[0]])
    assert len(PackedGraphs.from_pyg(whole[1:])) == 2


@given(graphs_and_ids())
def test_undirected_adds_exactly_the_missing_edges(case: tuple[list[Data], list[int]]) -> None:
    singles, _ = case
    both = PackedGraphs.from_pyg(singles).to_undirected()
    for old, new in zip(singles, both.to_pyg(), strict=True):
        count = old.num_edges
        assert_same(new, old, ("x", "y", "environment", "node_truth"))
        for name in ("edge_attr", "edge_truth"):
            assert torch.equal(new[name][:count], old[name]), name
        assert torch.equal(new.edge_index[:, :count], old.edge_index)
        partner = reverse_edges(old.edge_index, 5)
        partner = torch.arange(count) if partner is None else partner
        alone = (partner == torch.arange(count)) & (old.edge_index[0] != old.edge_index[1])
        assert torch.equal(new.edge_index[:, count:], old.edge_index.flip(0)[:, alone])
        for name in ("edge_attr", "edge_truth"):
            assert torch.equal(new[name][count:], old[name][alone]), name
    again = both.to_undirected()
    assert torch.equal(again.edge_index, both.edge_index)
    assert torch.equal(again.edge_ptr, both.edge_ptr)


def test_reverse_is_local_to_the_graph() -> None:
    reverse = three().reverse
    assert reverse is not None
    assert reverse.tolist() == [1, 0, 2, 3, 1, 0]
    assert three()[[1]].reverse is None


def test_batches_cover_everything_once() -> None:
    packed = three()
    sizes = [batch.num_graphs for batch in packed.batches(2)]
    assert sizes == [2, 1]
    assert torch.equal(torch.cat([batch.x for batch in packed.batches(2)]), packed.x)
    many = packed[[0, 1, 2] * 20]
    shuffles = [torch.Generator().manual_seed(seed) for seed in (0, 0, 1)]
    order = [torch.cat([b.labels for b in many.batches(7, shuffle)]) for shuffle in shuffles]
    assert torch.equal(order[0], order[1])
    assert not torch.equal(order[0], order[2])
    assert torch.equal(order[0].sort().values, many.batch(range(60)).labels.sort().values)


def test_slice_mask_and_numbers_agree() -> None:
    packed = three()
    mask = torch.tensor([False, True, True])
    for ids in (slice(1, None), mask, mask.tolist(), range(1, 3), torch.tensor([1, 2]).int()):
        assert torch.equal(packed[ids].x, packed.x[4:])
    assert torch.equal(packed.batch(mask).x, packed.x[4:])
    assert torch.equal(packed[::-1].x[:3], packed.x[6:])


@pytest.mark.parametrize("ids", [[], slice(0, 0), torch.zeros(0), torch.zeros(3, dtype=torch.bool)])
def test_no_graphs_at_all(ids: Any) -> None:
    none = three()[ids]
    assert len(none) == 0
    assert none.x.shape == (0, 3)
    assert none.edge_index.shape == (2, 0)
    assert none.reverse is None
    assert none.to_pyg() == []
    assert len(none.to_undirected()) == 0
    assert list(none.batches(4)) == []
    batch = none.batch([])
    assert (batch.num_graphs, batch.num_nodes, batch.num_edges) == (0, 0, 0)
    assert len(PackedGraphs.from_batch(batch)) == 0


def test_nodes_without_any_edge_in_the_dataset() -> None:
    packed = PackedGraphs.from_pyg([make_graph(3, []), make_graph(0, []), make_graph(1, [])])
    assert packed.reverse is None
    assert packed.to_undirected().edge_index.shape == (2, 0)
    batch = packed.batch([2, 0])
    assert batch.node_graph.tolist() == [0, 1, 1, 1]
    assert batch.edge_index.shape == (2, 0)
    assert batch.edge_attr is not None
    assert batch.edge_attr.shape == (0, 2)
    assert batch.reverse is None


def test_missing_and_narrow_fields_get_their_shape() -> None:
    edge_index = torch.tensor([[0], [1]])
    bare = PackedGraphs.from_pyg([Data(edge_index=edge_index, num_nodes=3)])
    assert torch.equal(bare.x, torch.ones(3, 1))
    assert set(bare.tensors()) == {"x", "edge_index", "node_ptr", "edge_ptr"}
    assert (bare.num_features, bare.num_edge_features) == (1, 0)
    assert bare.batch([0]).y is None
    narrow = Data(
        x=torch.arange(2), edge_index=edge_index, edge_attr=torch.ones(1), y=torch.tensor(3.0)
    )
    packed = PackedGraphs.from_pyg([narrow, narrow])
    assert packed.x.shape == (4, 1)
    assert packed.num_edge_features == 1
    assert packed.y is not None
    assert packed.y.tolist() == [3.0, 3.0]


def test_strided_tensors_are_made_contiguous() -> None:
    """index_select copies a strided tensor whole, so every batch would cost the dataset."""
    packed = PackedGraphs(
        x=torch.rand(3, 4).T,
        edge_index=torch.tensor([[0, 1], [1, 2], [3, 0]]).T,
        node_ptr=torch.tensor([0, 4]),
        edge_ptr=torch.tensor([0, 3]),
    )
    assert all(value.is_contiguous() for value in packed.tensors().values())


def test_offsets() -> None:
    assert offsets(torch.tensor([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert offsets(torch.zeros(0, dtype=torch.long)).tolist() == [0]


def parts(**changes: Tensor) -> dict[str, Tensor]:
    """Two graphs of two nodes; one edge each."""
    return {
        "x": torch.zeros(4, 1),
        "edge_index": torch.tensor([[0, 1], [1, 0]]),
        "node_ptr": torch.tensor([0, 2, 4]),
        "edge_ptr": torch.tensor([0, 1, 2]),
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge_ptr": torch.tensor([0, 2])}, "describes 2 graphs but edge_ptr 1"),
        ({"x": torch.zeros(5, 1)}, "x has 5 rows; expected one per node, that is 4"),
        ({"node_ptr": torch.tensor([0, 5, 4])}, "node_ptr must hold offsets"),
        ({"node_ptr": torch.tensor([1, 2, 4])}, "node_ptr must hold offsets"),
        ({"edge_ptr": torch.tensor([], dtype=torch.long)}, "edge_ptr must hold offsets"),
        ({"y": torch.zeros(3)}, "y has 3 rows; expected one per graph, that is 2"),
        ({"edge_attr": torch.zeros(1, 1)}, "edge_attr has 1 rows; expected one per edge"),
        ({"edge_ptr": torch.tensor([0, 1, 3])}, "edge_index has 2 columns; expected one per edge"),
        ({"node_truth": torch.zeros(2)}, "node_truth has 2 rows; expected one per node"),
        # Node 2 exists in the dataset, but not in the graph of that edge.
        ({"edge_index": torch.tensor([[0, 1], [2, 0]])}, "a node that its graph does not have"),
        ({"edge_index": torch.tensor([[0, -1], [1, 0]])}, "a node that its graph does not have"),
    ],
)
def test_what_does_not_fit_together(changes: dict[str, Tensor], message: str) -> None:
    PackedGraphs(**parts())
    with pytest.raises(ValueError, match=message):
        PackedGraphs(**parts(**changes))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([3], "between 0 and 2, got 3 to 3"),
        ([-1, 1], "between 0 and 2, got -1 to 1"),
        (1, r"mask over 3 graphs, got int64 of shape \[\]"),
        ([0.5], "got float32"),
        ([True, False], r"mask over 3 graphs, got bool of shape \[2\]"),
        ([[0, 1]], r"shape \[1, 2\]"),
    ],
)
def test_ids_that_are_none(ids: Any, message: str) -> None:
    for use in (three().batch, three().__getitem__):
        with pytest.raises(ValueError, match=message):
            use(ids)


def test_batch_size_zero() -> None:
    with pytest.raises(ValueError, match="at least one graph, got size 0"):
        next(three().batches(0))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            Data(x=torch.ones(1, 3), edge_index=torch.zeros(2, 0).long()),
            "graph 1 has .* same field",
        ),
        (make_graph(2, []).update({"x": torch.ones(2, 4)}), r"x of graph 1 .* \[4\], of graph 0"),
        (Data(x=torch.ones(1, 3)), "got a Data without"),
        ("graph", "got a str without"),
    ],
)
def test_graphs_that_cannot_be_packed(second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PackedGraphs.from_pyg([make_graph(2, [(0, 1)]), second])


def test_nothing_to_pack() -> None:
    with pytest.raises(ValueError, match="got no graphs"):
        PackedGraphs.from_pyg([])
    with pytest.raises(ValueError, match="got a int, expected a list of PyG Data"):
        PackedGraphs.from_pyg(3)


def test_node_level_labels_travel_through_batches_and_pyg() -> None:
    graphs = PackedGraphs(
        x=torch.rand(5, 2),
        edge_index=torch.tensor([[0, 1, 0], [1, 0, 1]]),
        node_ptr=torch.tensor([0, 2, 5]),
        edge_ptr=torch.tensor([0, 2, 3]),
        node_y=torch.tensor([0, 1, 2, 1, 0]),
        mask=torch.tensor([True, False, True, True, False]),
    )
    batch = graphs.batch([1, 0])
    assert batch.labels.tolist() == [2, 1, 0, 0, 1]
    assert batch.mask is not None
    assert batch.mask.tolist() == [True, True, False, True, False]
    back = PackedGraphs.from_batch(batch)[[1, 0]]
    again = PackedGraphs.from_pyg(graphs.to_pyg(), level="node")
    for name, value in graphs.tensors().items():
        torch.testing.assert_close(back.tensors()[name], value)
        torch.testing.assert_close(again.tensors()[name], value)
    for ids in ([0, 1], [1]):
        there = graphs.batch(ids)
        pyg = there.to_pyg()
        assert torch.equal(pyg.train_mask, there.mask)
        assert_same(Batch.from_pyg(pyg), there, ("x", "edge_index", "y", "mask", "node_graph"))


def test_features_of_graphs_come_from_pyg_as_one_row_each() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    rows = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])]
    data = [Data(x=torch.ones(2, 1), edge_index=edge_index, graph_attr=row) for row in rows]
    packed = PackedGraphs.from_pyg(data)
    assert packed.graph_attr is not None
    assert packed.graph_attr.tolist() == [[1, 2], [3, 4]]
    assert packed.num_graph_features == 2
    assert packed.batch([1]).graph_attr.tolist() == [[3, 4]]
    batch = Batch.from_pyg(PygBatch.from_data_list(data))
    assert batch.graph_attr is not None
    assert batch.graph_attr.tolist() == [[1, 2], [3, 4]]
    again = PackedGraphs.from_pyg(packed.to_pyg())
    assert torch.equal(again.graph_attr, packed.graph_attr)
