"""Deterministic layout: coordinates for the nodes of a graph."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

Floats = NDArray[np.float64]

#: Largest graph whose stress is minimised; that costs its square in memory and time.
STRESSED = 1000
#: Steps of the minimisation for small graphs; large ones get fewer.
STEPS = 80
#: Starts of the minimisation for graphs of at most so many nodes; larger ones get a single one.
STARTS, OFTEN = 3, 60
#: Nodes to which the distances of all nodes are taken for the start.
PIVOTS = 150


def layout(num_nodes: int, edges: NDArray[np.int64]) -> Floats:
    """Places ``[N, 2]`` at which drawn distances come near to the number of steps between nodes.

    Classical scaling of the distances in the graph gives a start, which for small graphs is
    improved by minimising the stress (Gansner, Koren and North, "Graph Drawing by Stress
    Majorization", 2004). Of several starts the one with the least stress stays: it has fewer edges
    that cross. The longer side lies flat.

    Args:
        num_nodes: Number of nodes N.
        edges: Ends ``[2, P]``, each pair once or twice.
    """
    if num_nodes < 3:
        return np.stack([np.arange(num_nodes), np.zeros(num_nodes)], axis=1).astype(np.float64)
    random = np.random.default_rng(0)
    small = num_nodes <= STRESSED
    pivots = random.permutation(num_nodes)[:PIVOTS]
    distance = _distances(num_nodes, edges, np.arange(num_nodes) if small else pivots)
    place = _scaling(distance[pivots] if small else distance)
    # Nodes with the same neighbours start at one point, and only noise can separate them.
    size = (STARTS if num_nodes <= OFTEN else 1, num_nodes, 2)
    starts = place + random.normal(scale=0.05 if small else 0.3, size=size)
    if not small:
        return _lie_flat(starts[0])
    steps = max(10, min(STEPS, 4_000_000 // num_nodes**2))
    return _lie_flat(_minimise_stress(starts, distance, steps))


def _distances(num_nodes: int, edges: NDArray[np.int64], pivots: NDArray[np.int64]) -> Floats:
    """Steps from every pivot to every node ``[K, N]``; unconnected nodes are a bit beyond all."""
    links = coo_array((np.ones(edges.shape[1]), tuple(edges)), shape=(num_nodes, num_nodes))
    found: Floats = shortest_path(links.tocsr(), directed=False, unweighted=True, indices=pivots)
    reached = np.isfinite(found)
    found[~reached] = found[reached].max() / 2 + 1.5
    return found


def _scaling(distance: Floats) -> Floats:
    """Classical scaling of distances from K pivots to N nodes, into two dimensions ``[N, 2]``."""
    square = distance**2
    centred = square - square.mean(0) - square.mean(1, keepdims=True) + square.mean()
    _, axes = np.linalg.eigh(centred @ centred.T)
    place: Floats = -0.5 * centred.T @ axes[:, [-1, -2]]
    size = math.sqrt((place**2).mean()) or 1.0
    return place * (math.sqrt(square.mean()) / 2 / size)


def _minimise_stress(starts: Floats, distance: Floats, steps: int) -> Floats:
    """Move every node to where all others would have it, weighted by 1 / distance squared.

    Args:
        starts: Places to start from ``[S, N, 2]``.
        distance: Steps between all nodes ``[N, N]``.
        steps: Largest number of moves.

    Returns:
        The places with the least stress ``[N, 2]``.
    """
    weight = 1 / np.maximum(distance, 1) ** 2
    np.fill_diagonal(weight, 0)
    laplace = np.diag(weight.sum(0)) - weight
    inverse = np.linalg.inv(laplace + 1 / len(weight))  # its inverse, but for a shift of all nodes
    pull = weight * distance
    place = starts
    for _ in range(steps):
        push = pull / _lengths(place)
        moved: Floats = inverse @ (push.sum(2)[..., None] * place - push @ place)
        still = np.abs(moved - place).max() < 5e-3
        place = moved
        if still:
            break
    stress = (weight * (_lengths(place) - distance) ** 2).sum((1, 2))
    # The first of those that are about the best: rounding must not choose between equal ones.
    best: Floats = place[np.argmax(stress <= 1.01 * stress.min())]
    return best


def _lengths(place: Floats) -> Floats:
    """Drawn distances between all nodes ``[S, N, N]``, never quite 0."""
    square = (place**2).sum(2)
    apart: Floats = square[:, :, None] + square[:, None] - 2 * place @ place.swapaxes(1, 2)
    return np.sqrt(np.maximum(apart, 1e-6))


def _lie_flat(place: Floats) -> Floats:
    """Turn the main axis to the horizontal, with signs that do not depend on the solver."""
    centred = place - place.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned: Floats = centred @ axes[:, ::-1]
    strongest = np.take_along_axis(turned, np.abs(turned).argmax(0)[None], 0)
    return turned * np.where(strongest < 0, -1, 1)
