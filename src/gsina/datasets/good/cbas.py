"""A graph like GOOD-CBAS: houses on a random graph, coloured nodes; where in a house is a node?

BA-Shapes (Ying et al., "GNNExplainer", NeurIPS 2019) with colours: 80 houses of five nodes hang on
a Barabasi-Albert graph of 300, and a tenth as many edges as there are nodes are added at random.
The class of a node is base, middle, bottom or top. Its features are the red, green and blue of its
colour, which is the domain (:mod:`gsina.datasets.good.shifts`): seven colours with the covariate
shift, four with the concept shift. Every split has the whole graph and a mask of nodes.
"""

from __future__ import annotations

import numpy as np
import torch

from gsina.datasets.good.shifts import (
    COLOURS,
    TRAINING_COLOURS,
    Ints,
    Shift,
    assign_domains,
    check_shift,
)
from gsina.datasets.nodes.whole_graphs import NodeGraph, pack
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task

BASE, HOUSES = 300, 80
#: Edges that every new node of the base brings.
ATTACHED = 5
CLASSES = ("base", "middle", "bottom", "top")
#: Class and edges of the nodes of a house; node 1, of the middle, is joined to the base.
HOUSE = (3, 1, 1, 2, 2)
HOUSE_EDGES = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4))
#: Equal parts with the concept shift, as published.
EQUAL = dict.fromkeys(("train", "id_val", "id_test", "val", "test"), 0.2)


def load(shift: Shift = "covariate", seed: int = 0) -> Dataset:
    """The splits ``train``, ``id_val``, ``id_test``, ``val``, ``test``; without shift three.

    Args:
        shift: ``covariate``, ``concept`` or ``none``.
        seed: Seed of graph, division and colours.
    """
    check_shift(shift, seed)
    rng = np.random.default_rng(seed)
    edges, label = draw_graph(rng)
    shares = EQUAL if shift == "concept" else None
    parts = assign_domains(label, shift, TRAINING_COLOURS, rng, shares)
    colour = np.empty(label.size, dtype=np.int64)
    for part in parts.values():
        colour[part.ids] = part.domain
    x, y = torch.tensor(COLOURS)[torch.from_numpy(colour)], torch.from_numpy(label)
    splits = {}
    for split, part in parts.items():
        mask = torch.zeros(label.size, dtype=torch.bool)
        mask[torch.from_numpy(part.ids)] = True
        splits[split] = pack([NodeGraph(x, torch.from_numpy(edges), y, mask)], [0]).to_undirected()
    task = Task("multiclass", len(CLASSES), "accuracy", "node")
    return Dataset("good-cbas", task, splits)


def draw_graph(rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Edges ``[2, E]``, each once, and class of every node ``[700]``."""
    pairs = _preferential(rng)
    label = np.concatenate([np.zeros(BASE, dtype=np.int64), np.tile(HOUSE, HOUSES)])
    for house, at in enumerate(rng.integers(0, BASE, HOUSES).tolist()):
        first = BASE + len(HOUSE) * house
        pairs |= {(first + one, first + other) for one, other in HOUSE_EDGES}
        pairs.add((at, first + 1))
    wanted = len(pairs) + label.size // 10
    while len(pairs) < wanted:
        low, high = sorted(rng.integers(0, label.size, 2).tolist())
        if low != high:
            pairs.add((low, high))
    return np.array(sorted(pairs), dtype=np.int64).T, label


def _preferential(rng: np.random.Generator) -> set[tuple[int, int]]:
    """A Barabasi-Albert graph: new nodes prefer those that have many edges."""
    pairs: set[tuple[int, int]] = set()
    ends = list(range(ATTACHED))  # every node as often as it has edges; at first all alike
    for node in range(ATTACHED, BASE):
        chosen: set[int] = set()
        while len(chosen) < ATTACHED:
            chosen.add(ends[int(rng.integers(len(ends)))])
        pairs |= {(other, node) for other in chosen}
        ends += [*sorted(chosen), *([node] * ATTACHED)]
    return pairs
