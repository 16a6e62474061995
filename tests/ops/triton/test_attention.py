"""The attention for GPUs in Triton's interpreter, beside torch alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from gsina.nn.attention import Attention, GraphSinkhornAttention
from gsina.ops.compiled import Graphs, torch_alone
from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups
from gsina.ops.solvers.dual32 import parts_of_one
from gsina.ops.triton import attention as kernels
from gsina.ops.triton import weights

SETTINGS = {
    "plain": {},
    "sharp": {"temperature": 0.05, "ratio": 0.2},
    "soft": {"temperature": 20.0, "ratio": 0.9},
    "no node weights": {"node": "none"},
    "by mean": {"node": "mean"},
    "a budget": {"budget": 3, "ratio": None},
}


@pytest.fixture(autouse=True)
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "BLOCK", 16)  # groups are longer than a block
    monkeypatch.setattr(weights, "available", lambda values: values.dtype == torch.float32)
    monkeypatch.setattr("gsina.nn.attention.attend", lambda *_, **__: None)


def problem(kind: str) -> tuple[Graphs, Tensor, Tensor]:
    """Graphs, the graph of every node, and scores.

    A cycle of 12 nodes with chords, a single edge, a graph without edges of one node.
    """
    ring = torch.arange(12)
    pairs = [torch.stack([ring, (ring + 1) % 12]), torch.stack([ring[:5], ring[:5] + 6])]
    once = torch.cat([*pairs, torch.tensor([[12], [13]])], 1)
    edge_index = torch.cat([once, once.flip(0)], 1)
    order = torch.randperm(edge_index.size(1), generator=torch.Generator().manual_seed(3))
    edge_index = edge_index[:, order]
    nodes = torch.tensor([0] * 12 + [1] * 2 + [2])
    groups = Groups(nodes[edge_index[0]], 3, edge_index.size(1))
    reverse = None if kind == "directed" else reverse_edges(edge_index, 15)
    scores = torch.randn(groups.size, generator=torch.Generator().manual_seed(0))
    made = {"equal": torch.ones_like(scores), "large": 1e4 * scores**3}
    return Graphs(groups, edge_index, reverse, 15), nodes, made.get(kind, scores)


def both(layer: GraphSinkhornAttention, kind: str) -> list[list[Tensor]]:
    """Weights and gradient by torch alone, and by the kernels."""
    graphs, nodes, scores = problem(kind)
    found = []
    for alone in (True, False):
        torch.manual_seed(1)
        x = scores.clone().requires_grad_()
        ratio, isolated = layer._ratios(graphs, graphs.groups.num, nodes)
        if alone:
            with torch_alone():
                made = layer.select(x, graphs, ratio, isolated)
        else:
            made = layer.select(x, graphs, ratio, isolated)
        found.append(_with_gradient(made, x))
    return found


def _with_gradient(made: Attention, x: Tensor) -> list[Tensor]:
    parts = [part for part in (made.edge, made.node) if part is not None]
    generator = torch.Generator().manual_seed(2)
    loss = sum((part * torch.randn(part.shape, generator=generator)).sum() for part in parts)
    assert made.scores is not None
    return [*parts, made.scores, *torch.autograd.grad(loss, x)]


CASES = [("undirected", name) for name in SETTINGS]
CASES += [(kind, "plain") for kind in ("directed", "equal", "large")]


@pytest.mark.parametrize(("kind", "settings"), CASES)
def test_it_is_what_torch_computes(
    kind: str, settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real = weights.launch
    monkeypatch.setattr(weights, "launch", lambda *a, **k: calls.append(a[0]) or real(*a, **k))
    layer = GraphSinkhornAttention(4, **({"ratio": 0.4} | SETTINGS[settings])).train()
    by_torch, by_kernels = both(layer, kind)
    assert ("attend_kernel" in calls) == (layer.node != "mean")
    *values, grad = zip(by_torch, by_kernels, strict=True)
    for one, other in values:
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)
    # The two equal scores of a single edge are divided by the root of eps, which is a thousandth.
    torch.testing.assert_close(grad[1], grad[0], rtol=1e-3, atol=1e-4)


def test_a_share_of_one_keeps_all() -> None:
    layer = GraphSinkhornAttention(4, 1.0).eval()
    _, (edge, node, *_) = both(layer, "undirected")
    assert bool((edge == 1).all() & (node == 1).all())


def test_other_groups_are_left_to_torch() -> None:
    graphs, _, scores = problem("directed")
    one = graphs._replace(groups=Groups.single(scores.numel()))
    known = {"ratio": 0.5, "temperature": 1.0, "noise": None, "sigma": 1.0, "eps": 1e-6}
    assert kernels.attend(scores, one, **known, isolated=None) is None
    assert kernels.attend(scores.double(), graphs, **known, isolated=None) is None


def test_a_sum_of_whole_parts_fits_into_its_type() -> None:
    for size in (0, 1, 1000, 1 << 30):
        assert parts_of_one(size) * max(size, 1) < 2.0**63
