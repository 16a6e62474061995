"""Several molecules per row, such as a solute and its solvent: one graph of separate parts.

The atoms of the first molecule come first, as in the SMILES of all parts with dots between them. A
further atom feature says which part an atom belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gsina.graphs.packed import PackedGraphs, offsets
from gsina.molecules.drugood import Molecules
from gsina.molecules.features import ATOM_FEATURE_SIZES
from gsina.molecules.packing import OnProgress, PackedMolecules, pack_smiles
from gsina.molecules.prepare import EMPTY, Prepared, prepare


def atom_sizes(parts: int) -> tuple[int, ...]:
    """Number of categories of each atom feature in rows of ``parts`` molecules."""
    return ATOM_FEATURE_SIZES if parts == 1 else (*ATOM_FEATURE_SIZES, parts)


def row_name(cells: Sequence[str]) -> str:
    """The SMILES of all parts of a row as one, without a name behind a SMILES."""
    if len(cells) == 1:
        return cells[0].strip()
    return ".".join((cell.split() or [""])[0] for cell in cells)


def prepare_mixtures(
    columns: Mapping[str, Sequence[str]], progress: OnProgress | None = None
) -> Prepared:
    """As :func:`~gsina.molecules.prepare.prepare`, of one or more columns of SMILES.

    A row is kept if all of its molecules can be read; its scaffold is that of the first.

    Args:
        columns: Columns by name, as they are in the file.
        progress: Called with the steps done and the total of each column.
    """
    found = {name: prepare(cells, progress) for name, cells in columns.items()}
    first, *others = found.values()
    if not others:
        return first
    reasons: dict[int, str] = {}
    for name, part in found.items():
        reasons |= {row: f"{name}: {why}" for row, why in part.reasons.items()} | reasons
    rows = [row for row in first.kept if row not in reasons]
    places = []
    for part in found.values():
        place = {row: index for index, row in enumerate(part.kept)}
        places.append([place[row] for row in rows])
    parts = list(found.values())
    return Prepared(
        graphs=mix([part.graphs[ids] for part, ids in zip(parts, places, strict=True)]),
        kept=rows,
        reasons=dict(sorted(reasons.items())),
        canonical=[
            ".".join(part.canonical[place] for part, place in zip(parts, ids, strict=True))
            for ids in zip(*places, strict=True)
        ],
        scaffolds=[first.scaffolds[place] for place in places[0]],
    )


def pack_mixtures(
    columns: Mapping[str, Sequence[str]],
    pack: Callable[[Sequence[Any]], Molecules | PackedMolecules] = pack_smiles,
) -> tuple[PackedGraphs, list[int], dict[int, str]]:
    """Graphs of rows with one or more SMILES, their rows, and reasons for the other rows.

    Args:
        columns: Columns by name.
        pack: What makes graphs of a column.
    """
    reasons: dict[int, str] = {}
    packed = {name: pack(cells) for name, cells in columns.items()}
    for name, one in packed.items():
        where = f"{name}: " if len(packed) > 1 else ""
        for row, text, why in one.failures:
            reasons.setdefault(row, f"{where}{why if text else EMPTY}")
    graphs = []
    for one in packed.values():
        fine = torch.tensor([int(row) not in reasons for row in one.kept], dtype=torch.bool)
        graphs.append(one.graphs if bool(fine.all()) else one.graphs[fine])
    count = len(next(iter(columns.values())))
    return mix(graphs), [row for row in range(count) if row not in reasons], reasons


def mix(parts: Sequence[PackedGraphs]) -> PackedGraphs:
    """Join the graphs of several sets, the first with the first and so on.

    Args:
        parts: As many graphs in each; one set is returned as it is.

    Returns:
        Graphs whose nodes have one more feature: the number of the set that they come from.
    """
    if len(parts) == 1:
        return parts[0]
    nodes = torch.stack([part.node_ptr.diff() for part in parts])
    edges = torch.stack([part.edge_ptr.diff() for part in parts])
    before = nodes.cumsum(0) - nodes  # nodes of the same graph in the parts before
    x, ends, attributes = [], [], []
    for number, part in enumerate(parts):
        marks = torch.full((part.x.size(0), 1), number, dtype=part.x.dtype)
        x.append(torch.cat([part.x, marks], dim=1))
        ends.append(part.edge_index + before[number].repeat_interleave(edges[number]))
        assert part.edge_attr is not None  # bonds have features
        attributes.append(part.edge_attr)
    by_node, by_edge = _order(nodes), _order(edges)
    return PackedGraphs(
        x=torch.cat(x)[by_node],
        edge_index=torch.cat(ends, dim=1)[:, by_edge],
        node_ptr=offsets(nodes.sum(0)),
        edge_ptr=offsets(edges.sum(0)),
        edge_attr=torch.cat(attributes)[by_edge],
    )


def _order(counts: Tensor) -> Tensor:
    """Rows that lie part by part, in the order of their graphs; counts are ``[parts, graphs]``."""
    graphs = torch.arange(counts.size(1)).expand_as(counts).reshape(-1)
    return graphs.repeat_interleave(counts.reshape(-1)).argsort(stable=True)
