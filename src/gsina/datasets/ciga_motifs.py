"""SPMotif-Struc and SPMotif-Mixed of the CIGA benchmark.

Chen et al., "Learning Causally Invariant Representations for Out-of-Distribution Generalization on
Graphs" (NeurIPS 2022). The graphs are those of :mod:`gsina.datasets.spmotif` with 1,000 test graphs
per class; edge features, which the benchmark's networks do not use, are left out.

* Struc: node features are noise, the base is what misleads.
* Mixed: all four features of all nodes of a graph are one number c out of 0, 1, 2. In training c
  is the label with probability ``bias``, else one of the other two; in validation and test c says
  nothing. So base and features mislead, independently given the label.

In-distribution oracle (``iid``): the papers do not define theirs; here train, val and test are all
drawn from the test distribution, in which neither base nor features say anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from gsina.datasets import spmotif
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

Variant = Literal["struc", "mixed"]

VERSION = 1
PER_CLASS = {"train": 3000, "val": 1000, "test": 1000, "id_test": 1000}
#: Probabilities of c where it says nothing.
UNRELATED = (0.33, 0.33, 0.34)


def load(
    variant: Variant,
    bias: float = 0.6,
    seed: int = 0,
    undirected: bool = False,
    num_per_class: int | None = None,
    iid: bool = False,
) -> Dataset:
    """The splits ``train``, ``val``, ``test`` and, unless ``iid``, ``id_test``.

    Args:
        variant: ``struc`` or ``mixed``.
        bias: Probability of a class's preferred base in training (and, in ``mixed``, of its
            number), 0.33 to below 1; of no effect with ``iid``.
        seed: Seed of the graphs (not of a training run).
        undirected: Add the opposite of every edge; the published numbers are for one-way edges.
        num_per_class: Graphs of each class in every split, for a quick try.
        iid: Draw every split from the test distribution.
    """
    name = f"spmotif-{variant}"
    sizes = PER_CLASS if num_per_class is None else dict.fromkeys(PER_CLASS, num_per_class)

    def make() -> Dataset:
        splits = _unbiased(sizes, seed) if iid else _biased(sizes, bias, seed)
        if variant == "mixed":
            splits = {
                split: _constant_features(graphs, 0.0 if iid else bias, split, seed)
                for split, graphs in splits.items()
            }
        task = Task("multiclass", len(spmotif.MOTIFS), "accuracy")
        return Dataset(
            name, task, {key: replace(part, edge_attr=None) for key, part in splits.items()}
        )

    size = "" if num_per_class is None else f"-{num_per_class}-per-class"
    kind = "iid" if iid else f"bias{float(bias)!r}"
    dataset = cached(f"{name}-v{VERSION}.{spmotif.VERSION}-{kind}-seed{seed}{size}", make)
    return dataset.to_undirected() if undirected else dataset


def _biased(sizes: dict[str, int], bias: float, seed: int) -> dict[str, PackedGraphs]:
    splits: tuple[spmotif.Split, ...] = ("train", "val", "test", "id_test")
    return {split: spmotif.generate(bias, split, sizes[split], seed) for split in splits}


def _unbiased(sizes: dict[str, int], seed: int) -> dict[str, PackedGraphs]:
    """One draw from the test distribution, divided class by class."""
    wanted = [sizes[split] for split in ("train", "val", "test")]
    graphs = spmotif.generate(split="test", num_per_class=sum(wanted), seed=seed)
    ids = torch.arange(len(graphs)).view(len(spmotif.MOTIFS), -1)
    parts = torch.split(ids, wanted, dim=1)
    return {
        split: graphs[part.reshape(-1)]
        for split, part in zip(("train", "val", "test"), parts, strict=True)
    }


def _constant_features(graphs: PackedGraphs, bias: float, split: str, seed: int) -> PackedGraphs:
    """Give all nodes of a graph one number; of the label with probability ``bias`` in training."""
    assert graphs.y is not None
    label = graphs.y.numpy()
    # The third number keeps this stream apart from the one that the graphs were drawn from.
    rng = np.random.default_rng([seed, list(PER_CLASS).index(split), 1])
    if bias and split in ("train", "id_test"):
        other = np.where(rng.random(label.size) < bias, 0, rng.integers(1, 3, label.size))
        number = (label + other) % 3
    else:
        number = rng.choice(3, size=label.size, p=UNRELATED)
    column: Tensor = torch.from_numpy(number).float().repeat_interleave(graphs.node_ptr.diff())
    return replace(graphs, x=column[:, None].repeat(1, spmotif.FEATURES))
