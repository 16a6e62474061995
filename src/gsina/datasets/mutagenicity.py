"""Mutagenicity with ground-truth edges: molecules, and the groups that make them mutagenic.

Kazius et al. 2005 (molecules), Luo et al., "Parameterized Explainer for Graph Neural Networks",
2020 (edge labels): the bonds of NO2 and NH2 groups count as the reason of mutagenicity. Class 0 is
*mutagen*, class 1 *nonmutagen*, as in the files.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from gsina.datasets.random_split import random_split
from gsina.datasets.raw.sources import OnProgress, checksum_notes, names_checksum, raw_file
from gsina.datasets.tu import read_archive, tu_file
from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

VERSION = 1
FILE = tu_file("Mutagenicity_edge_gt")
#: Graphs, edges and labelled edges of the right file, which has no checksum of its own.
COUNTS = (4337, 266_894, 7352)
MUTAGEN = 0

Subset = Literal["all", "gsat"]


def load(
    *,
    seed: int = 0,
    subset: Subset = "all",
    bonds: bool = False,
    progress: OnProgress | None = None,
) -> Dataset:
    """Load Mutagenicity, split at random 80/10/10.

    Args:
        seed: Seed of the split, the run index in the GSAT benchmark.
        subset: ``"all"``: every molecule, truth as in the file. ``"gsat"``: as GSAT has it;
            mutagens without a labelled edge are left out (1,386 of them) and the truth of
            nonmutagens is empty, since a group that is present does not explain their class.
        bonds: Give the three bond types as edge features; GSAT does not use them.
        progress: Called during a download.
    """
    check_name(subset, ("all", "gsat"), "subset")

    def make() -> Dataset:
        path = raw_file(FILE, progress=progress)
        with names_checksum(FILE):
            graphs, notes = _graphs(path)
        if subset == "gsat":
            graphs, left_out = _as_gsat(graphs)
            notes = (*notes, f"left out {left_out} mutagens without a labelled edge, as GSAT does")
        if not bonds:
            graphs = replace(graphs, edge_attr=None)
        return Dataset("mutagenicity", Task("binary", 1), random_split(graphs, seed), notes)

    return cached(f"mutagenicity-v{VERSION}-{subset}-bonds{int(bonds)}-seed{seed}", make)


def _graphs(path: Path) -> tuple[PackedGraphs, tuple[str, ...]]:
    data = read_archive(path, extra=("edge_gt",))
    graphs, truth = data.graphs, data.extra["edge_gt"] == 1
    counts = (len(graphs), graphs.edge_index.size(1), int(truth.sum()))
    if counts != COUNTS or graphs.y is None:
        raise InputError(
            f"{path} is truncated or altered: it has {counts[0]} graphs, {counts[1]} edges, "
            f"{counts[2]} of them labelled; expected {COUNTS[0]}, {COUNTS[1]} and {COUNTS[2]}: "
            f"delete it and fetch it again from {FILE.url}."
        )
    labelled = _with_truth(replace(graphs, y=graphs.y.float()[:, None]), truth)
    return labelled, (*data.notes, *checksum_notes(FILE))


def _with_truth(graphs: PackedGraphs, truth: torch.Tensor) -> PackedGraphs:
    """Set the edge truth ``[E]``; a node is true if one of its edges is."""
    edge_graph = torch.repeat_interleave(graphs.edge_ptr.diff())
    ends = graphs.edge_index + graphs.node_ptr[edge_graph]
    node_truth = torch.zeros(graphs.x.size(0), dtype=torch.bool)
    node_truth[ends[:, truth].flatten()] = True
    return replace(graphs, edge_truth=truth, node_truth=node_truth)


def _as_gsat(graphs: PackedGraphs) -> tuple[PackedGraphs, int]:
    """GSAT's choice of molecules and truth; also the number of molecules left out."""
    assert graphs.y is not None
    assert graphs.edge_truth is not None
    mutagen = graphs.y[:, 0] == MUTAGEN
    edge_graph = torch.repeat_interleave(graphs.edge_ptr.diff())
    truth = graphs.edge_truth & mutagen[edge_graph]
    explained = torch.bincount(edge_graph[truth], minlength=len(graphs)) > 0
    kept = (explained | ~mutagen).nonzero()[:, 0]
    return _with_truth(graphs, truth)[kept], len(graphs) - len(kept)
