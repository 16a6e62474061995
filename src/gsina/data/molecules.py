"""Many SMILES strings into one packed dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.data.featurize import (
    ATOM_FEATURE_SIZES,
    BOND_FEATURE_SIZES,
    parse,
    rdkit_chem,
    rows,
)
from gsina.data.packed import PackedGraphs, offsets
from gsina.data.parallel import parallel_map

#: Molecules of one piece of work. Fewer than two pieces are not worth a second process.
CHUNK = 1000


class Failure(NamedTuple):
    """A row that is not a molecule."""

    row: int
    smiles: str
    reason: str


class PackedMolecules(NamedTuple):
    """What :func:`pack_smiles` returns.

    Attributes:
        graphs: The molecules that could be read, without labels. ``x`` is int64 ``[N, 9]``,
            ``edge_attr`` int64 ``[E, 3]``; each bond is two edges, one behind the other.
        kept: The row of every graph, ascending ``[G]``, int64.
        failures: The rows that are missing in ``kept``, with reasons.
    """

    graphs: PackedGraphs
    kept: Tensor
    failures: list[Failure]


class _Chunk(NamedTuple):
    """Flat arrays of some molecules, in the smallest types: they travel between processes."""

    x: NDArray[np.uint8]
    ends: NDArray[np.int32]
    edge_attr: NDArray[np.uint8]
    nodes: NDArray[np.int64]
    edges: NDArray[np.int64]
    kept: NDArray[np.int64]
    failures: list[Failure]


def pack_smiles(
    smiles: Sequence[str],
    *,
    jobs: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> PackedMolecules:
    """Turn SMILES strings into graphs with the features of :mod:`gsina.data.featurize`.

    Args:
        smiles: One string a molecule.
        jobs: Number of processes, by default one a core; short lists need none.
        progress: Called with the number of molecules done and in all.

    Returns:
        The graphs, the rows they come from, and the rows that could not be read.
    """
    rdkit_chem()  # Its absence is to be told once, and before any work.
    count = len(smiles)
    pieces = [
        (start, list(smiles[start : start + CHUNK])) for start in range(0, max(count, 1), CHUNK)
    ]

    def molecules_done(done: int, total: int | None) -> None:
        if progress:
            progress(min(done * CHUNK, count), count)

    return _join(parallel_map(_pack, pieces, jobs=jobs, progress=molecules_done))


def _pack(piece: tuple[int, list[str]]) -> _Chunk:
    """Featurise the strings of one piece; the first of them is row ``piece[0]``."""
    first, smiles = piece
    atoms: list[tuple[int, ...]] = []
    ends: list[tuple[int, int]] = []
    bonds: list[tuple[int, ...]] = []
    nodes, edges, kept, failures = [], [], [], []
    for row, text in enumerate(smiles, start=first):
        try:
            new_atoms, new_ends, new_bonds = rows(parse(text))
        except ValueError as error:
            failures.append(Failure(row, text, str(error)))
            continue
        atoms += new_atoms
        ends += new_ends
        bonds += new_bonds
        nodes.append(len(new_atoms))
        edges.append(len(new_ends))
        kept.append(row)
    return _Chunk(
        x=np.array(atoms, dtype=np.uint8).reshape(-1, len(ATOM_FEATURE_SIZES)),
        ends=np.array(ends, dtype=np.int32).reshape(-1, 2),
        edge_attr=np.array(bonds, dtype=np.uint8).reshape(-1, len(BOND_FEATURE_SIZES)),
        nodes=np.array(nodes, dtype=np.int64),
        edges=np.array(edges, dtype=np.int64),
        kept=np.array(kept, dtype=np.int64),
        failures=failures,
    )


def _join(chunks: Sequence[_Chunk]) -> PackedMolecules:
    def column(name: str) -> Tensor:
        return torch.from_numpy(np.concatenate([getattr(chunk, name) for chunk in chunks])).long()

    graphs = PackedGraphs(
        x=column("x"),
        edge_index=column("ends").t().contiguous(),
        node_ptr=offsets(column("nodes")),
        edge_ptr=offsets(column("edges")),
        edge_attr=column("edge_attr"),
    )
    failures = [failure for chunk in chunks for failure in chunk.failures]
    return PackedMolecules(graphs, column("kept"), failures)
