"""Methods inside other machinery: each works, or says why not in one sentence."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, jvp, vmap
from torch.utils.data import DataLoader

import tiny
from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
GRAPHS = tiny.motifs(2)


class Tensors(nn.Module):
    """A method as a function of tensors, as ``torch.export`` wants it."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def forward(self, x: Tensor, edge_index: Tensor, node_graph: Tensor, sizes: Tensor) -> Tensor:
        edge_graph = node_graph.index_select(0, edge_index[0])
        parts = {"node_graph": node_graph, "edge_graph": edge_graph, "num_graphs": sizes.size(0)}
        logits: Tensor = self.method(Batch(x=x, edge_index=edge_index, **parts)).logits
        return logits


def given(per_class: int = 2) -> tuple[Tensor, ...]:
    batch = tiny.whole(tiny.motifs(per_class))
    return batch.x, batch.edge_index, batch.node_graph, torch.zeros(batch.num_graphs)


def make(name: str, backbone: str = "ogb-gcn", **options: Any) -> Method:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "num_layers": 2, "dropout": 0.0}
    spec = NetworkSpec(backbone, tiny.FEATURES, 0, sizes)
    return build_method(name, spec, tiny.CLASSES, options)


PLAIN = {"scorer": "plain"}


@pytest.mark.parametrize(
    ("name", "backbone", "options"),
    [
        ("erm", "gin", {}),
        ("gsina", "gin", PLAIN),
        ("gsina", "gat", PLAIN),
        ("gsina", "gprgnn", PLAIN),
        ("gsina", "ogb-gcn", {"budget": 3.0}),
    ],
)
def test_a_classifier_is_exported_for_batches_of_any_size(
    name: str, backbone: str, options: dict[str, Any]
) -> None:
    """As a program of torch's own operators, which needs neither PyG nor this package."""
    module = Tensors(make(name, backbone, **options).eval())
    shapes = tuple({dim: torch.export.Dim.AUTO} for dim in (0, 1, 0, 0))
    program = torch.export.export(module, given(), strict=False, dynamic_shapes=shapes)
    calls = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert not [one for one in calls if one.startswith("gsina")]
    for size in (2, 3):
        found = program.module()(*given(size))
        torch.testing.assert_close(found, module(*given(size)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", ["export", "compile"])
def test_messages_that_only_hooks_weigh_are_refused_in_one_sentence(how: str) -> None:
    """PyG runs no hooks there, and without them the weights would be lost in silence."""
    module = Tensors(make("gsina", "pna", **PLAIN).eval())
    sentence = "messages PyG does not let one weight"
    if how == "export":
        with pytest.raises(InputError, match=sentence):
            torch.export.export(module, given(), strict=False)
    else:
        module.method.predictor.network.compile(backend="eager")
        with pytest.raises(InputError, match=sentence):
            module(*given())


@pytest.mark.slow
def test_a_whole_step_of_gsina_compiles() -> None:
    """Messages are weighed without hooks there, so the loss and its gradients are the same."""
    torch._dynamo.reset()
    method, batch = make("gsina", noise=0.0, **PLAIN).train(), tiny.whole(GRAPHS)
    found = []
    for loss in (method.loss, torch.compile(method.loss, backend="eager")):
        value = loss(batch)["prediction"]
        found.append([value, *torch.autograd.grad(value, list(method.parameters()))])
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scorer", ["plain", "normed"])
def test_derivatives_of_a_whole_gsina_network_by_torch_func(scorer: str) -> None:
    method, batch = make("gsina", scorer=scorer).double().eval(), tiny.whole(tiny.motifs(1))
    weights, features = dict(method.named_parameters()), batch.x.double()

    def logits(given: dict[str, Tensor], x: Tensor) -> Tensor:
        found: Tensor = functional_call(method, given, (replace(batch, x=x),)).logits
        return found

    def loss(given: dict[str, Tensor]) -> Tensor:
        return logits(given, features).square().sum()

    expected = torch.autograd.grad(loss(weights), list(weights.values()))
    for one, other in zip(grad(loss)(weights).values(), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)
    by_features = jacrev(lambda x: logits(weights, x))(features)
    along = torch.randn_like(features)
    forwards = jvp(lambda x: logits(weights, x), (features,), (along,))[1]
    torch.testing.assert_close(forwards, (by_features * along).sum((-1, -2)), rtol=1e-5, atol=1e-7)
    several = vmap(lambda x: logits(weights, x))(torch.stack([features, 2 * features]))
    torch.testing.assert_close(several[1], logits(weights, 2 * features), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader_assemble_batches(start: str) -> None:
    loader = DataLoader(
        range(len(GRAPHS)),  # type: ignore[arg-type]
        batch_size=4,
        num_workers=1,
        collate_fn=GRAPHS.batch,
        multiprocessing_context=multiprocessing.get_context(start),
    )
    found = list(loader)
    assert [batch.num_graphs for batch in found] == [4, 2]
    assert torch.equal(found[1].x, GRAPHS.batch([4, 5]).x)


def test_a_precision_without_loss_scaling_is_refused() -> None:
    method = build_method("erm", SPEC, tiny.CLASSES, {})
    with pytest.raises(InputError, match=r"'fp16', in which small gradients vanish .* bf16"):
        fit(method, tiny.dataset(2), Settings(precision="fp16"), make_selection("strict-best"))
