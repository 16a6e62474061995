"""Methods inside other machinery: each works, or says why not in one sentence."""

from __future__ import annotations

import multiprocessing

import pytest
import torch
from torch import Tensor, nn
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

    def forward(self, x: Tensor, edge_index: Tensor, node_graph: Tensor, edges: Tensor) -> Tensor:
        parts = {"edge_attr": edges, "edge_graph": node_graph[edge_index[0]]}
        batch = Batch(
            x=x, edge_index=edge_index, node_graph=node_graph, num_graphs=len(GRAPHS), **parts
        )
        logits: Tensor = self.method(batch).logits
        return logits


def given() -> tuple[Tensor, ...]:
    batch = tiny.whole(GRAPHS)
    assert batch.edge_attr is not None
    return batch.x, batch.edge_index, batch.node_graph, batch.edge_attr


def test_a_plain_network_is_exported() -> None:
    module = Tensors(build_method("erm", SPEC, tiny.CLASSES, {}).eval())
    program = torch.export.export(module, given(), strict=False)
    torch.testing.assert_close(program.module()(*given()), module(*given()))


@pytest.mark.parametrize("how", ["export", "compile"])
def test_weighted_messages_are_refused_in_one_sentence(how: str) -> None:
    """PyG runs no hooks there, and without them the weights would be lost in silence."""
    module = Tensors(build_method("gsina", SPEC, tiny.CLASSES, {"scorer": "plain"}).eval())
    sentence = "messages PyG does not let one weight"
    if how == "export":
        with pytest.raises(InputError, match=sentence):
            torch.export.export(module, given(), strict=False)
    else:
        module.method.predictor.network.compile(backend="eager")
        with pytest.raises(InputError, match=sentence):
            module(*given())


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
    with pytest.raises(InputError, match=r"unknown precision 'fp16'.*bf16, float32"):
        fit(method, tiny.dataset(2), Settings(precision="fp16"), make_selection("strict-best"))
