"""How often conformal sets and intervals hold the truth, on test rows like and unlike the others.

Every set of data is divided at random, by scaffold and by size, a model is trained as ``gsina
train`` would, with fewer epochs, and what is promised on validation rows is counted on test rows:
as it stands, and corrected for the shift (``gsina predict --shift``). A seed draws the split, where
it is drawn, and seeds the training. The promise does not depend on how good the model is; how large
sets and intervals are does.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gsina.datasets.drugood import raw, read_rows
from gsina.datasets.ogbg import MAPPING, SOURCES
from gsina.datasets.raw.sources import RawFile, at_hand, raw_file
from gsina.datasets.tu import tu_file
from gsina.errors import InputError, MissingFileError
from gsina.files import save_json, save_text
from gsina.formats.table import header
from gsina.models.uncertainty.answers import COVERAGE
from gsina.models.uncertainty.coverage import measure_coverage
from gsina.runs.defaults import file_recipe
from gsina.runs.provenance import provenance
from gsina.runs.recipe import Recipe
from gsina.runs.run import run

EPOCHS = 8
SEEDS = (0, 1, 2)
#: Rows of the table of numbers, evenly spread over the file.
NUMBERS = 2000
MOLECULE_SPLITS, GRAPH_SPLITS = ("random", "scaffold", "size"), ("random", "size")

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Source:
    """One set of data.

    Attributes:
        label: Its name in the table.
        splits: The rules that divide it.
        file: What must be at hand.
        kind: ``molecules``, ``tu``, or ``numbers`` for the table that is made of DrugOOD.
    """

    label: str
    splits: tuple[str, ...]
    file: RawFile
    kind: str


def _ogbg(name: str, label: str) -> Source:
    return Source(label, MOLECULE_SPLITS, SOURCES[f"ogbg-mol{name}"].file(MAPPING), "molecules")


def sources() -> dict[str, Source]:
    """All sets of data by name."""
    return {
        "bace": _ogbg("bace", "BACE"),
        "bbbp": _ogbg("bbbp", "BBBP"),
        "clintox": _ogbg("clintox", "ClinTox (2 targets)"),
        "sider": _ogbg("sider", "SIDER (27 targets)"),
        "tox21": _ogbg("tox21", "Tox21 (12 targets)"),
        "ec50": Source(
            f"EC50 (numbers, {NUMBERS:,} rows)", MOLECULE_SPLITS, raw("ec50", "assay"), "numbers"
        ),
        "proteins": Source("PROTEINS", GRAPH_SPLITS, tu_file("PROTEINS"), "tu"),
        "nci1": Source("NCI1", GRAPH_SPLITS, tu_file("NCI1"), "tu"),
    }


def measure(
    seeds: Sequence[int],
    results: Path,
    *,
    only: Sequence[str] = (),
    tell: Tell = lambda line: None,
) -> dict[str, Any]:
    """Measure all sets, splits and seeds; the content of the result file.

    Args:
        seeds: Of the splits and of the training.
        results: Folder of results, where all that is known is kept after every training; rows
            that are there, of the same recipe and seed, are not measured again.
        only: Names of sets; by default all that are at hand.
        tell: Called with a line about every training, and about data that are missing.

    Raises:
        MissingFileError: No data are there.
    """
    known = sources()
    for name in only:
        if name not in known:
            raise InputError(f"there is no set {name!r}; known: {', '.join(known)}.")
    rows: list[dict[str, Any]] = []
    with contextlib.suppress(MissingFileError):
        rows = read_coverage(results)["rows"]
    for name, source in known.items():
        if only and name not in only:
            continue
        if not at_hand(source.file):
            tell(f"left out, no data of {source.label}.")
            continue
        with _table(source) as file:
            for split, seed in ((split, seed) for split in source.splits for seed in seeds):
                recipe = _recipe(source, file, split, seed)
                kept = shown(recipe)
                at = [
                    place
                    for place, row in enumerate(rows)
                    if (row["data"], row["split"], row["seed"]) == (name, split, seed)
                ]
                if any(rows[place]["recipe"] == kept for place in at):
                    continue
                row: dict[str, Any] = {"data": name, "split": split, "seed": seed, "recipe": kept}
                row |= measure_one(recipe, seed)
                rows = [old for place, old in enumerate(rows) if place not in at] + [row]
                save_coverage(results, {"benchmark": "coverage", "rows": rows})
                tell(
                    f"{source.label}, {split}, seed {seed}: {row['plain']['found']:.3f} of "
                    f"{row['plain']['labels']:,} labels, with --shift {row['shift']['found']:.3f}"
                )
    if not rows:
        raise MissingFileError("no data of the coverage measurement are there; see gsina datasets.")
    return {"benchmark": "coverage", "rows": rows}


def measure_one(recipe: Recipe, seed: int, coverage: float = COVERAGE) -> dict[str, Any]:
    """Train once and count on test rows: as it stands (``plain``) and corrected (``shift``)."""
    trained = run(recipe, seed, report=False)
    model, dataset = trained.model, trained.dataset
    assert model.reference is not None
    found = {
        name: asdict(measure_coverage(model, dataset.test, coverage, shift=shift))
        for name, shift in (("plain", False), ("shift", True))
    }
    for one in found.values():
        one["size"] = None if math.isinf(one["size"]) else one["size"]  # JSON knows no infinity
    return {
        "kind": model.task.kind,
        "validation_rows": len(model.reference.scores),
        "metric": model.task.metric,
        "score": model.metrics["test"][model.task.metric],
        **found,
        **provenance(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@contextlib.contextmanager
def _table(source: Source) -> Iterator[str]:
    """The file of a set, or its name in the TU collection; that of numbers is made for now."""
    if source.kind == "tu":
        yield Path(source.file.path).stem
        return
    path = raw_file(source.file)
    if source.kind == "molecules":
        yield str(path)
        return
    splits = read_rows(path)
    rows = {row["smiles"]: row["reg_label"] for part in splits.values() for row in part}
    step = max(1, len(rows) / NUMBERS)
    chosen = [round(step * place) for place in range(min(NUMBERS, len(rows)))]
    every = sorted(rows.items())
    with TemporaryDirectory() as folder:
        text = io.StringIO()
        csv.writer(text).writerows([("smiles", "pEC50"), *(every[place] for place in chosen)])
        save_text(Path(folder) / "ec50.csv", text.getvalue())
        yield str(Path(folder) / "ec50.csv")


def _recipe(source: Source, file: str, split: str, seed: int) -> Recipe:
    reading: dict[str, Any] = {"split": split, "seed": seed}
    if source.kind == "tu":
        return file_recipe("tu", (file,), reading, epochs=EPOCHS)
    targets = [name for name in header(file) if name not in ("smiles", "mol_id")]
    reading |= {"smiles": "smiles", "targets": targets}
    if source.kind == "numbers":
        reading["kind"] = "regression"
    return file_recipe("molecules", (file,), reading, epochs=EPOCHS)


def shown(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON, its files by their names alone."""
    values: dict[str, Any] = json.loads(json.dumps(recipe.essential()))
    values["data"]["files"] = [Path(file).name for file in values["data"]["files"]]
    return values


def coverage_file(results: Path) -> Path:
    """Where the measurement is kept: ``bench/coverage.json`` in the folder of results."""
    return results / "bench" / "coverage.json"


def save_coverage(results: Path, content: dict[str, Any]) -> Path:
    """Write what was measured so far."""
    save_json(coverage_file(results), content)
    return coverage_file(results)


def read_coverage(results: Path) -> dict[str, Any]:
    """Read a measurement.

    Raises:
        MissingFileError: Nothing has been measured.
        InputError: The file is not one of a measurement.
    """
    path = coverage_file(results)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFileError(f"there is no {path}; measure with: gsina bench coverage.") from None
    except ValueError as error:
        raise InputError(f"{path} is broken ({error}); measure again.") from error
    if not isinstance(content, dict) or not content.get("rows"):
        raise InputError(f"{path} is broken (it has no rows); measure again.")
    return content
