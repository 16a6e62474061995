"""What `gsina train FILE` does unasked, beside what people would use instead.

Files are read as a user's would be, with the package's own splits. One run gives six rows: the
default, its network, its boosted trees and its forest alone, ERM with the same network, and the
usual forest; GSAT is trained for itself.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gsina.datasets import drugood
from gsina.datasets.raw.sources import raw_file
from gsina.files import cache_dir, data_dir, save_text
from gsina.molecules.descriptors import USUAL
from gsina.paper.tables.table import FIVE, Cell, Table
from gsina.runs.defaults import file_recipe
from gsina.runs.recipe import Recipe

#: Rows that the run of the default gives, and the names of its baselines.
ROWS: dict[str, str | None] = {
    "default": None,
    "ERM": "erm",
    "boosting on descriptors": "trees",
    "network alone": "network",
}
#: Of molecules the boosting reads the 79 quick ones, and there are forests, too.
MOLECULE_ROWS: dict[str, str | None] = {
    "default": None,
    "ERM": "erm",
    "forest on Morgan": "forest",
    "boosting on quick descriptors": "trees",
    "forest on counts": "counts",
    "network alone": "network",
}
#: The rows that are ranked.
RIVALS = ("default", "ERM", "GSAT", "forest on Morgan", "boosting on descriptors")
#: Molecules of ogbg-molhiv that are taken, at random.
SAMPLE = 4000


class Source(NamedTuple):
    """A file of data.

    Attributes:
        title: Its name in the table.
        file: As recipes name it.
        targets: Columns to predict; none for graphs that bring their labels along.
        shifted: The rule of the split that is not random.
        chosen_on: Whether parts of its training rows have helped to choose the default.
    """

    title: str
    file: str
    targets: tuple[str, ...]
    shifted: str = "scaffold"
    chosen_on: bool = False


def _ogb(title: str, *targets: str, chosen_on: bool = False) -> Source:
    return Source(
        title, f"data:ogb/ogbg_mol{title}/mapping/mol.csv.gz", targets, chosen_on=chosen_on
    )


TOX21 = (
    *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),
    *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),
)
SIDER = (
    "Hepatobiliary disorders",
    "Metabolism and nutrition disorders",
    "Product issues",
    "Eye disorders",
    "Investigations",
    "Musculoskeletal and connective tissue disorders",
    "Gastrointestinal disorders",
    "Social circumstances",
    "Immune system disorders",
    "Reproductive system and breast disorders",
    "Neoplasms benign, malignant and unspecified (incl cysts and polyps)",
    "General disorders and administration site conditions",
    "Endocrine disorders",
    "Surgical and medical procedures",
    "Vascular disorders",
    "Blood and lymphatic system disorders",
    "Skin and subcutaneous tissue disorders",
    "Congenital, familial and genetic disorders",
    "Infections and infestations",
    "Respiratory, thoracic and mediastinal disorders",
    "Psychiatric disorders",
    "Renal and urinary disorders",
    "Pregnancy, puerperium and perinatal conditions",
    "Ear and labyrinth disorders",
    "Cardiac disorders",
    "Nervous system disorders",
    "Injury, poisoning and procedural complications",
)
SOURCES = (
    _ogb("bace", "Class", chosen_on=True),
    _ogb("bbbp", "p_np", chosen_on=True),
    _ogb("clintox", "FDA_APPROVED", "CT_TOX", chosen_on=True),
    _ogb("sider", *SIDER),
    Source("molhiv-sample", "cache:own/molhiv-sample.csv", ("Label",)),
    Source("ec50-scaffold", "cache:own/ec50-scaffold.csv", ("active",), "own"),
    Source("ec50-size", "cache:own/ec50-size.csv", ("active",), "own"),
    Source("proteins", "PROTEINS", (), "size", chosen_on=True),
    Source("nci1", "NCI1", (), "size", chosen_on=True),
    Source("mutagenicity", "Mutagenicity_edge_gt", (), "size", chosen_on=True),
    _ogb("tox21", *TOX21),
    Source("dd", "DD", (), "size"),
    Source("nci109", "NCI109", (), "size"),
)


def own() -> Table:
    """Every file with a shifted and with a random split."""
    cells = [
        cell
        for source in SOURCES
        for split in (source.shifted, "random")
        for cell in _cells(source, split)
    ]
    notes = (
        "The default: GSINA (GIN, width 64, three layers) beside boosted trees on descriptors and, "
        "for molecules, a forest on counts of fingerprints; the mean logit counts. Its trees "
        "read 79 quick descriptors of a molecule; the rival's boosting reads all 217 of RDKit's, "
        "and has no seed, as nothing in it is drawn. Of other graphs both read the same. ERM: the "
        "same network without attention and trees; GSAT is a network alone, too. Epochs are "
        "selected by ROC-AUC for all (`--metric roc_auc`). Settings of the forest and the boosting "
        "are those of common use; all learn from the same rows, and seeds are those of training.",
        f"{', '.join(one.title for one in SOURCES if one.chosen_on)} have helped to choose what "
        "stands beside the network, by training and validation rows alone; the others have not.",
        f"molhiv-sample: {SAMPLE:,} molecules of ogbg-molhiv at random. ec50: DrugOOD's own split.",
    )
    return Table(
        "own",
        "The default on users' files, beside what people would use instead: test ROC-AUC",
        tuple(cells),
        metric="roc_auc",
        notes=notes,
        sample_std=True,
        prepare=prepare,
    )


def _cells(source: Source, split: str) -> list[Cell]:
    column = f"{source.title}, {'random' if split == 'random' else 'shift'}"
    recipe = partial(_recipe, source, split)
    default = recipe()
    rows = MOLECULE_ROWS if source.targets else ROWS
    cells = [Cell(row, column, default, FIVE, baseline=baseline) for row, baseline in rows.items()]
    if source.targets:
        # Only the trees count, so that an epoch is enough for the network beside them.
        all_of_them = recipe(method="erm", features=("rdkit",), trees=True, epochs=1)
        cells.append(Cell("boosting on descriptors", column, all_of_them, (0,), baseline="trees"))
    return [*cells, Cell("GSAT", column, recipe(method="gsat", features=(), trees=False), FIVE)]


def _recipe(
    source: Source,
    split: str,
    features: Sequence[str] = USUAL,
    **settings: Any,
) -> Recipe:
    """What the command makes of a file; of molecules with these features, if there are any."""
    reading: dict[str, Any] = {"split": split}
    if split == "own":
        reading["split_column"] = "split"
    settings |= {"title": source.title}
    if not source.targets:
        return file_recipe("tu", (source.file,), reading, **settings)
    reading |= {"smiles": "smiles", "targets": list(source.targets)}
    if features:
        reading["features"] = list(features)
    return file_recipe("molecules", (source.file,), reading, metric="roc_auc", **settings)


def prepare() -> None:
    """Make the files that are not in the data folder as they are; those without data are left."""
    for name in ("scaffold", "size"):
        file = drugood.raw("ec50", name)
        if file.target.exists():
            _write(f"ec50-{name}", ("smiles", "active", "split"), _drugs(raw_file(file)))
    hiv = data_dir() / "ogb/ogbg_molhiv/mapping/mol.csv.gz"
    if hiv.exists():
        with gzip.open(hiv, "rt", encoding="utf-8", newline="") as text:
            rows = list(csv.DictReader(text))
        taken = np.random.default_rng(0).choice(len(rows), SAMPLE, replace=False)
        pairs = [(rows[i]["smiles"], rows[i]["Label"]) for i in sorted(taken)]
        _write("molhiv-sample", ("smiles", "Label"), pairs)


def _drugs(path: Path) -> list[tuple[str, ...]]:
    parts = {"train": "train", "ood_val": "val", "ood_test": "test"}
    found = drugood.read_rows(path)
    return [
        (row["smiles"], str(row["cls_label"]), split)
        for part, split in parts.items()
        for row in found[part]
    ]


def _write(name: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    path = cache_dir() / "own" / f"{name}.csv"
    if path.exists():
        return
    text = io.StringIO(newline="")
    csv.writer(text).writerows([heads, *rows])
    save_text(path, text.getvalue())
