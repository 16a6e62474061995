"""The connectivity losses against dense matrices, explicit pairs, and what they should prefer."""

from __future__ import annotations

import torch
from torch import Tensor

import tiny
from gsina.ops.connectivity import edge_connectivity_loss, node_connectivity_loss
from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups


def groups_of(undirected: bool = False) -> tuple[Tensor, Groups, Groups, Tensor | None]:
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    edges = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    nodes = Groups(batch.node_graph, batch.num_graphs, batch.num_nodes)
    return batch.edge_index, edges, nodes, batch.reverse


def by_matrix(p: Tensor, edge_index: Tensor, edges: Groups, nodes: Groups) -> Tensor:
    assert edges.index is not None
    assert nodes.index is not None
    losses = []
    for graph in range(edges.num):
        mine = nodes.index == graph
        adjacency = torch.zeros(nodes.size, nodes.size, dtype=p.dtype)
        for source, target in edge_index[:, edges.index == graph].T.tolist():
            adjacency[source, target] = adjacency[target, source] = 1
        assignment = torch.stack([p, 1 - p], dim=1)[mine]
        joint = assignment.T @ adjacency[mine][:, mine] @ assignment
        if adjacency.sum() == 0:
            losses.append(p.new_zeros(()))
            continue
        losses.append((1 - (joint / joint.sum(1, keepdim=True)).diagonal()).square().mean())
    return torch.stack(losses)


def test_node_loss_is_that_of_the_matrices() -> None:
    for undirected in (False, True):
        edge_index, edges, nodes, _ = groups_of(undirected)
        p = torch.rand(nodes.size, dtype=torch.float64)
        found = node_connectivity_loss(p, edge_index, edges)
        torch.testing.assert_close(found, by_matrix(p, edge_index, edges, nodes))


def by_pairs(weights: Tensor, edge_index: Tensor, graph: Tensor, num: int) -> Tensor:
    """Every edge, every end, every other edge at that end; each edge in one direction."""
    columns = edge_index.T.tolist()
    inside, total = [0.0] * num, [0.0] * num
    for e, ends in enumerate(columns):
        for end in ends:
            others = [f for f, pair in enumerate(columns) if f != e and end in pair]
            for f in others:
                inside[graph[e]] += float(weights[e] * weights[f]) / len(others)
            total[graph[e]] += float(weights[e]) if others else 0.0
    return torch.tensor([1 - a / b if b else 0.0 for a, b in zip(inside, total, strict=True)])


def test_edge_loss_is_that_of_all_pairs() -> None:
    edge_index, edges, nodes, _ = groups_of()
    weights = torch.rand(edges.size)
    assert edges.index is not None
    found = edge_connectivity_loss(weights, edge_index, nodes)
    torch.testing.assert_close(found, by_pairs(weights, edge_index, edges.index, edges.num))


def test_edge_loss_counts_an_undirected_edge_once() -> None:
    edge_index, edges, nodes, _ = groups_of()
    weights = torch.rand(edges.size)
    loops = torch.arange(3).expand(2, -1)
    both = torch.cat([edge_index, edge_index.flip(0), loops], dim=1)
    reverse = reverse_edges(both, nodes.size)
    weights_both = torch.cat([weights, weights, torch.rand(3)])
    found = edge_connectivity_loss(weights_both, both, nodes, reverse)
    torch.testing.assert_close(found, edge_connectivity_loss(weights, edge_index, nodes))


def test_edge_loss_wants_edges_together() -> None:
    path = torch.stack([torch.arange(7), torch.arange(1, 8)])
    nodes = Groups(torch.zeros(8, dtype=torch.long), 1, 8)
    together = torch.tensor([1.0, 1, 1, 1, 0, 0, 0])
    apart = torch.tensor([1.0, 0, 1, 0, 1, 0, 1])  # touches every node
    assert float(edge_connectivity_loss(apart, path, nodes)) == 1
    assert float(edge_connectivity_loss(together, path, nodes)) < 0.2
    assert float(edge_connectivity_loss(torch.ones(7), path, nodes)) == 0
    # The reason for a loss of its own: on the nodes that the edges touch, `apart` looks perfect.
    edges = Groups(torch.zeros(7, dtype=torch.long), 1, 7)
    assert float(node_connectivity_loss(torch.ones(8), path, edges)) == 0


def test_gradients() -> None:
    edge_index, edges, nodes, reverse = groups_of(undirected=True)
    p = torch.rand(nodes.size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: node_connectivity_loss(p, edge_index, edges), p)
    w = torch.rand(edges.size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda w: edge_connectivity_loss(w, edge_index, nodes, reverse), w
    )


def test_hard_assignments_have_finite_gradients() -> None:
    edge_index, edges, nodes, _ = groups_of()
    for value in (0.0, 1.0):
        p = torch.full((nodes.size,), value, requires_grad=True)
        node_connectivity_loss(p, edge_index, edges).sum().backward()
        w = torch.full((edges.size,), value, requires_grad=True)
        edge_connectivity_loss(w, edge_index, nodes).sum().backward()
        assert p.grad is not None
        assert w.grad is not None
        assert p.grad.isfinite().all()
        assert w.grad.isfinite().all()
