"""Parts of graphs, kept in three ways."""

from __future__ import annotations

import pytest
import torch

import tiny
from gsina.explain.evidence import removal
from gsina.explain.evidence.removal import (
    WAYS,
    answers_of_parts,
    delete_others,
    masked_answers,
    replace_others,
)
from gsina.explainers.marked import mark
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec
from gsina.ops.budget import Budget


def model(
    method: str = "gsina", task: Task = tiny.CLASSES, backbone: str = "gin", **options: object
) -> Model:
    torch.manual_seed(0)
    edges = 1 if backbone == "gin" else 0
    spec = NetworkSpec(backbone, tiny.FEATURES, edges, {"hidden_channels": 8, **options})
    made = Architecture.of(method, {}, spec)
    return Model(made.build(task).eval(), task, made)


def some_parts(graphs: PackedGraphs) -> torch.Tensor:
    random = torch.rand(graphs.edge_index.size(1), generator=torch.Generator().manual_seed(0))
    shares = [mark(random, graphs, Budget(share=share)) for share in (0.3, 0.6)]
    return torch.stack(shares)


def test_deleting_leaves_the_part_and_nodes_that_never_had_an_edge() -> None:
    graphs = tiny.ragged(undirected=True)
    (part, _) = some_parts(graphs)
    rest = delete_others(graphs, part)
    assert len(rest) == len(graphs)
    assert rest.edge_index.size(1) == int(part.sum())
    assert rest.node_ptr.diff()[[1, 3]].tolist() == [3, 1]  # edgeless graphs stay as they are
    assert int(rest.node_ptr.diff()[4]) >= 3 + 2  # three isolated ones, and the ends of an edge
    whole = graphs.to_pyg()
    for number, small in enumerate(rest.to_pyg()):
        rows = graphs.rows_of(number)
        kept = part[rows["edge"]]
        # The edges that are left join the same nodes, by their features.
        ends = whole[number].x[whole[number].edge_index[:, kept]]
        assert torch.equal(small.x[small.edge_index], ends)
        assert torch.equal(small.edge_attr, whole[number].edge_attr[kept])
    same = delete_others(graphs, torch.zeros_like(part), nodes_too=False)
    assert same.x.shape == graphs.x.shape
    assert same.edge_index.size(1) == 0


def test_replacing_keeps_sizes_the_part_and_both_directions() -> None:
    graphs, pool = tiny.ragged(undirected=True), tiny.motifs(2)
    (part, _) = some_parts(graphs)
    rest = replace_others(graphs, part, pool, torch.Generator().manual_seed(0))
    assert torch.equal(rest.edge_ptr, graphs.edge_ptr)
    assert torch.equal(rest.edge_index[:, part], graphs.edge_index[:, part])
    assert not torch.equal(rest.edge_index[:, ~part], graphs.edge_index[:, ~part])
    loops = rest.edge_index[0] == rest.edge_index[1]
    assert not bool(loops.any())
    start = graphs.edge_ptr[:-1].repeat_interleave(graphs.edge_ptr.diff())
    reverse = graphs.reverse + start
    assert torch.equal(rest.edge_index[:, reverse], rest.edge_index.flip(0))
    other = (rest.x != graphs.x).any(-1)
    known = {tuple(row) for row in pool.x.tolist()}
    assert bool(other.any())
    assert {tuple(row) for row in rest.x[other].tolist()} <= known


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["gsina", "erm", "gsat", "dir", "gib"])
@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_the_whole_graph_gets_its_own_answer_and_no_part_breaks(
    way: str, method: str, readout: str
) -> None:
    graphs, made = tiny.ragged(undirected=True), model(method, readout=readout)
    whole = torch.ones(1, graphs.edge_index.size(1), dtype=torch.bool)
    parts = torch.cat([whole, some_parts(graphs), ~whole])
    found = answers_of_parts(made, graphs, parts, way)
    assert found.shape == (4, len(graphs), 3)
    assert bool(found.isfinite().all())
    logits = made.predict(graphs).logits
    torch.testing.assert_close(found[0], logits, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(found[1], logits)
    # Parts together are as parts one by one.
    alone = answers_of_parts(made, graphs, parts[1:2], way)
    if way != "replace":  # which draws
        torch.testing.assert_close(found[1:2], alone, atol=1e-5, rtol=1e-5)


def test_nodes_keep_their_rows() -> None:
    made = model(task=Task("multiclass", 3, level="node"), backbone="gcn")
    graphs = tiny.ragged()[[5]]
    for way in WAYS:
        found = answers_of_parts(made, graphs, some_parts(graphs), way)
        assert found.shape == (2, 40, 3)


def test_masks_multiply_messages_and_features(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, made = tiny.ragged(), model("erm")
    edge = torch.rand(2, graphs.edge_index.size(1))
    node = torch.rand(2, len(graphs.x))
    both = masked_answers(made, graphs, edge, node)
    second = masked_answers(made, graphs, edge[1:], node[1:])
    torch.testing.assert_close(both[1:], second)
    assert not torch.allclose(masked_answers(made, graphs, edge)[0], both[0])
    monkeypatch.setattr(removal, "MOST_EDGES", 10)  # masks and graphs one after the other
    torch.testing.assert_close(masked_answers(made, graphs, edge, node), both)
    parts = some_parts(graphs)
    found = answers_of_parts(made, graphs, parts, "delete")
    monkeypatch.undo()
    torch.testing.assert_close(answers_of_parts(made, graphs, parts, "delete"), found)


def test_another_way_is_refused() -> None:
    graphs = tiny.ragged()
    with pytest.raises(ValueError, match="unknown way of removing 'delet'; did you mean 'delete'"):
        answers_of_parts(model(), graphs, some_parts(graphs), "delet")  # type: ignore[arg-type]
