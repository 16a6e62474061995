"""Many SMILES strings into one packed dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.graphs.packed import PackedGraphs, offsets
from gsina.molecules.features import (
    ATOM_FEATURE_SIZES,
    BOND_FEATURE_SIZES,
    parse,
    rdkit_chem,
    rows,
)
from gsina.parallel import parallel_map

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
    """Turn SMILES strings into graphs with the features of :mod:`gsina.molecules.features`.

    Args:
        smiles: One string per molecule.
        jobs: Number of processes, by default one per core; short lists need none.
        progress: Called with the number of molecules done and the total.

    Returns:
        The graphs, the rows they come from, and the rows that could not be read.
    """
    rdkit_chem()  # Fail once, and before any work, if it is missing.
    count = len(smiles)
    pieces = [
        (start, list(smiles[start : start + CHUNK])) for start in range(0, max(count, 1), CHUNK)
    ]

    def molecules_done(done: int, total: int | None) -> None:
        if progress:
            progress(min(done * CHUNK, count), count)

    return _join(parallel_map(_pack, pieces, jobs=jobs, progress=molecules_done))


class Rows(NamedTuple):
    """Atoms, edges and bonds of some molecules, one after the other.

    Attributes:
        atoms: Features of every atom.
        ends: Start and end of every edge; a bond is two edges.
        bonds: Features of every edge.
        nodes: Number of atoms of every molecule.
        edges: Number of edges of every molecule.
        kept: The row of every molecule.
        failures: The rows that are no molecules.
    """

    atoms: list[tuple[int, ...]]
    ends: list[tuple[int, int]]
    bonds: list[tuple[int, ...]]
    nodes: list[int]
    edges: list[int]
    kept: list[int]
    failures: list[Failure]


def collect(
    piece: tuple[int, list[str]],
    featurise: Callable[
        [str], tuple[list[tuple[int, ...]], list[tuple[int, int]], list[tuple[int, ...]]]
    ],
) -> Rows:
    """Featurise the strings of one piece; the first of them is row ``piece[0]``.

    Args:
        piece: Row of the first string, and the strings.
        featurise: Atoms, ends and bonds of one molecule; a ``ValueError`` is a failure.
    """
    first, smiles = piece
    rows = Rows([], [], [], [], [], [], [])
    for row, text in enumerate(smiles, start=first):
        try:
            atoms, ends, bonds = featurise(text)
        except ValueError as error:
            rows.failures.append(Failure(row, text, str(error)))
            continue
        rows.atoms.extend(atoms)
        rows.ends.extend(ends)
        rows.bonds.extend(bonds)
        rows.nodes.append(len(atoms))
        rows.edges.append(len(ends))
        rows.kept.append(row)
    return rows


def _pack(piece: tuple[int, list[str]]) -> _Chunk:
    found = collect(piece, lambda text: rows(parse(text)))
    return _Chunk(
        x=np.array(found.atoms, dtype=np.uint8).reshape(-1, len(ATOM_FEATURE_SIZES)),
        ends=np.array(found.ends, dtype=np.int32).reshape(-1, 2),
        edge_attr=np.array(found.bonds, dtype=np.uint8).reshape(-1, len(BOND_FEATURE_SIZES)),
        nodes=np.array(found.nodes, dtype=np.int64),
        edges=np.array(found.edges, dtype=np.int64),
        kept=np.array(found.kept, dtype=np.int64),
        failures=found.failures,
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
