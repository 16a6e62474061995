"""Recomputed states: the same numbers from less memory."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import tiny
from gsina.methods import METHODS, Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.nn.recompute import recomputed, run_recomputed
from gsina.ops.host import as_on_a_device

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.3})
LOSSES = [name for name, entry in METHODS.items() if "graph" in entry.levels]


def step(method: Method, wanted: bool) -> tuple[dict[str, torch.Tensor], dict[str, Any], int]:
    """Loss terms, gradients, and the bytes that were kept for the backward pass."""
    torch.manual_seed(1)
    kept: dict[int, int] = {}

    def keep(value: torch.Tensor) -> torch.Tensor:
        kept[value.data_ptr()] = value.nbytes
        return value

    batch = tiny.whole(tiny.motifs(8))
    with (
        recomputed(wanted),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value),
    ):
        terms = method.train().loss(batch, 1)
    memory = sum(kept.values())
    torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
    grads = {name: value.grad for name, value in method.named_parameters()}
    return terms, grads, memory


@pytest.mark.parametrize("name", LOSSES)
def test_the_numbers_stay_the_same(name: str) -> None:
    """Dropout and noise included; running statistics are updated once."""
    torch.manual_seed(0)
    plain = build_method(name, SPEC, tiny.CLASSES, {})
    other = copy.deepcopy(plain)
    terms, grads, memory = step(plain, False)
    again, same_grads, less = step(other, True)
    for term in terms:
        assert torch.equal(terms[term], again[term]), term
    for key, grad in grads.items():
        mine = same_grads[key]
        assert (grad is None) == (mine is None), key
        if grad is not None:
            torch.testing.assert_close(mine, grad, rtol=1e-5, atol=1e-7)
    for (key, one), two in zip(plain.named_buffers(), other.buffers(), strict=True):
        assert torch.equal(one, two), key
    assert less < memory


def test_evaluation_is_not_touched() -> None:
    method = build_method("gsina", SPEC, tiny.CLASSES, {}).eval()
    batch = tiny.whole(tiny.motifs(2))
    with torch.no_grad(), recomputed():
        found = method(batch).logits
    assert torch.equal(found, method(batch).logits)


def test_what_an_apple_device_draws_comes_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch puts back the random state of every other device, but not of these."""
    generator = torch.Generator().manual_seed(0)
    monkeypatch.setattr(torch.mps, "get_rng_state", generator.get_state)
    monkeypatch.setattr(torch.mps, "set_rng_state", generator.set_state)
    layer = torch.nn.Linear(3, 3)
    drawn: list[float] = []

    def run(x: torch.Tensor) -> torch.Tensor:
        drawn.append(float(torch.rand((), generator=generator)))
        return layer(x) * drawn[-1]

    with as_on_a_device("mps"), recomputed():
        out = run_recomputed(run, layer, torch.ones(2, 3))
        after = float(torch.rand((), generator=generator))
        out.sum().backward()
        further = float(torch.rand((), generator=generator))
    assert drawn[0] == drawn[1]
    assert len({*drawn, after, further}) == 3
