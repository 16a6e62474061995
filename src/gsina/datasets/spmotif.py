"""Spurious-Motif: a motif that decides the label, on a base that only seems to.

Every graph is a base (tree, ladder or wheel) with a five-node motif (cycle, house or crane) hung on
it. The label is the motif. In training each motif prefers one base with probability ``bias``; in
validation and test the base says nothing, and in test it is also larger.

From Wu et al., "Discovering Invariant Rationales for Graph Neural Networks" (ICLR 2022), in the
variant of Miao et al., "Interpretable and Generalizable Graph Learning via Stochastic Attention
Mechanism" (ICML 2022). Three properties of that variant decide the published numbers and are kept:

* edges are stored once, from the smaller node id to the larger, so messages flow one way;
* in training a tree has height 3 under a cycle and 0 to 2 under a house or a crane;
* node features are noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

Ints = NDArray[np.int64]
Split = Literal["train", "val", "test", "id_test"]
Bases = Literal["small", "middle", "large"]

#: Changes whenever the same arguments give other graphs; part of the cache key.
VERSION = 1
#: Graphs per class of each split; ``id_test`` is a fresh draw from the training distribution.
PER_CLASS = {"train": 3000, "val": 1000, "test": 2000, "id_test": 1000}
#: Edges of the motifs of classes 0 (cycle), 1 (house) and 2 (crane); node 0 is joined to the base.
MOTIFS = (
    ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4)),
    ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 4)),
    ((0, 1), (0, 3), (1, 2), (1, 4), (2, 3), (3, 4)),
)
MOTIF_NODES = 5
FEATURES = 4
TREE, LADDER, WHEEL = 0, 1, 2  # Numbered like the class that prefers them.
#: From and below: height of trees, rungs of ladders, nodes of wheels. Training has lower trees too.
SIZES = {
    "small": ((3, 4), (8, 12), (15, 20)),
    "middle": ((3, 5), (16, 24), (30, 40)),
    "large": ((3, 6), (30, 50), (60, 80)),
}
#: One extra edge is tried for every so many edges: 5 %.
EDGES_PER_TRY = 20
#: More than the number of nodes of any graph, to write an edge as one number.
SPAN = 512


def generate(
    bias: float = 0.5,
    split: Split = "train",
    num_per_class: int | None = None,
    seed: int = 0,
    bases: Bases | None = None,
) -> PackedGraphs:
    """Draw one split; the same arguments give the same graphs, whatever was drawn before.

    Args:
        bias: Probability of a class's preferred base in training, from 1/3 (no bias) to below 1;
            of no effect on ``val`` and ``test``.
        split: ``train``, ``val``, ``test``, or ``id_test``: distributed like ``train``, but apart.
        num_per_class: Graphs of each of the three classes; by default as published
            (:data:`PER_CLASS`).
        seed: Seed of the split's own random stream.
        bases: How large bases are: ``small`` as in training, ``middle`` or ``large`` as in test; by
            default what the split has.

    Returns:
        The graphs, class by class, with ``x`` ``[N, 4]`` uniform in [0, 1), ``edge_attr``
        ``[E, 1]`` ones, ``y`` ``[G]``, ``edge_truth`` ``[E]`` (the motif's own edges) and
        ``node_truth`` ``[N]`` (the motif's nodes). Edges go from the smaller id to the larger; in
        each graph they are ordered by source, then by insertion.
    """
    _check(bias, seed)
    check_name(split, PER_CLASS, "split of spmotif")
    if bases is not None:
        check_name(bases, SIZES, "size of the bases of spmotif")
    per_class = PER_CLASS[split] if num_per_class is None else num_per_class
    if per_class < 1:
        raise InputError(f"num_per_class must be at least 1, got {num_per_class}.")
    rng = np.random.default_rng([seed, list(PER_CLASS).index(split)])
    label = np.repeat(np.arange(len(MOTIFS)), per_class)
    bases = bases or ("large" if split == "test" else "small")
    shapes = _draw_shapes(label, bias, split, bases, rng)
    edges, graph, nodes = skeletons(shapes, _skeleton)
    # One edge joins motif node 0, the first id behind the base, to a random node of the base.
    base_nodes = nodes - MOTIF_NODES
    joint = np.stack([rng.integers(0, base_nodes), base_nodes])
    edges = np.concatenate([edges, joint], axis=1)
    graph = np.concatenate([graph, np.arange(label.size)])
    extra, extra_graph = perturb(edges, graph, nodes, rng)
    edges = np.concatenate([edges, extra], axis=1)
    graph = np.concatenate([graph, extra_graph])
    order = np.argsort(graph * SPAN + edges[0], kind="stable")
    edges, graph = edges[:, order], graph[order]

    node_ptr = _offsets(nodes)
    node_id = np.arange(node_ptr[-1]) - np.repeat(node_ptr[:-1], nodes)
    features = rng.random((node_id.size, FEATURES), dtype=np.float32)
    return PackedGraphs(
        x=torch.from_numpy(features),
        edge_index=torch.from_numpy(edges),
        node_ptr=torch.from_numpy(node_ptr),
        edge_ptr=torch.from_numpy(_offsets(np.bincount(graph))),
        y=torch.from_numpy(label),
        edge_attr=torch.ones(graph.size, 1),
        # No extra edge lies inside the motif, so an edge that starts there is the motif's own.
        edge_truth=torch.from_numpy(edges[0] >= base_nodes[graph]),
        node_truth=torch.from_numpy(node_id >= np.repeat(base_nodes, nodes)),
    )


def load(
    bias: float = 0.5,
    seed: int = 0,
    undirected: bool = False,
    num_per_class: int | None = None,
    validation: Bases = "small",
) -> Dataset:
    """The splits ``train``, ``val``, ``test`` and ``id_test``.

    Args:
        bias: Probability of a class's preferred base in training, 1/3 to below 1.
        seed: Seed of the graphs (not of a training run).
        undirected: Add the opposite of every edge. The published numbers are for one-way edges; on
            undirected ones the task is far easier.
        num_per_class: Graphs of each class in every split, for a quick try; by default as
            published (:data:`PER_CLASS`).
        validation: Bases of the validation graphs: ``small`` as published, which cannot tell who
            holds up on larger graphs, or ``middle``, half as large as those of test. For choosing
            among recipes; never ``large``.
    """
    bias = _check(bias, seed)
    check_name(validation, ("small", "middle"), "size of the validation graphs' bases")

    def make() -> Dataset:
        splits: tuple[Split, ...] = ("train", "val", "test", "id_test")
        return Dataset(
            name="spmotif",
            task=Task("multiclass", len(MOTIFS), "accuracy"),
            splits={
                split: generate(
                    bias, split, num_per_class, seed, validation if split == "val" else None
                )
                for split in splits
            },
        )

    size = "" if num_per_class is None else f"-{num_per_class}-per-class"
    size += "" if validation == "small" else f"-{validation}-validation"
    dataset = cached(f"spmotif-v{VERSION}-bias{bias!r}-seed{seed}{size}", make)
    return dataset.to_undirected() if undirected else dataset


def _check(bias: float, seed: int) -> float:
    if not 0.33 <= bias < 1:  # some benchmarks write 1/3 as 0.33
        raise InputError(
            f"bias must lie between 1/3 (every base equally likely) and below 1, got {bias}."
        )
    if seed < 0:
        raise InputError(f"seed must be 0 or larger, got {seed}.")
    return float(bias)


def _draw_shapes(
    label: Ints, bias: float, split: Split, bases: Bases, rng: np.random.Generator
) -> Ints:
    """Class, base, size and tree arity of every graph ``[G, 4]``."""
    count = label.size
    training = split in ("train", "id_test")
    preferred = rng.random(count) < (bias if training else 1 / 3)
    base = (label + np.where(preferred, 0, rng.integers(1, 3, count))) % 3
    trees, ladders, wheels = SIZES[bases]
    if bases == "small":
        short = training & (label > 0)
        height = np.where(short, rng.integers(0, 3, count), trees[0])
    else:
        height = rng.integers(*trees, count)
    rungs = rng.integers(*ladders, count)
    spokes = rng.integers(*wheels, count)
    arity = np.where(base == TREE, rng.integers(2, 4, count), 0)
    return np.stack([label, base, np.choose(base, [height, rungs, spokes]), arity], axis=1)


def skeletons(shapes: Ints, build: Callable[..., Ints]) -> tuple[Ints, Ints, Ints]:
    """Bases and motifs, not yet joined.

    Few shapes exist, so each is built once and copied to the graphs that have it.

    Args:
        shapes: What every graph is built from ``[G, S]``, such as :func:`_draw_shapes` gives.
        build: Edges ``[2, E]`` of a shape of S numbers; its last node has an edge.

    Returns:
        Edges ``[2, E]`` with ids local to the graph, graph of every edge ``[E]``, nodes ``[G]``.
    """
    distinct, which = np.unique(shapes, axis=0, return_inverse=True)
    which = which.reshape(-1)
    tables = [build(*shape) for shape in distinct.tolist()]
    ptr = _offsets(np.array([table.shape[1] for table in tables]))
    counts = np.diff(ptr)[which]
    graph = np.repeat(np.arange(which.size), counts)
    start = ptr[which] - _offsets(counts)[:-1]
    rows = np.arange(graph.size) + start[graph]
    nodes = np.array([table.max() + 1 for table in tables])[which]
    return np.concatenate(tables, axis=1)[:, rows], graph, nodes


def _skeleton(label: int, base: int, size: int, arity: int) -> Ints:
    """Edges ``[2, E]`` of one base and, on the ids behind it, one motif."""
    if base == TREE:
        nodes = sum(arity**level for level in range(size + 1))
        child = np.arange(1, nodes)
        edges = np.stack([(child - 1) // arity, child])
    elif base == LADDER:
        nodes = 2 * size
        top = np.arange(size)
        left = np.concatenate([top[:-1], top[:-1] + size, top])
        edges = np.stack([left, np.concatenate([top[1:], top[1:] + size, top + size])])
    else:
        nodes = size
        rim = np.arange(1, size)
        left = np.concatenate([0 * rim, rim[:-1], [1]])
        edges = np.stack([left, np.concatenate([rim, rim[1:], [size - 1]])])
    motif = np.array(MOTIFS[label]).T + nodes
    return np.concatenate([edges, motif], axis=1)


def perturb(edges: Ints, graph: Ints, nodes: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw the extra edges: 5 % of the graph's edges, without those inside a motif.

    Every try draws two different nodes that no edge joins yet, neither an old nor an extra one. If
    both belong to the motif, the try is lost. All graphs make their t-th try together.

    Returns:
        Extra edges ``[2, M]`` and their graph ``[M]``, by graph and then in the order of drawing.
    """
    tries = np.bincount(graph) // EDGES_PER_TRY
    known = np.sort((graph * SPAN + edges[0]) * SPAN + edges[1])
    extra = np.full((nodes.size, tries.max()), -1)
    for turn in range(tries.max()):
        pending = np.flatnonzero(tries > turn)
        while pending.size:
            low, high = np.sort(rng.integers(0, nodes[pending], (2, pending.size)), axis=0)
            key = (pending * SPAN + low) * SPAN + high
            place = np.minimum(np.searchsorted(known, key), known.size - 1)
            joined = (known[place] == key) | (extra[pending] == key[:, None]).any(axis=1)
            again = (low == high) | joined
            keep = ~again & (low < nodes[pending] - MOTIF_NODES)
            extra[pending[keep], turn] = key[keep]
            pending = pending[again]
    keys = extra[extra >= 0]
    return np.stack([keys // SPAN % SPAN, keys % SPAN]), keys // SPAN**2


def _offsets(counts: Ints) -> Ints:
    """Offsets ``[G + 1]`` of groups with the given sizes ``[G]``."""
    return np.concatenate([[0], np.cumsum(counts)])
