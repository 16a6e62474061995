"""Molecules from a table with a column of SMILES, or with several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.formats.assemble import (
    Chunk,
    Rows,
    assemble,
    duplicates_warning,
    file_name,
    unused_warning,
)
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
from gsina.graphs.folds import Fold
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_rules import Ids
from gsina.graphs.splits import check_rule, divide
from gsina.molecules.descriptors import (
    LARGEST,
    Values,
    check_kinds,
    choose,
    describe_smiles,
    varying,
)
from gsina.molecules.drugood import FEATURES_VERSION as DRUGOOD_VERSION
from gsina.molecules.drugood import Molecules, pack_drugs
from gsina.molecules.features import ATOM_FEATURE_SIZES, BOND_FEATURE_SIZES, FEATURES_VERSION
from gsina.molecules.mixtures import atom_sizes, pack_mixtures, prepare_mixtures, row_name
from gsina.molecules.packing import OnProgress, PackedMolecules, pack_smiles
from gsina.molecules.prepare import LARGEST_SCAFFOLD


def read_molecules(
    path: Path | str,
    *,
    smiles: str | Sequence[str],
    targets: Sequence[str],
    split: str = "scaffold",
    split_column: str | None = None,
    kind: TargetKind = "auto",
    seed: int = 0,
    features: Sequence[str] = (),
    fold: Sequence[int] | None = None,
    on_progress: OnProgress | None = None,
) -> Dataset:
    """Read molecules with labels and divide them.

    The graphs are kept in the cache folder, so that reading them again is fast.

    Args:
        path: A CSV, SDF or Parquet file, the first two perhaps packed with gzip.
        smiles: Name of the column of SMILES (or InChI), or of several: a row is then one graph of
            all its molecules, see :mod:`gsina.molecules.mixtures`.
        targets: Names of the columns to predict.
        split: ``scaffold``, ``random``, ``size``, ``column``, ``time`` or ``own``.
        split_column: The column that the last three of them read.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of all draws.
        features: Features of whole molecules beside the graph, such as ``quick`` and ``counts``:
            see :mod:`gsina.molecules.descriptors`. Those that do not vary among the training
            molecules are left out.
        fold: Number of a fold and number of all folds, to test on that one; the rule must be
            ``scaffold``, ``random`` or ``column``.
        on_progress: Called with the steps done and in all while molecules are parsed.

    Raises:
        InputError: One sentence about what is wrong with the file; rows whose SMILES cannot be
            read are no error but ``unreadable``.
    """
    path = Path(path)
    if isinstance(targets, str):
        targets = (targets,)
    check_rule(split, split_column)
    tested = Fold.check(fold, split)
    check_kinds(features)
    columns = _columns(smiles)
    extra = [] if split_column is None else [split_column]
    table = read_columns(path, [*columns, *targets, *extra])
    found = prepare_mixtures({name: table.cells[name] for name in columns}, on_progress)
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
        fold=tested,
    )
    molecules = {name: [text.strip() for text in cells[name]] for name in columns}
    notes = unused_warning(header(path), [*columns, *targets, *extra], path)
    notes += duplicates_warning(found.canonical, rows, parts, "molecules are")
    reading: dict[str, Any] = {
        "kind": "molecules",
        "version": FEATURES_VERSION,
        "columns": {"smiles": _one_or_all(columns), "targets": list(targets)},
    }
    graphs = found.graphs
    if split == "scaffold":
        notes += _giants_warning(graphs)
    if features:
        described = _describe(molecules, features, parts.parts["train"], on_progress)
        graphs = replace(graphs, graph_attr=described.values)
        reading["descriptors"] = {"kinds": list(features), "names": described.names}
        notes += described.notes
    return assemble(
        file_name(path),
        graphs,
        labels,
        parts,
        names=list(map(row_name, zip(*molecules.values(), strict=True))),
        rows=rows,
        origin=Origin(
            reading=reading,
            file=path.name,
            fingerprint=fingerprint(path),
            unreadable=tuple(unreadable),
        ),
        warnings=notes,
        node_sizes=atom_sizes(len(columns)),
        edge_sizes=BOND_FEATURE_SIZES,
    )


def _giants_warning(graphs: PackedGraphs) -> tuple[str, ...]:
    """One sentence about molecules that are too large for a scaffold, none without any."""
    count = int((graphs.node_ptr.diff() > LARGEST_SCAFFOLD).sum())
    sentence = (
        f"{count} molecules have more than {LARGEST_SCAFFOLD} atoms; their scaffolds are not "
        "sought, and each counts as a scaffold of its own."
    )
    return (sentence,) * bool(count)


def _columns(smiles: str | Sequence[str]) -> list[str]:
    """The columns of SMILES, each once."""
    columns = [smiles] if isinstance(smiles, str) else list(smiles)
    if not columns or len(set(columns)) < len(columns):
        raise InputError(
            f"got the columns of SMILES {columns}; expected at least one, and each of them once."
        )
    return columns


def _one_or_all(columns: list[str]) -> str | list[str]:
    """As a model keeps it: a name, or a list of several."""
    return columns[0] if len(columns) == 1 else columns


def _describe_all(
    molecules: Mapping[str, Sequence[str]],
    kinds: Sequence[str],
    on_progress: OnProgress | None = None,
    *,
    cached: bool = False,
    wanted: Sequence[str] | None = None,
) -> tuple[Values, list[str]]:
    """Features of the molecules of every column, with the column before their names if several."""
    several = len(molecules) > 1
    found = {
        column: describe_smiles(
            texts,
            kinds,
            on_progress,
            cached=cached,
            wanted=_of_column(wanted, column) if several else wanted,
        )
        for column, texts in molecules.items()
    }
    names = [
        f"{column}: {name}" if several else name
        for column, (_, names) in found.items()
        for name in names
    ]
    return np.concatenate([values for values, _ in found.values()], axis=1), names


def _of_column(names: Sequence[str] | None, column: str) -> list[str] | None:
    """The names of the features of one column of several."""
    start = f"{column}: "
    if names is None:
        return None
    return [name.removeprefix(start) for name in names if name.startswith(start)]


class _Described(NamedTuple):
    """Features of whole molecules ``[G, F]``, their names, and sentences about them."""

    values: Tensor
    names: list[str]
    notes: tuple[str, ...]


def _describe(
    molecules: Mapping[str, Sequence[str]],
    kinds: Sequence[str],
    train: Ids,
    on_progress: OnProgress | None,
) -> _Described:
    """Those features of readable molecules that vary among the training molecules."""
    values, names = _describe_all(molecules, kinds, on_progress, cached=True)
    kept = varying(values[train], names)
    found = choose(values, names, kept)
    notes = [
        f"{len(kept):,} features of whole molecules ({', '.join(kinds)}) vary among the training "
        "molecules."
    ]
    if gaps := int(np.isnan(found).any(axis=1).sum()):
        notes.append(
            f"{gaps} molecules lack some descriptors (those of more than {LARGEST} atoms have "
            "none), which count as the training mean."
        )
    return _Described(torch.from_numpy(found), kept, tuple(notes))


def stream_molecules(
    path: Path | str,
    smiles: str | Sequence[str],
    *,
    chunk: int = 2048,
    features: str = "ogb",
    descriptors: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Chunk]:
    """Read a CSV file of molecules in chunks; memory does not grow with its length.

    Args:
        path: A table as :func:`read_molecules` takes it.
        smiles: Name of the column of SMILES, or of several.
        chunk: Rows per chunk.
        features: ``ogb``, or ``drugood`` for those of that benchmark.
        descriptors: ``kinds`` and ``names`` of the features of whole molecules, as a model keeps
            them; ``used``, if it is there, names those that it looks at, and the others are NaN.
    """
    columns = _columns(smiles)
    check_columns(header(path), columns, path)
    pack = packer_of(features)
    for piece in in_pieces(table_rows(path), chunk):
        texts = {name: [row.cells[name].strip() for row in piece] for name in columns}
        graphs, kept, reasons = pack_mixtures(texts, pack)
        reasons |= {place: row.problem for place, row in enumerate(piece) if row.problem}
        # A row with a wrong number of cells may still have something that reads as a molecule.
        fits = [place not in reasons for place in kept]
        if not all(fits):
            graphs = graphs[torch.tensor(fits)]
        position = [place for place, fit in zip(kept, fits, strict=True) if fit]
        if descriptors:
            readable = {name: [cells[i] for i in position] for name, cells in texts.items()}
            wanted = descriptors.get("used")
            values, names = _describe_all(readable, descriptors["kinds"], wanted=wanted)
            chosen = choose(values, names, descriptors["names"])
            graphs = replace(graphs, graph_attr=torch.from_numpy(chosen))
        yield Chunk(
            rows=[row.cells for row in piece],
            graphs=graphs,
            position=torch.tensor(position, dtype=torch.long),
            reasons=dict(sorted(reasons.items())),
            numbers=[row.number for row in piece],
        )


def packer_of(features: str) -> Callable[[Sequence[Any]], Molecules | PackedMolecules]:
    """What makes graphs of SMILES or RDKit molecules with these features of atoms and bonds."""
    return pack_drugs if features == "drugood" else pack_smiles


def read_again(
    files: Sequence[Path], reading: dict[str, Any], names: str | Sequence[str] | None
) -> Rows:
    """Molecules of a new file; ``names`` are its columns of SMILES, by default the old ones."""
    old = _columns(reading["columns"]["smiles"])
    columns = _columns(names) if names else old
    if len(columns) != len(old):
        raise InputError(
            f"the model was trained on {len(old)} molecules per row ({', '.join(old)}), got "
            f"{len(columns)} columns of SMILES; name {len(old)} with --smiles, in that order."
        )
    chunks = stream_molecules(
        files[0],
        columns,
        features=str(reading.get("features", "ogb")),
        descriptors=_renamed(reading.get("descriptors"), dict(zip(old, columns, strict=True))),
    )
    return Rows(chunks, tuple(columns), header(files[0]))


def _renamed(
    descriptors: dict[str, list[str]] | None, columns: Mapping[str, str]
) -> dict[str, list[str]] | None:
    """Features of several molecules, with the columns of a new file in their names."""
    if descriptors is None or len(columns) == 1:
        return descriptors

    def renamed(name: str) -> str:
        old = max((c for c in columns if name.startswith(f"{c}: ")), key=len)
        return f"{columns[old]}{name.removeprefix(old)}"

    lists = {key: descriptors[key] for key in ("names", "used") if key in descriptors}
    return descriptors | {key: list(map(renamed, names)) for key, names in lists.items()}


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
