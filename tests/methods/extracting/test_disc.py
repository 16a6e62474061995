"""DisC: what is easy belongs to the biased branch, and biased parts change graphs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import tiny
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.methods.extracting.disc import DisC, DisCConfig
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def make(**options: Any) -> DisC:
    torch.manual_seed(0)
    method = build_method("disc", SPEC, tiny.CLASSES, options)
    assert isinstance(method, DisC)
    return method


def test_the_losses_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, method = tiny.whole(tiny.ragged()), make(swap_epoch=3, swap=2.0, bias=0.5).eval()
    causal, biased, _ = method._represent(batch)
    y, order = batch.labels, torch.tensor([3, 0, 6, 1, 2, 5, 4])

    def cross(head: Any, b: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(head(torch.cat([causal, b], 1)), labels, reduction="none")

    hard, easy = cross(method.causal_head, biased, y), cross(method.biased_head, biased, y)
    share = easy / (easy + hard)
    plain = method.loss(batch, epoch=2)
    assert set(plain) == {"prediction", "bias"}
    torch.testing.assert_close(plain["prediction"], (share * hard).mean())
    amplified = 0.7 * (-easy).exp() ** 0.7 * easy
    torch.testing.assert_close(plain["bias"], 0.5 * amplified.mean())

    monkeypatch.setattr(torch, "rand", lambda *_, **__: order.argsort().double())
    hard = cross(method.causal_head, biased[order], y)
    easy = cross(method.biased_head, biased[order], y[order])
    expected = (share * hard).mean() + 0.5 * (0.7 * (-easy).exp() ** 0.7 * easy).mean()
    torch.testing.assert_close(method.loss(batch, epoch=3)["swapped"], 2 * expected)


def test_each_branch_learns_by_its_own_loss() -> None:
    """The causal network gets nothing from the biased branch's loss, and the other way round."""
    batch = tiny.whole(tiny.motifs(2))
    for term, silent in (("prediction", "biased"), ("bias", "causal")):
        method = make()
        method.loss(batch)[term].backward()  # type: ignore[no-untyped-call]
        for name in ("causal", "biased"):
            grads = [value.grad for value in getattr(method, name).parameters()]
            moved = any(grad is not None and bool(grad.abs().sum() > 0) for grad in grads)
            assert moved is (name != silent)
        assert float(method.scorer.last.weight.grad.abs().sum()) > 0


def test_what_is_easy_counts_more_for_the_biased_branch() -> None:
    """The slope of its loss falls with the loss, faster the larger q is."""
    losses = torch.tensor([0.1, 2.0], requires_grad=True)
    for q in (0.3, 0.7):
        (slope,) = torch.autograd.grad(make(amplification=q)._amplify(losses).sum(), losses)
        torch.testing.assert_close(slope, q * torch.exp(-q * losses.detach()))


def test_graphs_are_learned_by_heart_without_the_biased_branch() -> None:
    """With it the battery's network with dropout leaves the causal branch too little."""
    batch, method = tiny.whole(tiny.motifs(4)), make(bias=0.0)
    optimiser = torch.optim.Adam(method.parameters(), lr=0.01)
    for _ in range(150):
        method.train().step(batch, optimiser)
    right = method.eval()(batch).logits.argmax(1) == batch.labels
    assert float(right.float().mean()) >= 0.95


def test_parts_are_complementary() -> None:
    batch, method = tiny.whole(tiny.ragged(undirected=True)), make().eval()
    causal, biased, attention = method._represent(batch)
    assert torch.equal(attention.edge, attention.edge[batch.reverse])
    torch.testing.assert_close(causal, method.causal.represent(batch, attention.edge))
    torch.testing.assert_close(biased, method.biased.represent(batch, 1 - attention.edge))
    assert method.last_layer is method.causal_head


def test_settings() -> None:
    with pytest.raises(ValueError, match="amplification must be above 0"):
        DisCConfig(amplification=0.0)
    with pytest.raises(ValueError, match=r"method disc .* cannot learn a regression task"):
        build_method("disc", SPEC, Task("regression", 1, "rmse"), {})
