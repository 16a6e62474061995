"""GOOD-Motif, rebuilt: a motif that decides the label, on one of five bases that do not.

The bases are wheel, tree, ladder, star and path, the motifs cycle, house and crane; one edge joins
them. The domain is the base or its size (:mod:`gsina.datasets.good.shifts`). Unlike Spurious-Motif,
every split has one kind of shift alone, edges go both ways, and all features are 1.

Two kinds of noise are the benchmark's, and without them its numbers cannot be understood: 5 % more
edges, none inside the motif (as in Spurious-Motif), and a label drawn blindly for a tenth of all
graphs, of every split. So nobody is right more often than 93.3 % of the time.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from gsina.datasets.good.shifts import Ints, Part, Shift, assign_domains, check_shift
from gsina.datasets.spmotif import MOTIF_NODES, MOTIFS, perturb, skeletons
from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

Domain = Literal["basis", "size"]

VERSION = 2
COUNT = 30_000
WHEEL, TREE, LADDER, STAR, PATH = range(5)
#: Domains in training; the fourth is that of validation, the fifth that of test.
TRAINING = 3
DOMAINS = ("basis", "size")
#: Strength of the concepts of training.
CONCEPTS = (0.99, 0.97, 0.95)
#: Share of all graphs whose label is drawn blindly; a third of these have the right one.
LABEL_NOISE = 0.1
#: Middle size of a base, by the domain of its size, and if the size is no domain; give or take
#: :data:`AROUND`.
SIZES: dict[str, tuple[int, ...]] = {
    "covariate": (6, 10, 15, 30, 70),
    "concept": (10, 40, 70),
    "none": (6, 10, 15, 30, 70),
}
ANY_SIZE = 10
AROUND = 5


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
        parts = assign_domains(label, shift, TRAINING, rng, concepts=CONCEPTS)
        sizes = np.array(SIZES[shift])
        splits = {
            split: _graphs(label[part.ids], part, sizes if domain == "size" else None, rng)
            for split, part in parts.items()
        }
        return Dataset("good-motif", Task("multiclass", len(MOTIFS), "accuracy"), splits)

    size = "" if count == COUNT else f"-{count}"
    return cached(f"good/motif-v{VERSION}-{domain}-{shift}-seed{seed}{size}", make)


def _graphs(motif: Ints, part: Part, sizes: Ints | None, rng: np.random.Generator) -> PackedGraphs:
    """Graphs of a split, with ``x`` ``[N, 1]`` ones and both directions of every edge.

    Args:
        motif: Motif of every graph ``[G]``.
        part: The domains of the split.
        sizes: Middle size of a base by its domain, or None if the domain is the base.
        rng: Source of all chance.
    """
    count = motif.size
    base = part.domain if sizes is None else rng.integers(5, size=count)
    middle = np.full(count, ANY_SIZE) if sizes is None else sizes[part.domain]
    size = middle + rng.integers(-AROUND, AROUND + 1, count)
    edges, graph, nodes = skeletons(np.stack([motif, base, size], axis=1), _skeleton)
    base_nodes = nodes - MOTIF_NODES
    joint = np.stack([rng.integers(0, base_nodes), base_nodes])
    edges, graph = np.concatenate([edges, joint], axis=1), np.append(graph, np.arange(count))
    extra, extra_graph = perturb(edges, graph, nodes, rng)
    edges, graph = np.concatenate([edges, extra], axis=1), np.append(graph, extra_graph)
    blind = rng.random(count) < LABEL_NOISE
    label = np.where(blind, rng.integers(len(MOTIFS), size=count), motif)
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
        # An edge that joins the two, or is extra, starts in the base.
        edge_truth=torch.from_numpy(edges[0] >= base_nodes[graph]),
        node_truth=place >= torch.from_numpy(base_nodes).repeat_interleave(counts),
    ).to_undirected()


def _skeleton(motif: int, base: int, size: int) -> Ints:
    """Edges ``[2, E]`` of a base and of a motif behind it; every edge goes to the larger id.

    The size of a ladder is its number of rungs, the logarithm of a tree's says its height (at
    least 1), and any other base has so many nodes.
    """
    if base == TREE:
        size = 2 ** max(int(np.log2(size)), 2) - 1
    child = np.arange(1, size)
    nodes = size
    if base == WHEEL:
        rim = np.stack([child[:-1], child[1:]])
        closing = np.array([[1], [size - 1]]) if size > 3 else rim[:, :0]
        edges = np.concatenate([np.stack([0 * child, child]), rim, closing], axis=1)
    elif base == TREE:
        edges = np.stack([(child - 1) // 2, child])
    elif base == LADDER:
        nodes = 2 * size
        side = np.arange(size)
        left = np.concatenate([side[:-1], side[:-1] + size, side])
        edges = np.stack([left, np.concatenate([side[1:], side[1:] + size, side + size])])
    else:
        edges = np.stack([0 * child if base == STAR else child - 1, child])
    return np.concatenate([edges, np.array(MOTIFS[motif]).T + nodes], axis=1)
