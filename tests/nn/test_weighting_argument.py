"""Backbones that take weights of edges as an argument: the same as by hooks, and compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.nn.backbones import BACKBONES
from gsina.nn.backbones.protocol import BackboneModule
from gsina.nn.predictor import embed
from gsina.nn.weighting import takes_weights, weighted_messages

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")

#: Whose messages hang on numbers.
BY_HOOKS = {"pna"}


def make(name: str, edge_channels: int) -> tuple[BackboneModule, Batch]:
    torch.manual_seed(0)
    options = {"edge_channels": edge_channels} if edge_channels else {}
    network = BACKBONES[name](tiny.FEATURES, hidden_channels=20, **options).eval()
    batch = tiny.whole(tiny.motifs(3))
    edges = torch.randn(batch.num_edges, edge_channels) if edge_channels else None
    return network, replace(batch, edge_attr=edges)


def states(network: BackboneModule, batch: Batch, weight: Tensor, by_hooks: bool) -> list[Tensor]:
    """Node states, and their gradients by the weights and the parameters."""
    given = {"edge_attr": batch.edge_attr} if batch.edge_attr is not None else {}
    if by_hooks:
        with weighted_messages(network, weight, batch.edge_index):
            found = network(batch.x, batch.edge_index, **given)
    else:
        found = network(batch.x, batch.edge_index, edge_weight=weight, **given)
    pull = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    parameters = [weight, *network.parameters()]
    return [found, *torch.autograd.grad(found, parameters, pull, materialize_grads=True)]


CASES = [(name, 0) for name in BACKBONES if name not in BY_HOOKS]
CASES += [(name, 3) for name in ("gin", "ogb-gcn", "ogb-gin")]


@pytest.mark.parametrize(("name", "edge_channels"), CASES)
def test_an_argument_weighs_as_hooks_do(name: str, edge_channels: int) -> None:
    network, batch = make(name, edge_channels)
    assert takes_weights(network)
    weight = torch.rand(batch.num_edges).requires_grad_()
    by_hooks = states(network, batch, weight, True)
    by_argument = states(network, batch, weight, False)
    for one, other in zip(by_hooks, by_argument, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(BY_HOOKS & {*BACKBONES}))
def test_others_are_weighed_by_hooks(name: str) -> None:
    network, _ = make(name, 0)
    assert not takes_weights(network)


def test_who_looks_at_messages_still_sees_them() -> None:
    """An outer context multiplies, and a layer that PyG explains makes its messages."""
    network, batch = make("ogb-gcn", 0)
    weight = torch.rand(batch.num_edges)
    with weighted_messages(network, weight, batch.edge_index):
        assert not takes_weights(network)
        nested = embed(network, batch, weight)
    torch.testing.assert_close(nested, embed(network, batch, weight * weight))
    network.layers[0].explain = True
    assert not takes_weights(network)
    normalised = BACKBONES["gcn"](tiny.FEATURES, normalise=True)
    assert takes_weights(normalised)
    normalised.layers[0].conv.explain = True
    assert not takes_weights(normalised)


def test_hooks_on_layers_are_called_with_weights_too() -> None:
    network, batch = make("gin", 0)
    called: list[int] = []
    handle = network.layers[0].register_forward_hook(lambda *_: called.append(1))
    assert not takes_weights(network)
    embed(network, batch, torch.ones(batch.num_edges))
    assert called == [1]
    handle.remove()
    assert takes_weights(network)


def test_a_subclass_whose_forward_takes_no_weights_is_weighed_by_hooks() -> None:
    class Mine(BACKBONES["gin"]):  # type: ignore[misc]
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return super().forward(x, edge_index)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    network, batch = Mine(tiny.FEATURES, hidden_channels=20).eval(), tiny.whole(tiny.motifs(3))
    assert not takes_weights(network)
    weight = torch.rand(batch.num_edges)
    assert not torch.equal(embed(network, batch, weight), embed(network, batch))
