"""The compiled kernels against the same numbers by torch, and what they leave to torch."""

from __future__ import annotations

import ctypes
import math
import shutil
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.nn.attention import standardise
from gsina.nn.node_weights import node_attention
from gsina.ops import compiled
from gsina.ops.compiled import Graphs, attend, kernels, solve, torch_alone
from gsina.ops.edges import symmetrise
from gsina.ops.groups import Groups
from gsina.ops.shared import SharedGroup
from gsina.ops.soft_top_r import exact_weights, soft_top_r
from gsina.ops.solvers.dual import solve_dual
from transport_problems import RATIOS, TEMPERATURES, ragged

needs_kernels = pytest.mark.skipif(kernels() is None, reason="the kernels were not built")
NEAR = 1e-9**0.5


def test_they_are_built_where_there_is_a_compiler() -> None:
    assert kernels() is not None or shutil.which("cc") is None


def graphs_of(batch: Batch) -> Graphs:
    return Graphs(batch.edge_groups, batch.edge_index, batch.reverse, batch.num_nodes)


def at_once(scores: Tensor, graphs: Graphs, **changed: Any) -> Any:
    usual = {
        "ratio": 0.3,
        "temperature": 1.0,
        "noise": None,
        "sigma": 1.0,
        "eps": 1e-6,
        "near": NEAR,
    }
    given = usual | changed
    if "isolated" not in given:
        given["isolated"] = of_nodes(given["ratio"])
    return attend(scores, graphs, **given)


def step_by_step(
    scores: Tensor, graphs: Graphs, ratio: float | Tensor, temperature: float, noise: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The same in float64, by the operators of torch."""
    groups, reverse = graphs.groups, graphs.reverse
    standard = standardise(symmetrise(scores, reverse), groups, 1e-6)
    x = standard
    if noise is not None:
        first = torch.arange(scores.numel())
        first = first if reverse is None else torch.minimum(first, reverse)
        x = standard - 0.7 * noise.double()[first]
    share = torch.as_tensor(ratio, dtype=torch.float64).expand(groups.num)
    edge = exact_weights(x * (2 / temperature), share, groups)
    node = node_attention(edge, graphs.edge_index, graphs.num_nodes, of_nodes(ratio), "max")
    assert node is not None
    return edge, node, standard


#: One per graph of ``tiny.ragged``, of which two have no edges and one has one.
EACH = torch.tensor([1.0, 0.3, 0.5, 1.0, 0.97, 0.02, 0.4], dtype=torch.float64)


def of_nodes(ratio: float | Tensor) -> float | Tensor:
    """The ratio of every node's graph, where there is one per graph."""
    return ratio[BATCH.node_graph] if isinstance(ratio, Tensor) else ratio


@needs_kernels
@pytest.mark.parametrize("whole", [False, True], ids=["graph", "batch"])
@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("ratio", [0.02, 0.5, 0.97, 1.0, pytest.param(EACH, id="each")])
@pytest.mark.parametrize("noisy", [False, True])
def test_the_attention_and_its_gradient(
    noisy: bool, ratio: float | Tensor, undirected: bool, whole: bool
) -> None:
    if whole and isinstance(ratio, Tensor):
        pytest.skip("a batch has one ratio")
    batch = tiny.whole(tiny.ragged(undirected=undirected))
    graphs = graphs_of(batch)
    if whole:
        graphs = graphs._replace(groups=Groups.single(batch.num_edges))
    torch.manual_seed(4)
    noise = torch.randn(batch.num_edges) if noisy else None
    of_edge, of_node = torch.randn(batch.num_edges), torch.randn(batch.num_nodes)
    for temperature in (0.3, 1.0, 20.0):
        scores = (3 * torch.randn(batch.num_edges) + 2).requires_grad_()
        found = at_once(
            scores, graphs, ratio=ratio, temperature=temperature, noise=noise, sigma=0.7
        )
        assert found is not None
        edge, node, standard = found
        assert not standard.requires_grad
        (grad,) = torch.autograd.grad((edge * of_edge).sum() + (node * of_node).sum(), scores)
        exact = scores.detach().double().requires_grad_()
        with torch_alone():
            answer = step_by_step(exact, graphs, ratio, temperature, noise)
        loss = (answer[0] * of_edge).sum() + (answer[1] * of_node).sum()
        (expected,) = torch.autograd.grad(loss, exact)
        for ours, theirs in zip(found, answer, strict=True):
            torch.testing.assert_close(ours.double(), theirs, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(grad.double(), expected, atol=2e-5, rtol=1e-4)


@needs_kernels
def test_the_gradient_of_one_output_alone() -> None:
    batch = tiny.whole(tiny.ragged())
    scores = torch.randn(batch.num_edges, requires_grad=True)
    edge, node, _ = at_once(scores, graphs_of(batch))
    weight = torch.rand(batch.num_edges)
    (both,) = torch.autograd.grad((edge * weight).sum() + node.sum(), scores, retain_graph=True)
    (of_edge,) = torch.autograd.grad((edge * weight).sum(), scores, retain_graph=True)
    (of_node,) = torch.autograd.grad(node.sum(), scores)  # a gradient that is not contiguous
    torch.testing.assert_close(of_edge + of_node, both)
    assert at_once(scores, graphs_of(batch), isolated=None)[1] is None


@needs_kernels
def test_ties_share_the_gradient_of_their_node() -> None:
    edge_index = torch.tensor([[0, 0, 3, 0], [1, 2, 3, 1]])  # a loop at 3, twice an edge 0 -> 1
    graphs = Graphs(Groups.single(4), edge_index, None, 5)
    scores = torch.tensor([1.0, 1.0, 0.0, 1.0], requires_grad=True)
    edge, node, _ = at_once(scores, graphs, ratio=0.5)
    assert node.tolist() == pytest.approx([*edge[[0, 0, 0, 2]].tolist(), 0.5])
    (grad,) = torch.autograd.grad(node[0] + 3 * node[3], scores)
    exact = scores.detach().double().requires_grad_()
    _, expected_node, _ = step_by_step(exact, graphs, 0.5, 1.0, None)
    (expected,) = torch.autograd.grad(expected_node[0] + 3 * expected_node[3], exact)
    torch.testing.assert_close(grad.double(), expected, atol=1e-6, rtol=1e-4)


@needs_kernels
def test_ties_with_the_weight_of_isolated_nodes() -> None:
    graphs = Graphs(Groups.single(2), torch.tensor([[0, 0], [1, 2]]), None, 3)
    scores = torch.zeros(2, requires_grad=True)  # both weights are the ratio
    edge, node, _ = at_once(scores, graphs, ratio=0.5)
    assert node.tolist() == [0.5] * 3
    plain = edge.detach().requires_grad_()
    expected = node_attention(plain, graphs.edge_index, 3, 0.5, "max")
    (grad,) = torch.autograd.grad(expected[0], plain)
    assert grad.tolist() == [0.5, 0.5]


@needs_kernels
def test_a_graph_is_bit_for_bit_the_same_alone_and_in_any_batch() -> None:
    graphs = tiny.ragged(undirected=True)
    scores = torch.randn(graphs.edge_index.size(1))
    together = at_once(scores, graphs_of(tiny.whole(graphs)))[0]
    for number in range(len(graphs)):
        rows = slice(int(graphs.edge_ptr[number]), int(graphs.edge_ptr[number + 1]))
        alone = at_once(scores[rows], graphs_of(graphs.batch([number])))[0]
        assert torch.equal(alone, together[rows])


@needs_kernels
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_duals_of_all_kinds_of_groups(temperature: float) -> None:
    scores, index, num = ragged((1, 2, 3, 17, 64, 65, 200))
    groups = Groups(index, num, scores.numel())
    x = 2 * scores / temperature
    for ratio in RATIOS:
        share = torch.full((num,), ratio, dtype=torch.float64)
        found = solve_dual(x, share, groups)
        with torch_alone():
            expected = solve_dual(x, share, groups)
        ours, theirs = torch.sigmoid(found.logits), torch.sigmoid(expected.logits)
        torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


@needs_kernels
@settings(max_examples=200)
@given(
    st.integers(0, 2**31),
    st.integers(1, 300),
    st.floats(1e-3, 0.999),
    st.floats(-3, 3),
    st.booleans(),
)
def test_the_mean_is_the_ratio(
    seed: int, size: int, ratio: float, log_scale: float, rounded: bool
) -> None:
    x = 10**log_scale * torch.randn(
        size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    x = x.round() if rounded else x
    found = solve(x, torch.tensor([ratio], dtype=torch.float64), Groups.single(size), 1e-6)
    if found is None:  # a dual of thousands, which loses digits: torch solves it in two steps
        assert log_scale > 2
        return
    mean = math.fsum(torch.sigmoid(x + found[0]).tolist()) / size
    assert mean == pytest.approx(ratio, abs=1e-11)


@needs_kernels
def test_typical_scores_take_a_few_evaluations() -> None:
    x = 3 * torch.randn(60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = solve(x, torch.tensor([0.3], dtype=torch.float64), Groups.single(60), NEAR)
    assert found is not None
    assert found[1] <= 4


@needs_kernels
def test_shares_of_one_and_empty_groups() -> None:
    index = torch.tensor([1, 1, 3])
    share = torch.tensor([0.2, 0.4, 0.6, 1.0, 0.5], dtype=torch.float64)
    found = solve(torch.tensor([1.0, 1.0, 7.0]).double(), share, Groups(index, 5, 3), 1e-6)
    assert found is not None
    expected = [0.0, math.log(0.4 / 0.6) - 1, 0.0, 0.0, 0.0]
    assert found[0].tolist() == pytest.approx(expected)


@needs_kernels
def test_logits_that_do_not_fit_their_groups_are_left_to_torch() -> None:
    x, share = torch.zeros(5, dtype=torch.float64), torch.full((1,), 0.5, dtype=torch.float64)
    assert solve(x, share, Groups.single(5), 1e-6) is not None
    assert solve(x, share, Groups.single(9), 1e-6) is None
    assert solve(x.float(), share, Groups.single(5), 1e-6) is None
    assert solve(x, share[:0], Groups.single(5), 1e-6) is None


BATCH = tiny.whole(tiny.ragged(undirected=True))
EDGES = BATCH.num_edges


@needs_kernels
@pytest.mark.parametrize(
    "graphs",
    [
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph.flip(0), 7, EDGES)),
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph, 6, EDGES)),
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph - 1, 7, EDGES)),
        graphs_of(BATCH)._replace(groups=SharedGroup(None, 1, EDGES)),
        graphs_of(BATCH)._replace(reverse=torch.full((EDGES,), EDGES)),
        graphs_of(BATCH)._replace(reverse=torch.full((EDGES,), -1)),
        graphs_of(BATCH)._replace(reverse=torch.arange(EDGES).roll(1)),
        graphs_of(BATCH)._replace(num_nodes=BATCH.num_nodes - 1),
        graphs_of(BATCH)._replace(edge_index=BATCH.edge_index - 1),
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph[:5], 7, EDGES)),
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph[:5], 7, 5)),
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph.int(), 7, EDGES)),
        graphs_of(BATCH)._replace(groups=Groups(BATCH.edge_graph.to("meta"), 7, EDGES)),
        graphs_of(BATCH)._replace(reverse=torch.arange(5)),
        graphs_of(BATCH)._replace(reverse=torch.arange(EDGES + 5)),
        graphs_of(BATCH)._replace(reverse=torch.arange(EDGES).int()),
        graphs_of(BATCH)._replace(edge_index=BATCH.edge_index[:, :5]),
        graphs_of(BATCH)._replace(edge_index=BATCH.edge_index.int()),
    ],
    ids=[
        "descending",
        "more groups than said",
        "a negative group",
        "several processes",
        "reverse too large",
        "reverse negative",
        "reverse no pairing",
        "ends too large",
        "ends negative",
        "index too short",
        "groups of another size",
        "index int32",
        "index elsewhere",
        "reverse too short",
        "reverse too long",
        "reverse int32",
        "ends too few",
        "ends int32",
    ],
)
def test_what_is_odd_is_left_to_torch(graphs: Graphs) -> None:
    scores = torch.randn(EDGES)
    assert at_once(scores, graphs_of(BATCH)) is not None
    assert at_once(scores, graphs) is None


@needs_kernels
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_left_to_torch(bad: float) -> None:
    scores = torch.randn(EDGES)
    scores[3] = bad
    assert at_once(scores, graphs_of(BATCH)) is None
    assert at_once(torch.randn(EDGES).double(), graphs_of(BATCH)) is None  # float32 only


@needs_kernels
def test_ratios_that_do_not_fit_are_left_to_torch() -> None:
    scores, graphs = torch.randn(EDGES), graphs_of(BATCH)
    assert at_once(scores, graphs, ratio=EACH) is not None
    assert at_once(scores, graphs, ratio=EACH[:6], isolated=0.3) is None
    assert at_once(scores, graphs, ratio=EACH.float()) is None
    assert at_once(scores, graphs, ratio=EACH, isolated=EACH) is None


@needs_kernels
def test_noise_that_does_not_fit_is_left_to_torch() -> None:
    for noise in (torch.randn(5), torch.randn(EDGES).double()):
        assert at_once(torch.randn(EDGES), graphs_of(BATCH), noise=noise) is None


@needs_kernels
def test_input_that_is_not_contiguous() -> None:
    scores, noise = torch.randn(EDGES, 2), torch.randn(EDGES, 2)
    graphs = graphs_of(BATCH)
    strided = graphs._replace(edge_index=BATCH.edge_index.T.contiguous().T)
    found = at_once(scores[:, 0], strided, noise=noise[:, 0])
    expected = at_once(scores[:, 0].clone(), graphs, noise=noise[:, 0].clone())
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)


@needs_kernels
def test_another_default_device_does_no_harm() -> None:
    scores = torch.randn(EDGES)
    with torch.device("meta"):
        assert at_once(scores, graphs_of(BATCH)) is not None
        assert soft_top_r(scores, 0.5, BATCH.edge_graph, num_groups=7).is_cpu


@needs_kernels
def test_a_second_derivative_is_refused() -> None:
    scores = torch.randn(EDGES, requires_grad=True)
    (grad,) = torch.autograd.grad(
        at_once(scores, graphs_of(BATCH))[0][:9].sum(), scores, create_graph=True
    )
    assert bool(grad.any())
    with pytest.raises(RuntimeError, match="can be taken once"):
        grad.square().sum().backward()


@needs_kernels
def test_a_backward_pass_may_come_without_kernels() -> None:
    scores = torch.randn(EDGES, requires_grad=True)
    edge = at_once(scores, graphs_of(BATCH))[0]
    with torch_alone():
        edge[:9].sum().backward()
    assert scores.grad is not None
    assert bool(scores.grad.any())


@needs_kernels
def test_large_groups_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = torch.randn(EDGES)
    monkeypatch.setattr(compiled, "LARGE", EDGES / BATCH.num_graphs / 2)
    assert at_once(scores, graphs_of(BATCH)) is None


@needs_kernels
def test_no_edges() -> None:
    none = Graphs(Groups.single(0), torch.zeros(2, 0, dtype=torch.long), None, 3)
    edge, node, standard = at_once(torch.zeros(0), none)
    assert edge.shape == standard.shape == (0,)
    assert node.tolist() == pytest.approx([0.3] * 3)


class _Library:
    """A library of another version."""

    def __init__(self, version: int) -> None:
        self.version = version

    @property
    def gsina_version(self) -> Any:
        return type("Version", (), {"restype": None, "__call__": lambda _: self.version})()


def _refuse(path: str) -> None:
    raise OSError(f"{path}: wrong machine")


@needs_kernels
@pytest.mark.parametrize("load", [lambda path: _Library(-1), _refuse, lambda path: object()])
def test_a_library_that_does_not_fit(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert compiled._library.__wrapped__() is None


def test_a_library_that_was_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "__file__", "/nowhere/compiled.py")
    assert compiled._library.__wrapped__() is None


def test_torch_alone() -> None:
    with torch_alone():
        assert kernels() is None
        assert at_once(torch.randn(EDGES), graphs_of(BATCH)) is None
        assert solve(torch.ones(2).double(), torch.ones(1).double(), Groups.single(2), 1e-6) is None
    assert kernels() is compiled._library()
