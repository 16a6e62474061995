"""The degree shift of the CIGA benchmark: Graph-SST5 and Graph-Twitter.

Chen et al., "Learning Causally Invariant Representations for Out-of-Distribution Generalization on
Graphs" (NeurIPS 2022). All sentences of a SentiGraph dump are pooled and divided by mean degree;
parse trees of n words have 2 (n - 1) / n, so the shift is one of sentence length. On SST5 short
sentences are for training and long ones for test, on Twitter the other way round.

In-distribution oracle (``iid``): the papers do not define theirs; here a random split of 80, 10 and
10 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from gsina.datasets.random_split import random_split
from gsina.datasets.text.sentigraph import both_ways, check_sizes, read_graphs, read_sentences
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.task import Task

VERSION = 1


@dataclass(frozen=True)
class SentiGraphSource:
    """One dump.

    Attributes:
        dump: Name of the dump, as in its file names.
        classes: Number of classes.
        growing: Whether sentences are short in training and long in test, or the other way round.
        sizes: Sentences in train, val and test.
    """

    dump: str
    classes: int
    growing: bool
    sizes: tuple[int, int, int]


SOURCES = {
    "graph-sst5": SentiGraphSource("Graph-SST5", 5, True, (6090, 1186, 2240)),
    "graph-twitter": SentiGraphSource("Graph-Twitter", 3, False, (3238, 694, 1509)),
}


def degree_shift(nodes: Tensor, edges: Tensor, *, growing: bool) -> dict[str, Tensor]:
    """Numbers of the graphs in train, val and test by mean degree, ascending.

    With the quantiles q of edges / nodes over all graphs: train up to q50 and test above q80 if
    ``growing``, train above q50 and test up to q20 otherwise; of the graphs between, the first in
    order, a tenth of all graphs, are for validation. Graphs with at most two edges are unused.

    Args:
        nodes: Number of nodes of every graph ``[G]``.
        edges: Number of edges of every graph, both directions counted ``[G]``.
        growing: Whether degrees grow from training to test.
    """
    degree = edges.double() / nodes
    q20, q50, q80 = np.quantile(degree.numpy(), (0.2, 0.5, 0.8))
    train = degree <= q50 if growing else degree > q50
    test = degree > q80 if growing else degree <= q20
    enough = edges > 2
    between = (enough & ~train & ~test).nonzero()[:, 0]
    return {
        "train": (enough & train).nonzero()[:, 0],
        "val": between[: int(0.1 * len(nodes) + 0.5)],
        "test": (enough & test).nonzero()[:, 0],
    }


def load(name: str, iid: bool = False, seed: int = 0) -> Dataset:
    """Load ``graph-sst5`` or ``graph-twitter``; the dumps have to be put in place by hand.

    Args:
        name: Name of the dataset.
        iid: A random split in place of the shift.
        seed: Seed of the random split; of no effect otherwise.
    """
    source = SOURCES[name]

    def make() -> Dataset:
        sentences = read_sentences(source.dump)
        graphs = both_ways(read_graphs(source.dump, sentences))
        graphs = replace(graphs, edge_attr=None)
        task = Task("multiclass", source.classes, "accuracy")
        if iid:
            return Dataset(name, task, random_split(graphs, seed))
        ids = degree_shift(graphs.node_ptr.diff(), graphs.edge_ptr.diff(), growing=source.growing)
        check_sizes(source.dump, ids, source.sizes)
        unused = len(sentences) - sum(source.sizes)
        note = f"{unused} sentences of middle or least length are unused"
        splits = {split: graphs[part] for split, part in ids.items()}
        return Dataset(name, task, splits, (note,))

    kind = f"iid-seed{seed}" if iid else "degree"
    return cached(f"{name}-v{VERSION}-{kind}", make)
