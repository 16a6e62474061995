"""The molecule datasets of the Open Graph Benchmark, from their SMILES strings.

Only the label file and the split files of the official archives are read; the graphs are made
here by RDKit (:mod:`gsina.molecules.features`). Paper: Hu et al., "Open Graph Benchmark: Datasets
for Machine Learning on Graphs", NeurIPS 2020; the data are MoleculeNet's.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.datasets.raw.compressed_files import read_gzip_text
from gsina.datasets.raw.sources import (
    OnProgress,
    RawFile,
    at_hand,
    checksum_notes,
    names_checksum,
    raw_file,
    unpack,
)
from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.task import Task
from gsina.molecules.features import ATOM_FEATURE_SIZES, BOND_FEATURE_SIZES, FEATURES_VERSION
from gsina.molecules.packing import Failure, pack_smiles
from gsina.molecules.scaffolds import scaffold_split

URL = "http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download"
MAPPING = "mapping/mol.csv.gz"
#: Our names of the splits, and OGB's files.
SPLITS = {
    "train": "split/scaffold/train.csv.gz",
    "val": "split/scaffold/valid.csv.gz",
    "test": "split/scaffold/test.csv.gz",
}
#: Columns of the label file that are not labels.
NOT_LABELS = ("smiles", "mol_id")


@dataclass(frozen=True)
class OGBSource:
    """One dataset of the family.

    Attributes:
        short: Its name in OGB's archive: ``hiv``.
        rows: Numbers of molecules that a whole file may have.
        tasks: Number of label columns.
    """

    short: str
    rows: tuple[int, ...]
    tasks: int

    def file(self, member: str) -> RawFile:
        """A file of the unpacked archive."""
        return RawFile(f"ogb/ogbg_mol{self.short}/{member}")

    @property
    def archive(self) -> RawFile:
        """The official archive; its graph files, which differ by version, are not used."""
        return RawFile(f"ogb/{self.short}.zip", f"{URL}/{self.short}.zip")


SOURCES = {
    f"ogbg-mol{source.short}": source
    for source in (
        OGBSource("hiv", (41127,), 1),
        OGBSource("bace", (1513,), 1),
        OGBSource("bbbp", (2039,), 1),
        # OGB has one molecule fewer than MoleculeNet.
        OGBSource("clintox", (1477, 1478), 2),
        OGBSource("tox21", (7831,), 12),
        OGBSource("sider", (1427,), 27),
    )
}


class Table(NamedTuple):
    """The label file: SMILES strings and labels ``[G, T]``, NaN where missing."""

    smiles: list[str]
    y: NDArray[np.float32]


def load(
    name: str, *, bonds: bool = False, jobs: int | None = None, progress: OnProgress | None = None
) -> Dataset:
    """Load one of the six datasets; the first time, its graphs are made and cached.

    Args:
        name: ``"ogbg-molhiv"``, ``-molbace``, ``-molbbbp``, ``-molclintox``, ``-moltox21`` or
            ``-molsider``.
        bonds: Keep the bond features (``edge_attr`` ``[E, 3]``, int64); the benchmark has none.
        jobs: Number of processes that make graphs, by default one per core.
        progress: Called with the number of molecules done and the total, the first time.

    Returns:
        Splits ``train``, ``val``, ``test``; ``x`` int64 ``[N, 9]``, ``y`` float ``[G, T]``, NaN
        where a label is missing. ``notes`` name the molecules that RDKit cannot read.
    """
    source = SOURCES[check_name(name, SOURCES, "OGB molecule dataset")]
    fetch(source)
    splits = [source.file(member) for member in SPLITS.values()]
    files = [source.file(MAPPING), *(splits if at_hand(*splits) else [])]
    digest = hashlib.sha256(b"".join(file.target.read_bytes() for file in files)).hexdigest()[:16]
    key = f"ogbg/{name}-v{FEATURES_VERSION}.1-{digest}"
    dataset = cached(key, lambda: _prepare(name, source, jobs, progress))
    if bonds:
        return dataset
    plain = {split: replace(graphs, edge_attr=None) for split, graphs in dataset.splits.items()}
    return replace(dataset, splits=plain, edge_sizes=())


def fetch(source: OGBSource) -> None:
    """Download and unpack the official archive if the label file is missing."""
    if at_hand(source.file(MAPPING)):
        return
    # The label file comes last: once it exists, all files do.
    members = {member: source.file(member).target for member in (*SPLITS.values(), MAPPING)}
    unpack(raw_file(source.archive), members)


def read_table(source: OGBSource) -> Table:
    """Read the label file.

    Raises:
        InputError: If it is truncated, or not the file of this dataset.
    """
    path = raw_file(source.file(MAPPING))
    lines = read_gzip_text(path).splitlines()
    header = next(csv.reader(lines[:1]), [])
    labels = [column for column in header if column not in NOT_LABELS]
    if "smiles" not in header or len(labels) != source.tasks:
        raise InputError(
            f"{path} has the columns {', '.join(header)}; expected `smiles` and {source.tasks} "
            f"columns of labels; delete it and fetch it again from {source.archive.url}."
        )
    rows = list(csv.DictReader(lines))
    if len(rows) not in source.rows:
        raise InputError(
            f"{path} has {len(rows)} molecules, expected {' or '.join(map(str, source.rows))}: it "
            f"is truncated or altered; delete it and fetch it again from {source.archive.url}."
        )
    y = np.empty((len(rows), len(labels)), dtype=np.float32)
    for number, row in enumerate(rows):
        for column, label in enumerate(labels):
            y[number, column] = _label(row[label], path, number, label)
    return Table([row["smiles"] or "" for row in rows], y)


def read_split(source: OGBSource) -> dict[str, NDArray[np.int64]] | None:
    """Rows of each split from the official files, ``None`` if they are missing.

    Raises:
        InputError: If the files are broken, or do not fit the label file.
    """
    files = {name: source.file(member) for name, member in SPLITS.items()}
    if not at_hand(*files.values()):
        return None
    split = {}
    for name, file in files.items():
        try:
            rows = read_gzip_text(file.target).splitlines()
            split[name] = np.array(list(map(int, rows)), dtype=np.int64)
        except ValueError as error:
            raise InputError(
                f"{file.target} is not a list of row numbers ({error}); delete it and fetch it "
                f"again from {source.archive.url}."
            ) from error
    return split


def smiles(name: str, split: str) -> list[str]:
    """The SMILES strings of a split, in order of the graphs; for drawing."""
    source = SOURCES[check_name(name, SOURCES, "OGB molecule dataset")]
    table = read_table(source)
    ids = read_split(source) or dict(zip(SPLITS, scaffold_split(table.smiles), strict=True))
    texts = [table.smiles[row] for row in ids[check_name(split, ids, "split")]]
    return [texts[row] for row in pack_smiles(texts).kept.tolist()]


def _prepare(
    name: str, source: OGBSource, jobs: int | None, progress: OnProgress | None
) -> Dataset:
    files = [source.file(member) for member in (MAPPING, *SPLITS.values())]
    with names_checksum(*files):
        table, split = _tables(source)
    count = len(table.smiles)
    notes = []
    if split is None:
        split = dict(zip(SPLITS, scaffold_split(table.smiles, jobs=jobs), strict=True))
        notes.append("The official split files are not there; the scaffold split was computed.")
    graphs, kept, failures = pack_smiles(table.smiles, jobs=jobs, progress=progress)
    notes += [*_tell(failures, split, count), *checksum_notes(*files)]
    graphs = replace(graphs, y=torch.from_numpy(table.y)[kept])
    place = torch.full((count,), -1)
    place[kept] = torch.arange(len(kept))
    return Dataset(
        name=name,
        task=Task("binary", source.tasks, "roc_auc"),
        splits={part: graphs[_known(place[torch.from_numpy(ids)])] for part, ids in split.items()},
        notes=tuple(notes),
        node_sizes=ATOM_FEATURE_SIZES,
        edge_sizes=BOND_FEATURE_SIZES,
    )


def _tables(source: OGBSource) -> tuple[Table, dict[str, NDArray[np.int64]] | None]:
    """The label file, and the split files where they exist; they must agree."""
    table, split = read_table(source), read_split(source)
    count = len(table.smiles)
    rows = np.arange(count) if split is None else np.concatenate(list(split.values()))
    if not np.array_equal(np.sort(rows), np.arange(count)):
        folder = source.file(SPLITS["train"]).target.parent
        raise InputError(
            f"the split files in {folder} hold {len(rows)} row numbers; expected each of the "
            f"{count} rows of {MAPPING} once; delete them and fetch them again from "
            f"{source.archive.url}."
        )
    return table, split


def _known(ids: Tensor) -> Tensor:
    return ids[ids >= 0]


def _tell(failures: list[Failure], split: dict[str, NDArray[np.int64]], count: int) -> list[str]:
    """Say which molecules are left out: one line for all, one for each."""
    if not failures:
        return []
    from rdkit import rdBase

    lost = [failure.row for failure in failures]
    shares = ", ".join(f"{int(np.isin(ids, lost).sum())} of {part}" for part, ids in split.items())
    return [
        f"{len(failures)} of {count} molecules are left out ({shares}), because RDKit "
        f"{rdBase.rdkitVersion} cannot read them:",
        *(f"row {row}: {smiles} ({reason})" for row, smiles, reason in failures),
    ]


def _label(text: str | None, path: Path, row: int, column: str) -> float:
    if text == "":
        return float("nan")
    try:
        value = float(text or "?")
    except ValueError:
        value = -1.0
    if value not in (0.0, 1.0):
        raise InputError(
            f"{path} has {text!r} in column {column!r} of row {row}; expected 0, 1, or nothing "
            f"for a missing label."
        )
    return value
