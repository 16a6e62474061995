"""The fields of graphs carry their level, and a new one needs no other line."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from gsina.graphs.batch import Batch
from gsina.graphs.fields import NODE, GraphFields, columns, join, take
from gsina.graphs.packed import PackedGraphs
from gsina.training.evaluate import Predictions

#: Fields that hold numbers of nodes or edges, or are no tensors of rows.
WITHOUT_LEVEL = {
    GraphFields: set(),
    PackedGraphs: {"node_ptr", "edge_ptr"},
    Batch: {"edge_index", "num_graphs", "reverse", "most_nodes"},
    Predictions: set(),
}


@dataclass(frozen=True)
class Charged(PackedGraphs):
    """Graphs with one more field of nodes."""

    charge: Tensor | None = field(default=None, kw_only=True, metadata=NODE)


def charged() -> Charged:
    """Two graphs: an edge, and a node alone."""
    return Charged(
        x=torch.tensor([[1.0], [2.0], [3.0]]),
        edge_index=torch.tensor([[0], [1]]),
        node_ptr=torch.tensor([0, 2, 3]),
        edge_ptr=torch.tensor([0, 1, 1]),
        y=torch.tensor([0, 1]),
        charge=torch.tensor([-1, 0, 1]),
    )


def test_every_field_of_rows_has_a_level() -> None:
    for kind, without in WITHOUT_LEVEL.items():
        named = {column.name for column in columns(kind)}
        assert {one.name for one in fields(kind)} - named == without
        assert {column.level for column in columns(kind)} <= {"graph", "node", "edge", "label"}


def test_a_new_field_goes_wherever_the_others_go() -> None:
    graphs = charged()
    turned = graphs[[1, 0]]
    assert isinstance(turned, Charged)
    assert turned.charge is not None
    assert turned.charge.tolist() == [1, -1, 0]
    joined = Charged.join([turned, graphs])
    assert joined.tensors()["charge"].tolist() == [1, -1, 0, -1, 0, 1]
    assert graphs.to_undirected().tensors()["charge"].tolist() == [-1, 0, 1]
    again = Charged.from_pyg(graphs.to_pyg())
    for name, value in graphs.tensors().items():
        assert torch.equal(again.tensors()[name], value), name


def test_join_is_the_inverse_of_taking_apart() -> None:
    graphs = charged()
    joined = Charged.join([graphs[[0]], graphs[[1]]])
    for name, value in graphs.tensors().items():
        assert torch.equal(joined.tensors()[name], value), name


def test_a_field_that_one_part_lacks_is_left_out() -> None:
    whole, bare = Predictions(torch.zeros(2, 1), torch.ones(3)), Predictions(torch.zeros(1, 1))
    assert set(join([whole, bare])) == {"logits"}
    assert set(join([whole, whole])) == {"logits", "edge"}


def test_rows_by_number_are_those_by_slice() -> None:
    graphs = charged()
    rows = graphs.rows_of(0)
    assert rows == {"graph": slice(0, 1), "node": slice(0, 2), "edge": slice(0, 1)}
    numbers = {level: torch.arange(some.start, some.stop) for level, some in rows.items()}
    views, copies = take(graphs, rows), take(graphs, numbers)
    assert views.keys() == copies.keys()
    for name, value in copies.items():
        assert torch.equal(views[name], value), name
    assert set(take(graphs, {"node": slice(0, 1)})) == {"x", "charge"}
