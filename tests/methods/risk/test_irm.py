"""IRM, V-REx and IB-IRM: the losses written out with two derivatives, and their gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.nn.readout import readout

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8, "dropout": 0.0})


def model(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return build_method(name, SPEC, tiny.CLASSES, options).eval()


def two_environments() -> Batch:
    return replace(tiny.whole(tiny.motifs(2)), environment=torch.tensor([4, 1, 4, 4, 1, 4]))


def gradients(logits: Tensor, batch: Batch) -> list[Tensor]:
    """``g_e`` of every environment by autograd."""
    found = []
    assert batch.environment is not None
    for environment in batch.environment.unique():
        inside = batch.environment == environment
        factor = torch.ones((), requires_grad=True)
        risk = F.cross_entropy(factor * logits[inside], batch.labels[inside])
        found.append(torch.autograd.grad(risk, factor, create_graph=True)[0])
    return found


def moved(method: Method, term: Tensor) -> bool:
    """Whether a term has a gradient at the first layer."""
    weights = [value for value in method.parameters() if value.requires_grad]
    found = torch.autograd.grad(term, weights, retain_graph=True, allow_unused=True)
    return any(grad is not None and bool(grad.abs().sum() > 0) for grad in found)


def test_irm_written_out() -> None:
    irm, batch = model("irm", penalty=3.0), two_environments()
    terms = irm.loss(batch)
    logits = irm(batch).logits
    first, second = gradients(logits, batch)
    torch.testing.assert_close(terms["prediction"], F.cross_entropy(logits, batch.labels))
    torch.testing.assert_close(terms["penalty"], 3 * (first**2 + second**2))
    # Its gradient is the double-backward one.
    weights = list(irm.predictor.parameters())
    ours = torch.autograd.grad(terms["penalty"], weights)
    theirs = torch.autograd.grad(3 * (first**2 + second**2), weights)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_irm_with_the_product_of_the_release() -> None:
    irm, batch = model("irm", form="product"), two_environments()
    first, second = gradients(irm(batch).logits, batch)
    torch.testing.assert_close(irm.loss(batch)["penalty"], first * second)


def test_vrex_written_out_and_its_penalty_has_a_gradient() -> None:
    vrex, batch = model("vrex", penalty=2.0), two_environments()
    terms = vrex.loss(batch)
    logits = vrex(batch).logits
    risks = [
        F.cross_entropy(logits[batch.environment == e], batch.labels[batch.environment == e])
        for e in (1, 4)
    ]
    torch.testing.assert_close(terms["penalty"], 2 * (risks[0] - risks[1]) ** 2 / 2)
    assert moved(vrex, terms["penalty"])


@pytest.mark.parametrize("name", ["irm", "vrex", "ib-irm"])
def test_one_environment_alone(name: str) -> None:
    method, batch = model(name), two_environments()
    alone = replace(batch, environment=torch.zeros(6, dtype=torch.long))
    terms = method.loss(alone)
    assert all(bool(term.isfinite()) for term in terms.values())
    assert (float(terms["penalty"].detach()) == 0) == (name == "vrex")
    unprepared = method.loss(replace(batch, environment=None))
    torch.testing.assert_close(unprepared["penalty"], terms["penalty"])


def test_ib_irm_written_out() -> None:
    method, batch = model("ib-irm", penalty=3.0, bottleneck=0.7), two_environments()
    terms = method.loss(batch)
    first, second = gradients(method(batch).logits, batch)
    states = readout(method.predictor.embed(batch), batch.node_groups, "sum")
    torch.testing.assert_close(terms["penalty"], 3 * (first**2 + second**2))
    torch.testing.assert_close(terms["bottleneck"], 0.7 * states.var(0).mean())
    assert moved(method, terms["bottleneck"])
    assert float(method.loss(tiny.motifs(1).batch([0]))["bottleneck"].detach()) == 0


def test_refuses_settings_out_of_range() -> None:
    with pytest.raises(ValueError, match="bottleneck must be 0 or more"):
        model("ib-irm", bottleneck=-1.0)
    with pytest.raises(ValueError, match="did you mean 'product'"):
        model("irm", form="produkt")
