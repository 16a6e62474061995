"""GOOD-Motif, rebuilt: a motif that decides the label, on one of five bases that do not.

The bases are wheel, tree, ladder, star and path, the motifs cycle, house and crane; one edge joins
them. The domain is the base or its size (:mod:`gsina.datasets.good.shifts`). Unlike Spurious-Motif,
every split has one kind of shift alone, edges go both ways, and no edge is added at random.

The paper names bases, motifs and domains, and the numbers of graphs. The numbers of nodes are ours:
:data:`SIZES`, and 10 to 30 for a base whose size is no domain. All features are 1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from gsina.datasets.good.shifts import Ints, Part, Shift, assign_domains, check_shift
from gsina.datasets.spmotif import MOTIF_NODES, MOTIFS, skeletons
from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

Domain = Literal["basis", "size"]

VERSION = 1
COUNT = 30_000
WHEEL, TREE, LADDER, STAR, PATH = range(5)
#: Domains in training; the fourth is that of validation, the fifth that of test.
TRAINING = 3
DOMAINS = ("basis", "size")
#: Fewest and most nodes of a base, by the domain of its size.
SIZES = np.array([(8, 12), (16, 20), (24, 28), (40, 50), (70, 90)])
ANY_SIZE = (10, 30)


def load(
    domain: Domain = "basis", shift: Shift = "covariate", seed: int = 0, count: int = COUNT
) -> Dataset:
    """The splits ``train``, ``id_val``, ``id_test``, ``val``, ``test``; without shift three.

    Args:
        domain: ``basis`` or ``size``.
        shift: ``covariate``, ``concept`` or ``none``.
        seed: Seed of the graphs (not of a training run).
        count: Graphs of all splits together.
    """
    check_name(domain, DOMAINS, "domain")
    check_shift(shift, seed)
    if count < 100:
        raise InputError(f"count must be at least 100 graphs, got {count}.")

    def make() -> Dataset:
        rng = np.random.default_rng([seed, DOMAINS.index(domain)])
        label = rng.permutation(np.arange(count) % len(MOTIFS))
        parts = assign_domains(label, shift, TRAINING, rng)
        splits = {
            split: _graphs(label[part.ids], part, domain, rng) for split, part in parts.items()
        }
        return Dataset("good-motif", Task("multiclass", len(MOTIFS), "accuracy"), splits)

    size = "" if count == COUNT else f"-{count}"
    return cached(f"good/motif-v{VERSION}-{domain}-{shift}-seed{seed}{size}", make)


def _graphs(label: Ints, part: Part, domain: str, rng: np.random.Generator) -> PackedGraphs:
    """Graphs of a split, with ``x`` ``[N, 1]`` ones and both directions of every edge."""
    if domain == "basis":
        base, size = part.domain, rng.integers(ANY_SIZE[0], ANY_SIZE[1] + 1, label.size)
    else:
        base = rng.integers(5, size=label.size)
        size = rng.integers(SIZES[part.domain, 0], SIZES[part.domain, 1] + 1)
    edges, graph, nodes = skeletons(np.stack([label, base, size], axis=1), _skeleton)
    base_nodes = nodes - MOTIF_NODES
    joint = np.stack([rng.integers(0, base_nodes), base_nodes])
    every = np.arange(label.size)
    edges, graph = np.concatenate([edges, joint], axis=1), np.concatenate([graph, every])
    order = np.argsort(graph, kind="stable")
    edges, graph = edges[:, order], graph[order]
    counts = torch.from_numpy(nodes)
    place = torch.arange(int(counts.sum())) - offsets(counts)[:-1].repeat_interleave(counts)
    return PackedGraphs(
        x=torch.ones(int(counts.sum()), 1),
        edge_index=torch.from_numpy(edges),
        node_ptr=offsets(counts),
        edge_ptr=offsets(torch.from_numpy(np.bincount(graph))),
        y=torch.from_numpy(label),
        environment=torch.from_numpy(part.environment),
        # The edge that joins the two starts in the base.
        edge_truth=torch.from_numpy(edges[0] >= base_nodes[graph]),
        node_truth=place >= torch.from_numpy(base_nodes).repeat_interleave(counts),
    ).to_undirected()


def _skeleton(label: int, base: int, size: int) -> Ints:
    """Edges ``[2, E]`` of a base of so many nodes (a ladder's are even) and of a motif behind."""
    child = np.arange(1, size)
    nodes = size
    if base == WHEEL:
        rim = np.stack([child, np.append(child[1:], 1)])
        edges = np.concatenate([np.stack([0 * child, child]), rim], axis=1)
    elif base == TREE:
        edges = np.stack([(child - 1) // 2, child])
    elif base == LADDER:
        side = np.arange(size // 2)
        nodes = 2 * side.size
        left = np.concatenate([side[:-1], side[:-1] + side.size, side])
        edges = np.stack([left, np.concatenate([side[1:], side[1:] + side.size, side + side.size])])
    else:
        edges = np.stack([0 * child if base == STAR else child - 1, child])
    return np.concatenate([edges, np.array(MOTIFS[label]).T + nodes], axis=1)
