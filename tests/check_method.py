"""One battery of checks for every method; a new one gets it by being registered.

A check takes a function that makes a fresh method for a task, always with the same weights under
the same torch seed, and the method's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from torch import Tensor

import tiny
from gsina.files import load_tensors, save_tensors
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import METHODS, Method, task_loss

Make = Callable[[Task], Method]

#: Parameters that by design have no effect, by the end of their names: a shift in front of a norm.
WITHOUT_EFFECT = {
    "gsina": ("scorer.first.bias", "scorer.second.bias", "scorer.last.bias"),
    **dict.fromkeys(
        ("gsat", "gmt-lin", "gmt-sam", "grea", "gala"), ("scorer.first.bias", "scorer.second.bias")
    ),
}
#: Methods that learn a few graphs by heart only with a part switched off, as their tests show.
NOT_BY_HEART = ("disc",)


def train(method: Method, graphs: Batch, steps: int, lr: float = 0.01) -> list[float]:
    """Some epochs of one step of Adam; the total loss of each."""
    optimiser = torch.optim.Adam(method.parameters(), lr=lr)
    method.train()
    losses = []
    for epoch in range(steps):
        batch = tiny.whole(method.prepare(PackedGraphs.from_batch(graphs), epoch))
        losses.append(sum(float(term) for term in method.step(batch, optimiser, epoch).values()))
    return losses


@torch.no_grad()
def logits(method: Method, batch: Batch) -> Tensor:
    """Logits in evaluation mode."""
    return method.eval()(batch).logits


def seeded(make: Make, task: Task, seed: int = 0) -> Method:
    """A fresh method under a seed."""
    torch.manual_seed(seed)
    return make(task)


def with_labels(graphs: PackedGraphs, task: Task) -> PackedGraphs:
    """The graphs with random labels of a kind, one of them missing."""
    torch.manual_seed(7)
    y = torch.randn(len(graphs), task.outputs)
    if task.kind == "binary":
        y = (y > 0).float()
    y[0, -1] = torch.nan
    return replace(graphs, y=y)


def check_overfits(make: Make, name: str) -> None:
    """A dozen graphs are learned by heart."""
    if name in NOT_BY_HEART:
        return
    batch = tiny.whole(tiny.motifs(4))
    method = seeded(make, tiny.CLASSES)
    optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
    prepared = tiny.whole(method.prepare(PackedGraphs.from_batch(batch), 0))
    accuracy = 0.0
    for step in range(300):
        method.train().step(prepared, optimiser)
        if step % 5 == 4:
            accuracy = float((logits(method, batch).argmax(1) == batch.labels).float().mean())
            if accuracy >= 0.95:
                return
    raise AssertionError(f"accuracy {accuracy} after 300 steps")


def check_loss_decreases_for_every_task(make: Make, name: str) -> None:
    """Several binary labels and numbers, with labels missing; or the task is refused."""
    for task in (Task("binary", 2, "roc_auc"), Task("regression", 1, "rmse")):
        if task.kind not in METHODS[name].kinds:
            with pytest.raises(ValueError, match=f"method {name} .* cannot learn a {task.kind}"):
                make(task)
            continue
        batch = tiny.whole(with_labels(tiny.motifs(4), task))
        method = seeded(make, task)

        @torch.no_grad()
        def loss(method: Method = method, batch: Batch = batch, task: Task = task) -> float:
            # In training mode: the running statistics of batch norm lag behind in a few steps.
            draws = [task_loss(method.train()(batch).logits, batch, task) for _ in range(5)]
            return float(torch.stack(draws).mean())

        before = loss()
        losses = train(method, batch, 30)
        assert bool(torch.tensor(losses).isfinite().all()), losses
        assert loss() < 0.9 * before


def check_every_parameter_learns(make: Make, name: str) -> None:
    """Every parameter, also of an earlier stage, moves in a few steps, but for exceptions."""
    batch = tiny.whole(tiny.motifs(4))
    method = seeded(make, tiny.CLASSES)
    before = {key: value.detach().clone() for key, value in method.named_parameters()}
    train(method, batch, 2)
    for key, value in method.named_parameters():
        assert bool(value.isfinite().all()), key
        if not key.endswith(WITHOUT_EFFECT.get(name, ())):
            assert not torch.equal(value, before[key]), key


def check_seed_decides(make: Make, name: str) -> None:
    """The same seed gives the same weights, bit for bit; another one others."""
    batch = tiny.whole(tiny.motifs(2))

    def weights(seed: int) -> list[Tensor]:
        method = seeded(make, tiny.CLASSES, seed)
        train(method, batch, 4)
        return [value.clone() for value in method.state_dict().values()]

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def check_evaluation_is_calm(make: Make, name: str) -> None:
    """No noise and no change of state in evaluation."""
    batch = tiny.whole(tiny.ragged())
    method = seeded(make, tiny.CLASSES)
    train(method, batch, 2)
    before = {key: value.clone() for key, value in method.state_dict().items()}
    assert torch.equal(logits(method, batch), logits(method, batch))
    assert all(torch.equal(value, before[key]) for key, value in method.state_dict().items())


def check_batch_composition(make: Make, name: str) -> None:
    """Where the method claims it, a graph's output is the same alone and in any batch."""
    method = seeded(make, tiny.CLASSES)
    train(method, tiny.whole(tiny.motifs(2)), 3)
    if not method.batch_invariant:
        return
    for undirected, cases in (
        (False, ([0], [1], [2], [3], [6, 0, 3, 2])),
        (True, ([2], [5, 4])),
    ):
        graphs = tiny.ragged(undirected=undirected)
        together = logits(method, tiny.whole(graphs))
        for ids in cases:
            found = logits(method, graphs.batch(ids))
            torch.testing.assert_close(found, together[ids], atol=2e-5, rtol=2e-5)


def check_odd_batches(make: Make, name: str) -> None:
    """One graph, node or edge, no edge, isolated nodes, one class, environments unheard of."""
    method = seeded(make, tiny.CLASSES)
    graphs = tiny.ragged()
    for ids in ([5], [1], [2], [3], [1, 3, 3], [0, 6]):
        survives(method, graphs.batch(ids))
    learns_unprepared(method, graphs.batch([0, 2, 6]))
    graphs = tiny.ragged(undirected=True)
    graphs = replace(graphs, environment=torch.tensor([7, 0, 0, 7, 2, 2, 0]))
    for ids in ([2], [0, 3, 4]):
        survives(method, graphs.batch(ids))
        learns_unprepared(method, graphs.batch(ids))  # prepared, environments are drawn anew


def check_missing_labels(make: Make, name: str) -> None:
    """Some labels missing, and all of them: the loss is finite, and 0 where nothing is known."""
    graphs = tiny.ragged()
    method = seeded(make, tiny.CLASSES)
    for missing in ([0], [1, 2, 3, 4, 5, 6], list(range(7))):
        y = graphs.y.clone().index_fill_(0, torch.tensor(missing), -1)  # type: ignore[union-attr]
        survives(method, tiny.whole(replace(graphs, y=y)))
    method = seeded(make, Task("binary", 2, "roc_auc"))
    nothing = tiny.whole(replace(graphs, y=torch.full((7, 2), torch.nan)))
    survives(method, nothing)
    assert float(task_loss(logits(method, nothing), nothing, method.task)) == 0


def check_saves_and_loads(make: Make, name: str) -> None:
    """Weights through a file into a model with other weights: the same predictions."""
    batch = tiny.whole(tiny.ragged())
    method = seeded(make, tiny.CLASSES)
    train(method, batch, 3)
    other = seeded(make, tiny.CLASSES, seed=9)
    assert not torch.equal(logits(other, batch), logits(method, batch))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save_tensors(path, method.state_dict())
        other.load_state_dict(load_tensors(path)[0])
    assert torch.equal(logits(other, batch), logits(method, batch))


def survives(method: Method, batch: Batch) -> None:
    """A training step and an evaluation leave finite numbers behind."""
    assert bool(torch.tensor(train(method, batch, 1)).isfinite().all())
    for key, value in method.state_dict().items():
        assert bool(value.isfinite().all()), key
    found = logits(method, batch)
    assert found.shape == (batch.num_graphs, method.task.outputs)
    assert bool(found.isfinite().all())


def learns_unprepared(method: Method, batch: Batch) -> None:
    """A batch of somebody's own training loop has finite loss terms and gradients."""
    method.zero_grad()
    terms = method.train().terms(batch)
    torch.stack(list(terms.values())).sum().backward()
    assert all(bool(term.isfinite()) for term in terms.values())
    for key, value in method.named_parameters():
        assert value.grad is None or bool(value.grad.isfinite().all()), key


CHECKS = [value for key, value in list(globals().items()) if key.startswith("check_")]
#: Those in which the network matters; enough for all backbones but the first.
NETWORK_CHECKS = [check_every_parameter_learns, check_batch_composition, check_odd_batches]
