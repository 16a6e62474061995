"""One battery of checks for every method of nodes; a new one gets it by being registered.

A check takes a function that makes a fresh method, always with the same weights under the same
torch seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

import tiny_nodes
from gsina.files import load_tensors, save_tensors
from gsina.graphs.batch import Batch
from gsina.methods import Method

Make = Callable[[], Method]


def batch(nodes: int = 60) -> Batch:
    """One graph, whose labels can be learned."""
    return tiny_nodes.graphs(nodes=nodes).batch([0])


def seeded(make: Make, seed: int = 0) -> Method:
    """A fresh method under a seed."""
    torch.manual_seed(seed)
    return make()


def train(method: Method, graph: Batch, steps: int) -> list[float]:
    """Steps of Adam on one graph; the total loss of each."""
    optimiser = torch.optim.Adam(method.parameters(), lr=0.02)
    method.train()
    return [
        sum(float(term) for term in method.step(graph, optimiser, epoch).values())
        for epoch in range(steps)
    ]


@torch.no_grad()
def logits(method: Method, graph: Batch) -> Tensor:
    """Logits in evaluation mode."""
    return method.eval()(graph).logits


def check_overfits(make: Make) -> None:
    """Sixty nodes are learned by heart."""
    graph, method = batch(), seeded(make)
    for _ in range(20):
        train(method, graph, 15)
        right = logits(method, graph).argmax(1) == graph.labels
        if float(right.float().mean()) >= 0.95:
            return
    raise AssertionError(f"accuracy {float(right.float().mean())} after 300 steps")


def check_every_parameter_learns(make: Make) -> None:
    """Every parameter moves in a few steps, but for a shift in front of a norm."""
    method = seeded(make)
    before = {key: value.detach().clone() for key, value in method.named_parameters()}
    train(method, batch(), 2)
    for key, value in method.named_parameters():
        assert bool(value.isfinite().all()), key
        if not key.endswith("scorer.last.bias"):
            assert not torch.equal(value, before[key]), key


def check_seed_decides(make: Make) -> None:
    """The same seed gives the same weights, bit for bit; another one others."""

    def weights(seed: int) -> list[Tensor]:
        method = seeded(make, seed)
        train(method, batch(), 4)
        return [value.clone() for value in method.state_dict().values()]

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def check_evaluation_is_calm(make: Make) -> None:
    """No noise and no change of state in evaluation."""
    graph, method = batch(), seeded(make)
    train(method, graph, 2)
    before = {key: value.clone() for key, value in method.state_dict().items()}
    assert torch.equal(logits(method, graph), logits(method, graph))
    assert all(torch.equal(value, before[key]) for key, value in method.state_dict().items())


def check_odd_graphs(make: Make) -> None:
    """No edge, one node, isolated nodes, a mask of one node, a missing class, labels missing."""
    whole = batch()
    no_edges = {"edge_index": whole.edge_index[:, :0], "edge_graph": whole.edge_graph[:0]}
    one = Batch(
        x=whole.x[:1],
        y=whole.labels[:1],
        node_graph=whole.node_graph[:1],
        num_graphs=1,
        **no_edges,
    )
    few = (whole.edge_index < 10).all(0)
    cases = {
        "no edge": replace(whole, reverse=None, **no_edges),
        "one node": one,
        "isolated nodes": replace(
            whole,
            edge_index=whole.edge_index[:, few],
            edge_graph=whole.edge_graph[few],
            reverse=None,
        ),
        "mask of one": replace(whole, mask=torch.arange(60) == 3),
        "one class": replace(whole, y=torch.zeros_like(whole.labels)),
        "labels missing": replace(whole, y=whole.labels.index_fill(0, torch.arange(40), -1)),
    }
    for case, graph in cases.items():
        method = seeded(make)
        assert bool(torch.tensor(train(method, graph, 2)).isfinite().all()), case
        found = logits(method, graph)
        assert found.shape == (graph.num_nodes, tiny_nodes.CLASSES), case
        assert bool(found.isfinite().all()), case


def check_saves_and_loads(make: Make) -> None:
    """Weights through a file into a model with other weights: the same predictions."""
    graph, method, other = batch(), seeded(make), seeded(make, seed=9)
    train(method, graph, 3)
    assert not torch.equal(logits(other, graph), logits(method, graph))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save_tensors(path, method.state_dict())
        other.load_state_dict(load_tensors(path)[0])
    assert torch.equal(logits(other, graph), logits(method, graph))


CHECKS = [value for key, value in list(globals().items()) if key.startswith("check_")]
