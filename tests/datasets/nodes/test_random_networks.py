from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.nn import GATConv, GCNConv, SGConv

from gsina.datasets.nodes.random_networks import FAMILIES, HEADS, Family, affine, draw_network

NODES, INPUTS, WIDTH = 7, 5, 4
#: A path with a branch; node 6 has no edges.
PAIRS = np.array([[0, 1, 2, 3, 1], [1, 2, 3, 4, 5]])
EDGES = np.concatenate([PAIRS, PAIRS[::-1]], axis=1)


class Weights:
    """A generator that hands out given weights, to give PyG's layers the same ones."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.given: list[np.ndarray] = []
        self.bounds: list[float] = []

    def uniform(self, low: float, high: float, size: object) -> np.ndarray:
        assert low == -high
        self.bounds.append(high)
        self.given.append(self.rng.uniform(low, high, size))  # type: ignore[call-overload]
        return self.given[-1]


def ours(family: Family, weights: Weights, x: np.ndarray) -> np.ndarray:
    network = draw_network(family, INPUTS, WIDTH, EDGES, NODES, weights)  # type: ignore[arg-type]
    return network(x)


def put(parameter: torch.Tensor, value: np.ndarray) -> None:
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(value).view_as(parameter))


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(1).random((NODES, INPUTS))


def test_gcn_is_pygs(x: np.ndarray) -> None:
    weights = Weights()
    found = ours("gcn", weights, x)
    layers = [GCNConv(INPUTS, WIDTH).double(), GCNConv(WIDTH, WIDTH).double()]
    for layer, weight in zip(layers, weights.given, strict=True):
        put(layer.lin.weight, weight.T.copy())
    edges, h = torch.from_numpy(EDGES), torch.from_numpy(x)
    expected = layers[1](layers[0](h, edges).relu(), edges)
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-12)
    assert weights.bounds == pytest.approx([(6 / 9) ** 0.5, (6 / 8) ** 0.5])  # Glorot.


def test_sgc_is_pygs(x: np.ndarray) -> None:
    weights = Weights()
    found = ours("sgc", weights, x)
    layer = SGConv(INPUTS, WIDTH, K=2).double()
    put(layer.lin.weight, weights.given[0].T.copy())
    put(layer.lin.bias, weights.given[1])
    expected = layer(torch.from_numpy(x), torch.from_numpy(EDGES))
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-12)


def test_gat_is_pygs(x: np.ndarray) -> None:
    weights = Weights()
    found = ours("gat", weights, x)
    layers = [
        GATConv(INPUTS, WIDTH, HEADS).double(),
        GATConv(HEADS * WIDTH, WIDTH, HEADS, concat=False).double(),
    ]
    for layer, start in zip(layers, (0, 3), strict=True):
        weight, source, target = weights.given[start : start + 3]
        put(layer.lin.weight, weight.T.copy())
        put(layer.att_src, source)
        put(layer.att_dst, target)
    edges, h = torch.from_numpy(EDGES), torch.from_numpy(x)
    expected = layers[1](torch.nn.functional.elu(layers[0](h, edges)), edges)
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_seed_decides_and_sparse_equals_dense(family: Family, x: np.ndarray) -> None:
    def run(seed: int, features: object) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return draw_network(family, INPUTS, WIDTH, EDGES, NODES, rng)(features)

    first = run(0, x)
    np.testing.assert_array_equal(first, run(0, x))
    np.testing.assert_allclose(first, run(0, csr_array(x)), atol=1e-12)
    assert not np.allclose(first, run(1, x))


def test_affine_is_within_its_bound() -> None:
    weight, bias = affine(100, 50, np.random.default_rng(0))
    assert weight.shape == (100, 50)
    assert bias.shape == (50,)
    assert 0.099 < np.abs(weight).max() <= 0.1
