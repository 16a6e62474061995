"""What the node datasets share: whole graphs as splits, raw files, and checks of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.datasets.raw.sources import OnProgress, RawFile, at_hand, raw_file, unpack
from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class NodeGraph:
    """One graph with labels on its nodes.

    Attributes:
        x: Node features ``[N, F]``.
        edge_index: Source and target of every edge ``[2, E]``, int64.
        y: Labels, one row per node.
        mask: Nodes that count ``[N]``, bool; ``None`` for all.
    """

    x: Tensor
    edge_index: Tensor
    y: Tensor
    mask: Tensor | None = None


def induced(
    x: NDArray[Any], edges: NDArray[np.int64], y: Tensor, kept: NDArray[np.bool_], mask: Tensor
) -> NodeGraph:
    """The graph of the nodes ``kept`` ``[N]``, in their order, and of the edges between them.

    All nodes have features ``[N, F]``, labels and a mask ``[N]``; ``edges`` ``[E, 2]`` are all.
    """
    place = np.cumsum(kept) - 1
    inside = edges[kept[edges].all(axis=1)]
    rows = torch.from_numpy(kept)
    return NodeGraph(
        x=torch.from_numpy(x[kept]).float(),
        edge_index=torch.from_numpy(place[inside.T]),
        y=y[rows],
        mask=mask[rows],
    )


def pack(graphs: Sequence[NodeGraph], environments: Sequence[int]) -> PackedGraphs:
    """Graphs end to end, each with the number of its environment."""
    packed = PackedGraphs.from_pyg(graphs, level="node")  # they name their tensors as PyG does
    return replace(packed, environment=torch.tensor(environments))


def node_archive(
    archive: RawFile, members: Mapping[str, RawFile], progress: OnProgress | None = None
) -> None:
    """Unpack an official archive unless the files ``members`` are all there."""
    if at_hand(*members.values()):
        return
    path = raw_file(archive, progress=progress)
    unpack(path, {member: file.target for member, file in members.items()})


def check_ids(ids: NDArray[np.int64], count: int, source: Path, *, first: int = 1) -> None:
    """Raise if a row ``[rows, 2]`` of an edge list names a node that does not exist.

    Args:
        ids: Node numbers.
        count: Number of nodes.
        source: The file.
        first: Line of the file in which row 0 stands.
    """
    wrong = ((ids < 0) | (ids >= count)).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{source} has the edge {ids[row, 0]} -> {ids[row, 1]} in line {row + first}, but "
            f"nodes are numbered from 0 to {count - 1}; delete it and fetch it again."
        )


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of arrays, as int64 in rows.

    Unlike the checksum of a file it does not depend on compression, line ends or the layout of the
    container, in which copies of one dataset differ.
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()[:16]


def stamp(files: Sequence[RawFile]) -> str:
    """A key of the present state of files, for the cache: another file, another key."""
    states = [(file.path, file.target.stat()) for file in files if file.target.is_file()]
    text = ";".join(f"{path}:{state.st_size}:{state.st_mtime_ns}" for path, state in states)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
