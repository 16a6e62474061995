"""DrugOOD: does a ligand bind? Shifts of assay, scaffold and size.

Ji et al., "DrugOOD: Out-of-Distribution Dataset Curator and Benchmark for AI-aided Drug Discovery",
2022; subsets ``lbap_core_<measure>_<domain>``. The published numbers are for IC50; EC50 is another,
smaller measurement, and its numbers are not comparable. A file is one JSON object whose ``split``
has lists ``train``, ``ood_val``, ``ood_test``, ``iid_val`` and ``iid_test`` of molecules with
``smiles``, ``cls_label`` and ``domain_id``; it may be packed with gzip.

In-distribution oracle (``iid``): the papers do not define theirs; here the same training molecules
with ``iid_val`` for selection and ``iid_test`` for test.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch

from gsina.datasets.raw.compressed_files import read_gzip
from gsina.datasets.raw.sources import (
    OnProgress,
    RawFile,
    at_hand,
    checksum_notes,
    names_checksum,
    raw_file,
)
from gsina.errors import InputError
from gsina.files import parse_json
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.molecules.drugood import FEATURES_VERSION, pack_drugs

Measure = Literal["ec50", "ic50"]
Domain = Literal["assay", "scaffold", "size"]

VERSION = 1
SPLITS = {
    "train": "train",
    "val": "ood_val",
    "test": "ood_test",
    "id_val": "iid_val",
    "id_test": "iid_test",
}
#: Molecules in train, OOD validation and OOD test.
SIZES: dict[tuple[str, str], tuple[int, int, int]] = {
    ("ec50", "assay"): (4540, 2572, 2490),
    ("ec50", "scaffold"): (2570, 2532, 2533),
    ("ec50", "size"): (4684, 2313, 2398),
    ("ic50", "assay"): (34_179, 19_028, 19_032),
    ("ic50", "scaffold"): (21_519, 19_041, 19_048),
    ("ic50", "size"): (36_597, 17_660, 16_415),
}


def raw(measure: str, domain: str) -> RawFile:
    """The file of a subset, the packed one if only that exists; it is put in place by hand."""
    plain, packed = (
        RawFile(f"drugood/lbap_core_{measure}_{domain}.json{end}") for end in ("", ".gz")
    )
    return packed if at_hand(packed) else plain


def load(
    measure: Measure, domain: Domain, iid: bool = False, progress: OnProgress | None = None
) -> Dataset:
    """Load a subset; ``environment`` is the domain id of the file.

    Args:
        measure: ``ec50`` or ``ic50``.
        domain: ``assay``, ``scaffold`` or ``size``.
        iid: Select and test on molecules of the training domains.
        progress: Called while molecules are read.
    """
    name = f"drugood-{measure}-{domain}"

    def make() -> Dataset:
        file = raw(measure, domain)
        with names_checksum(file):
            rows = read_rows(raw_file(file))
        splits, notes = {}, [f"measured is {measure.upper()}", *checksum_notes(file)]
        for split, key in SPLITS.items():
            splits[split], failures = _graphs(rows[key], progress)
            if failures:
                notes.append(
                    f"{failures} of {len(rows[key])} molecules of {key} could not be read and are "
                    "left out"
                )
        return Dataset(name, Task("multiclass", 2, "roc_auc"), splits, tuple(notes))

    dataset = cached(f"{name}-v{VERSION}.{FEATURES_VERSION}", make)
    parts = dataset.splits
    if iid:
        inside = {"train": parts["train"], "val": parts["id_val"], "test": parts["id_test"]}
        return replace(dataset, splits=inside)
    return dataset


def read_rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The molecules of every split of a file.

    Raises:
        InputError: If the file is not a DrugOOD file.
    """
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    try:
        splits = parse_json(read_gzip(path) if packed else path.read_bytes())["split"]
        rows = {key: list(splits[key]) for key in SPLITS.values()}
        for row in (row for part in rows.values() for row in part):
            if row["cls_label"] not in (0, 1) or not isinstance(row["smiles"], str):
                raise InputError(f"a row is {str(row)[:100]}")
            int(row["domain_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a complete DrugOOD file ({type(error).__name__}: {error}); expected a "
            "JSON object with lists of molecules in its splits: fetch it again."
        ) from error
    return rows


def _graphs(rows: list[dict[str, Any]], progress: OnProgress | None) -> tuple[PackedGraphs, int]:
    """Graphs with labels and environments, and the number of rows that could not be read."""
    molecules = pack_drugs([row["smiles"] for row in rows], progress=progress)
    kept = [rows[number] for number in molecules.kept]
    graphs = replace(
        molecules.graphs,
        y=torch.tensor([int(row["cls_label"]) for row in kept], dtype=torch.long),
        environment=torch.tensor([int(row["domain_id"]) for row in kept], dtype=torch.long),
    )
    return graphs, len(molecules.failures)
