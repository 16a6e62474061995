"""Molecules from a CSV file with a column of SMILES."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.formats.assemble import Chunk, Rows, assemble, duplicates_warning, file_name
from gsina.formats.table import (
    check_columns,
    fingerprint,
    header,
    in_pieces,
    no_rows,
    read_columns,
    table_rows,
)
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.split_rules import Ids
from gsina.graphs.splits import check_rule, divide
from gsina.molecules.descriptors import check_kinds, choose, describe_smiles
from gsina.molecules.drugood import FEATURES_VERSION as DRUGOOD_VERSION
from gsina.molecules.drugood import pack_drugs
from gsina.molecules.features import ATOM_FEATURE_SIZES, BOND_FEATURE_SIZES, FEATURES_VERSION
from gsina.molecules.packing import OnProgress, pack_smiles
from gsina.molecules.prepare import EMPTY, prepare


def read_molecules(
    path: Path | str,
    *,
    smiles: str,
    targets: Sequence[str],
    split: str = "scaffold",
    split_column: str | None = None,
    kind: TargetKind = "auto",
    seed: int = 0,
    features: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> Dataset:
    """Read molecules with labels and divide them.

    The graphs are kept in the cache folder, so that reading them again is fast.

    Args:
        path: A CSV file, perhaps packed with gzip.
        smiles: Name of the column of SMILES.
        targets: Names of the columns to predict.
        split: ``scaffold``, ``random``, ``size``, ``column``, ``time`` or ``own``.
        split_column: The column that the last three of them read.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.
        features: Features of whole molecules beside the graph, ``morgan`` or ``rdkit`` or both:
            see :mod:`gsina.molecules.descriptors`. Those that do not vary among the training
            molecules are left out.
        on_progress: Called with the steps done and in all while molecules are parsed.

    Raises:
        InputError: One sentence about what is wrong with the file; rows whose SMILES cannot be
            read are no error but ``unreadable``.
    """
    path = Path(path)
    if isinstance(targets, str):
        targets = (targets,)
    check_rule(split, split_column)
    check_kinds(features)
    extra = [] if split_column is None else [split_column]
    table = read_columns(path, [smiles, *targets, *extra])
    found = prepare(table.cells[smiles], on_progress)
    unreadable = table.problems + [(table.numbers[i], why) for i, why in found.reasons.items()]
    unreadable.sort()
    if not found.kept:
        raise InputError(no_rows(path, unreadable))

    cells = {name: [column[i] for i in found.kept] for name, column in table.cells.items()}
    rows = [table.numbers[i] for i in found.kept]
    labels = read_labels({name: cells[name] for name in targets}, rows, kind=kind)
    parts = divide(
        split,
        labels,
        rows,
        graphs=found.graphs,
        groups=found.scaffolds,
        column=split_column,
        cells=cells.get(split_column or "", ()),
        seed=seed,
        file=path.name,
    )
    names = [text.strip() for text in cells[smiles]]
    reading: dict[str, Any] = {
        "kind": "molecules",
        "version": FEATURES_VERSION,
        "columns": {"smiles": smiles, "targets": list(targets)},
    }
    graphs, notes = found.graphs, duplicates_warning(found.canonical, rows, parts, "molecules are")
    if features:
        described = _describe(names, features, parts.parts["train"], on_progress)
        graphs = replace(graphs, graph_attr=described.values)
        reading["descriptors"] = {"kinds": list(features), "names": described.names}
        notes += described.notes
    return assemble(
        file_name(path),
        graphs,
        labels,
        parts,
        names=names,
        rows=rows,
        origin=Origin(
            reading=reading,
            file=path.name,
            fingerprint=fingerprint(path),
            unreadable=tuple(unreadable),
        ),
        warnings=notes,
        node_sizes=ATOM_FEATURE_SIZES,
        edge_sizes=BOND_FEATURE_SIZES,
    )


class _Described(NamedTuple):
    """Features of whole molecules ``[G, F]``, their names, and sentences about them."""

    values: Tensor
    names: list[str]
    notes: tuple[str, ...]


def _describe(
    smiles: Sequence[str], kinds: Sequence[str], train: Ids, on_progress: OnProgress | None
) -> _Described:
    """Those features of readable molecules that vary among the training molecules."""
    values, names = describe_smiles(smiles, kinds, on_progress)
    known = values[train]
    varied = np.nanmin(known, axis=0, initial=np.inf) < np.nanmax(known, axis=0, initial=-np.inf)
    kept = [name for name, varies in zip(names, varied, strict=True) if varies]
    found = choose(values, names, kept)
    if not kept:
        raise InputError(
            f"the features {', '.join(kinds)} are the same for all {len(train)} training "
            "molecules; leave them out (--features, in Python features=)."
        )
    notes = [
        f"{len(kept):,} features of whole molecules ({', '.join(kinds)}) vary among the training "
        "molecules and are used beside the graph."
    ]
    if gaps := int(np.isnan(found).any(axis=1).sum()):
        notes.append(f"{gaps} molecules lack some descriptors, which count as the training mean.")
    return _Described(torch.from_numpy(found), kept, tuple(notes))


def stream_molecules(
    path: Path | str,
    smiles: str,
    *,
    chunk: int = 2048,
    features: str = "ogb",
    descriptors: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Chunk]:
    """Read a CSV file of molecules in chunks; memory does not grow with its length.

    Args:
        path: A CSV file, perhaps packed with gzip.
        smiles: Name of the column of SMILES.
        chunk: Rows per chunk.
        features: ``ogb``, or ``drugood`` for those of that benchmark.
        descriptors: ``kinds`` and ``names`` of the features of whole molecules, as a model keeps
            them.
    """
    check_columns(header(path), [smiles], path)
    pack = pack_drugs if features == "drugood" else pack_smiles
    for piece in in_pieces(table_rows(path), chunk):
        texts = [row.cells[smiles].strip() for row in piece]
        packed = pack(texts)
        kept = torch.as_tensor(packed.kept, dtype=torch.long)
        reasons = {row: reason for row, _, reason in packed.failures}
        reasons |= {place: EMPTY for place, text in enumerate(texts) if not text}
        reasons |= {place: row.problem for place, row in enumerate(piece) if row.problem}
        # A row with a wrong number of cells may still have something that reads as a molecule.
        fits = torch.tensor([place not in reasons for place in kept.tolist()], dtype=torch.bool)
        graphs, position = packed.graphs if bool(fits.all()) else packed.graphs[fits], kept[fits]
        if descriptors:
            readable = [texts[place] for place in position.tolist()]
            values, names = describe_smiles(readable, descriptors["kinds"])
            chosen = choose(values, names, descriptors["names"])
            graphs = replace(graphs, graph_attr=torch.from_numpy(chosen))
        yield Chunk(
            rows=[row.cells for row in piece],
            graphs=graphs,
            position=position,
            reasons=dict(sorted(reasons.items())),
            numbers=[row.number for row in piece],
        )


def read_again(files: Sequence[Path], reading: dict[str, Any], names: str | None) -> Rows:
    """Molecules of a new file; ``names`` is its column of SMILES, by default the old one."""
    column = names or str(reading["columns"]["smiles"])
    features = str(reading.get("features", "ogb"))
    made = reading.get("descriptors")
    return Rows(stream_molecules(files[0], column, features=features, descriptors=made), column)


def version_of(reading: dict[str, Any]) -> int:
    """The version of the features that are made now."""
    return DRUGOOD_VERSION if reading.get("features") == "drugood" else FEATURES_VERSION


def reading_of(dataset: Dataset) -> dict[str, Any] | None:
    """How to read molecules of the benchmarks from a table of SMILES."""
    columns = {"smiles": "smiles", "targets": list(dataset.target_names)}
    bonds = dataset.edge_sizes in (BOND_FEATURE_SIZES, ())  # a benchmark may leave them out
    if dataset.node_sizes == ATOM_FEATURE_SIZES and bonds:
        return {"kind": "molecules", "version": FEATURES_VERSION, "columns": columns}
    if dataset.name.startswith("drugood-"):
        features = {"features": "drugood", "version": DRUGOOD_VERSION}
        return {"kind": "molecules", "columns": columns, **features}
    return None
