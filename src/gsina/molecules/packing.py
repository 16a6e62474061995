"""Many SMILES strings into one packed dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.graphs.packed import PackedGraphs, offsets
from gsina.molecules.features import (
    ATOM_FEATURE_SIZES,
    BOND_FEATURE_SIZES,
    MoleculeRows,
    parse_shared,
    rdkit_chem,
    rows,
)
from gsina.parallel import parallel_map

#: Molecules of one piece of work. Fewer than two pieces are not worth a second process.
CHUNK = 1000

#: Called with the work done and in total.
OnProgress = Callable[[int, int | None], None]
Featurise = Callable[[Any], MoleculeRows]
Number = TypeVar("Number", np.int8, np.int32)


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


class Rows(NamedTuple):
    """Atoms and edges of many molecules, one after the other; a bond is two edges.

    Attributes:
        atoms: Features of every atom ``[N, A]``, int8.
        ends: Start and end of every edge ``[E, 2]``, int32.
        bonds: Features of every edge ``[E, B]``, int8.
        nodes: Number of atoms of every molecule ``[G]``, int64.
        edges: Number of edges of every molecule ``[G]``, int64.
        kept: The row of every molecule ``[G]``, int64.
        failures: The rows that are no molecules.
    """

    atoms: NDArray[np.int8]
    ends: NDArray[np.int32]
    bonds: NDArray[np.int8]
    nodes: NDArray[np.int64]
    edges: NDArray[np.int64]
    kept: NDArray[np.int64]
    failures: list[Failure]

    def pack(self, x: Tensor, edge_attr: Tensor) -> PackedGraphs:
        """The graphs, with these features of nodes ``[N, F]`` and edges ``[E, F]``."""
        return PackedGraphs(
            x=x,
            edge_index=torch.from_numpy(self.ends).long().t().contiguous(),
            node_ptr=offsets(torch.from_numpy(self.nodes)),
            edge_ptr=offsets(torch.from_numpy(self.edges)),
            edge_attr=edge_attr,
        )


def pack_smiles(
    smiles: Sequence[str], *, jobs: int | None = None, progress: OnProgress | None = None
) -> PackedMolecules:
    """Turn SMILES strings into graphs with the features of :mod:`gsina.molecules.features`.

    Args:
        smiles: One string per molecule.
        jobs: Number of processes, by default one per core; short lists need none.
        progress: Called with the number of molecules done and the total.

    Returns:
        The graphs, the rows they come from, and the rows that could not be read.
    """
    count = len(smiles)

    def molecules_done(done: int, total: int | None) -> None:
        if progress:
            progress(min(done * CHUNK, count), count)

    sizes = (len(ATOM_FEATURE_SIZES), len(BOND_FEATURE_SIZES))
    found = collect(smiles, rows, sizes, jobs=jobs, progress=molecules_done)
    x, edge_attr = (torch.from_numpy(part).long() for part in (found.atoms, found.bonds))
    return PackedMolecules(found.pack(x, edge_attr), torch.from_numpy(found.kept), found.failures)


def collect(
    smiles: Sequence[str],
    featurise: Featurise,
    sizes: tuple[int, int],
    *,
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Rows:
    """Featurise strings in several processes.

    Args:
        smiles: One string per molecule.
        featurise: Atoms, ends and bonds of an RDKit molecule; a ``ValueError`` is a failure.
        sizes: Number of features of an atom, and of a bond.
        jobs: Number of processes, by default one per core.
        progress: Called with the number of pieces of work done and the total.
    """
    rdkit_chem()  # Fail once, and before any work, if it is missing.
    pieces = [
        (start, list(smiles[start : start + CHUNK]))
        for start in range(0, max(len(smiles), 1), CHUNK)
    ]
    work = partial(_collect_piece, featurise, sizes)
    *parts, failures = zip(*parallel_map(work, pieces, jobs=jobs, progress=progress), strict=True)
    return Rows._make([*map(np.concatenate, parts), list(chain.from_iterable(failures))])


def _collect_piece(
    featurise: Featurise, sizes: tuple[int, int], piece: tuple[int, list[str]]
) -> Rows:
    """The molecules of one piece, whose first string is row ``piece[0]``."""
    first, smiles = piece
    atoms, ends, bonds = [], [], []
    nodes, edges, kept, failures = [], [], [], []
    for row, text in enumerate(smiles, start=first):
        try:
            new_atoms, new_ends, new_bonds = featurise(parse_shared(text))
        except ValueError as error:
            failures.append(Failure(row, text, str(error)))
            continue
        atoms.extend(new_atoms)
        ends.extend(new_ends)
        bonds.extend(new_bonds)
        nodes.append(len(new_atoms))
        edges.append(len(new_ends))
        kept.append(row)
    return Rows(
        # The smallest types: they travel between processes.
        _table(atoms, np.int8, sizes[0]),
        _table(ends, np.int32, 2),
        _table(bonds, np.int8, sizes[1]),
        np.array(nodes, dtype=np.int64),
        np.array(edges, dtype=np.int64),
        np.array(kept, dtype=np.int64),
        failures,
    )


def _table(rows: Sequence[tuple[int, ...]], dtype: type[Number], width: int) -> NDArray[Number]:
    """Rows of whole numbers ``[rows, width]``; several times as fast as ``np.array`` of tuples."""
    return np.fromiter(chain.from_iterable(rows), dtype, len(rows) * width).reshape(-1, width)
