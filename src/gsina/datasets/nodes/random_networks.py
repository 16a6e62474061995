"""Graph networks with random weights that are never trained; they invent labels and features.

In double precision and with NumPy's generator, so that one seed means one dataset everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Node features ``[N, inputs]``, dense or sparse, to ``[N, outputs]``.
Network = Callable[[Any], Floats]
Family = Literal["gcn", "sgc", "gat"]

FAMILIES = ("gcn", "sgc", "gat")
HEADS = 2
SLOPE = 0.2


def draw_network(
    family: Family,
    inputs: int,
    width: int,
    edge_index: NDArray[np.int64],
    nodes: int,
    rng: np.random.Generator,
) -> Network:
    """Draw the weights of a network on one graph; its hidden and output width is ``width``.

    * ``gcn``: two layers of D^-1/2 (A + I) D^-1/2 x W, ReLU between (Kipf and Welling 2017).
    * ``sgc``: the same propagation twice, then one affine map (Wu et al. 2019).
    * ``gat``: two layers of attention, ELU between (Veličković et al. 2018); heads side by side in
      the first, averaged in the second.

    Args:
        family: Which of the three.
        inputs: Width of the features that go in.
        width: Width of the hidden and of the output layer.
        edge_index: Edges ``[2, E]`` without loops.
        nodes: Number of nodes N.
        rng: Source of the weights.
    """
    if family == "gat":
        first = _attention(edge_index, nodes, inputs, width, rng)
        second = _attention(edge_index, nodes, HEADS * width, width, rng)

        def gat(x: Any) -> Floats:
            hidden = first(x).reshape(nodes, HEADS * width)
            hidden = np.where(hidden > 0, hidden, np.expm1(np.minimum(hidden, 0)))
            mean: Floats = second(hidden).mean(axis=1)
            return mean

        return gat
    spread = _normalised(edge_index, nodes)
    if family == "sgc":
        weight, bias = affine(inputs, width, rng)
        return lambda x: spread @ (spread @ (x @ weight)) + bias
    before, after = _glorot(rng, (inputs, width)), _glorot(rng, (width, width))
    return lambda x: spread @ (np.maximum(spread @ (x @ before), 0) @ after)


def affine(inputs: int, outputs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Weight ``[inputs, outputs]`` and bias ``[outputs]``, uniform within 1 / sqrt(inputs)."""
    bound = inputs**-0.5
    return rng.uniform(-bound, bound, (inputs, outputs)), rng.uniform(-bound, bound, outputs)


def _glorot(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    bound = (6 / sum(shape)) ** 0.5
    return rng.uniform(-bound, bound, shape)


def _with_loops(edge_index: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    return np.concatenate([edge_index, np.tile(np.arange(nodes), (2, 1))], axis=1)


def _normalised(edge_index: NDArray[np.int64], nodes: int) -> Any:
    """D^-1/2 (A + I) D^-1/2 as a sparse matrix, rows are targets."""
    from scipy.sparse import csr_array

    source, target = _with_loops(edge_index, nodes)
    scale = np.bincount(target, minlength=nodes) ** -0.5
    values = scale[source] * scale[target]
    return csr_array((values, (target, source)), shape=(nodes, nodes))


def _attention(
    edge_index: NDArray[np.int64], nodes: int, inputs: int, width: int, rng: np.random.Generator
) -> Network:
    """A layer of attention: ``[N, inputs]`` to ``[N, heads, width]``."""
    from scipy.sparse import csr_array

    weight = _glorot(rng, (inputs, HEADS * width))
    of_source, of_target = (_glorot(rng, (HEADS, width)) for _ in range(2))
    source, target = _with_loops(edge_index, nodes)

    def layer(x: Any) -> Floats:
        hidden = (x @ weight).reshape(nodes, HEADS, width)
        sent, received = (hidden * of_source).sum(-1), (hidden * of_target).sum(-1)
        out: Floats = np.empty_like(hidden)
        for head in range(HEADS):
            score = sent[source, head] + received[target, head]
            score = np.where(score > 0, score, SLOPE * score)
            # One shift for all is enough: scores of untrained layers are far from overflow.
            share = np.exp(score - score.max())
            share /= np.bincount(target, share, nodes)[target]
            spread = csr_array((share, (target, source)), shape=(nodes, nodes))
            out[:, head] = spread @ hidden[:, head]
        return out

    return layer
