"""Cora and Amazon-Photo with an artificial shift: invented labels, spurious features.

Wu et al., "Handling Distribution Shifts on Graphs: An Invariance Perspective" (EERM), ICLR 2022. An
untrained network invents one of ten labels for every node from its real features; a second one
turns the labels into ten more features, to which every environment adds a vector of its own. So
labels and graph are the same in all ten environments, and so are the real features.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.nodes import amazon, planetoid
from gsina.datasets.nodes.random_networks import FAMILIES, Family, affine, draw_network
from gsina.datasets.nodes.whole_graphs import NodeGraph, pack
from gsina.datasets.raw.sources import OnProgress
from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task

READERS = {"cora": planetoid.read_cora, "photo": amazon.read_photo}
#: Labels that a network may give, spurious features, and environments; all ten in the protocol.
WIDTH = 10
#: A draw counts if this many classes are above this share, and none above the largest share.
CLASSES, SHARE, LARGEST = 5, 0.01, 0.6
TRIES = 1000


def load(
    name: str, *, seed: int = 0, family: Family = "gcn", progress: OnProgress | None = None
) -> Dataset:
    """Load a graph and invent its ten environments.

    Args:
        name: ``"cora"`` or ``"photo"``.
        seed: Seed of the networks that invent labels and features.
        family: Their kind: ``"gcn"``, ``"sgc"`` or ``"gat"``.
        progress: Called during a download.

    Returns:
        Environment 0 is ``train``, 1 ``val``, the others ``test-1`` to ``test-8``; one graph each,
        ``x`` float ``[N, F + 10]`` and ``node_y`` int64 ``[N]``. The notes say how many draws it
        took to get labels of which none is too common.
    """
    check_name(name, READERS, "graph with an artificial shift")
    check_name(family, FAMILIES, "family of networks")
    features, edges = READERS[name](progress)
    rng = np.random.default_rng(seed)
    labels, tries = invent_labels(features, edges, family, rng)
    common = spurious_features(labels, edges, family, rng)
    weight, bias = affine(WIDTH, WIDTH, rng)

    x = torch.from_numpy(features.toarray()).float()
    edge_index, y = torch.from_numpy(edges), torch.from_numpy(labels)
    names = ["train", "val", *(f"test-{number}" for number in range(1, WIDTH - 1))]
    splits = {}
    for number, split in enumerate(names):
        spurious = torch.from_numpy(common + (weight[number] + bias)).float()
        graph = NodeGraph(torch.cat([x, spurious], dim=1), edge_index, y)
        splits[split] = pack([graph], [number])
    shares = np.bincount(labels) / len(labels)
    note = (
        f"labels invented by a random {family} with seed {seed}, draw {tries}: "
        f"{int((shares > SHARE).sum())} classes above {SHARE:.0%}, the largest {shares.max():.1%}"
    )
    task = Task("multiclass", int(labels.max()) + 1, level="node")
    return Dataset(name, task, splits, (note,))


def invent_labels(
    features: object, edges: NDArray[np.int64], family: Family, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int]:
    """Labels ``[N]`` by a random network, drawn until they are balanced enough; number of draws.

    Some draws give nearly all nodes one label, and a constant guess would look like a success.
    """
    nodes, inputs = features.shape  # type: ignore[attr-defined]
    for tries in range(1, TRIES + 1):
        network = draw_network(family, inputs, WIDTH, edges, nodes, rng)
        labels = network(features).argmax(axis=1)
        shares = np.bincount(labels, minlength=WIDTH) / nodes
        if (shares > SHARE).sum() >= CLASSES and shares.max() <= LARGEST:
            return labels, tries
    raise InputError(
        f"none of {TRIES} random {family} networks gave labels with {CLASSES} classes above "
        f"{SHARE:.0%} and none above {LARGEST:.0%}; try another seed or family."
    )


def spurious_features(
    labels: NDArray[np.int64], edges: NDArray[np.int64], family: Family, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Features ``[N, 10]`` that a random network makes of the labels."""
    network = draw_network(family, WIDTH, WIDTH, edges, len(labels), rng)
    return network(np.eye(WIDTH)[labels])
