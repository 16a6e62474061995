"""Runs of one recipe that differ by their seeds, or by the fold that is tested.

A folder of repeats has the recipe of all (``recipe.toml``), which repeats there are (``run.json``),
a complete run in each of ``seed-0`` ... or ``fold-0`` ..., and at the end means and spreads in
``result.json``; of folds also ``predictions.csv``, where every row is predicted by the model that
has not seen it.
"""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from gsina.errors import InputError
from gsina.files import load_text, parse_json, save_json, save_text
from gsina.formats import FORMATS
from gsina.graphs.cells import inert
from gsina.graphs.dataset import Dataset
from gsina.graphs.folds import Fold
from gsina.models.answers import (
    REASON,
    answer_names,
    answers,
    class_names,
    free_names,
    number_text,
    target_names,
)
from gsina.models.model import Model
from gsina.runs.data import FileData
from gsina.runs.folder import MOST_FOLDS, repeat_names
from gsina.runs.names import PREDICTIONS, RESULT, UNREADABLE
from gsina.runs.options import signature_of
from gsina.runs.recipe import Recipe


class Repeat(NamedTuple):
    """One of several runs: the name of its folder, its recipe and its seed."""

    name: str
    recipe: Recipe
    seed: int

    def result(self, out: Path) -> dict[str, Any] | None:
        """The result of this very run in a folder of repeats, ``None`` if it is not finished."""
        try:
            found: dict[str, Any] = parse_json(load_text(out / self.name / RESULT))
            same = self.recipe.same(Recipe.parse(found["recipe"])) and found["seed"] == self.seed
        except (OSError, ValueError, KeyError, TypeError):
            return None
        tested = isinstance(self.recipe.data, FileData) and "fold" in self.recipe.data.options
        whole = not tested or (out / self.name / PREDICTIONS).is_file()
        return found if same and whole else None


@dataclass(frozen=True)
class Repeats:
    """Which runs to make of a recipe.

    Attributes:
        seeds: Seeds of the training; or
        folds: the number of folds of the data.
    """

    seeds: tuple[int, ...] = ()
    folds: int | None = None

    def __post_init__(self) -> None:
        if bool(self.seeds) == (self.folds is not None):
            raise InputError("give either --seeds or --folds: runs are repeated in one way.")
        if self.folds is None and len(set(self.seeds)) < max(2, len(self.seeds)):
            raise InputError(
                f"--seeds needs two or more different seeds, got {list(self.seeds)}; use --seed "
                "for one."
            )
        if self.folds is not None and not 2 <= self.folds <= MOST_FOLDS:
            raise InputError(f"--folds must be 2 to {MOST_FOLDS:,}, got {self.folds}.")

    @classmethod
    def of(cls, noted: dict[str, Any]) -> Self | None:
        """The inverse of :meth:`noted`; ``None`` of nothing."""
        return cls(tuple(noted["seeds"]), noted["folds"]) if noted else None

    def noted(self) -> dict[str, Any]:
        """What ``run.json`` says of them."""
        return {"seeds": list(self.seeds), "folds": self.folds}

    def runs(self, recipe: Recipe, seed: int) -> list[Repeat]:
        """The runs, in order.

        Raises:
            InputError: The data cannot be divided into folds.
        """
        names = repeat_names(self.noted())
        if self.folds is None:
            return [Repeat(name, recipe, one) for name, one in zip(names, self.seeds, strict=True)]
        return [
            Repeat(name, _with_fold(recipe, number, self.folds), seed)
            for number, name in enumerate(names)
        ]


def _with_fold(recipe: Recipe, number: int, of: int) -> Recipe:
    data = recipe.data
    if not isinstance(data, FileData):
        raise InputError(
            f"{data.name} has a test split of its own, so there are no folds of it; repeat the run "
            "with --seeds."
        )
    reader = signature_of(FORMATS[data.format].read)[0]
    if "fold" not in reader:
        raise InputError(
            "the masks of a file of tensors say which nodes are the test, so there are no folds of "
            "it; repeat the run with --seeds."
        )
    if "split" in reader:  # before a file is read
        Fold.check((number, of), str(data.options.get("split", reader["split"].default)))
    values = recipe.model_dump()
    values["data"]["options"] = data.options | {"fold": [number, of]}
    return Recipe.parse(values)


def summarise(
    recipe: Recipe, repeats: Repeats, runs: Sequence[Repeat], results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Means and standard deviations of every metric of every split over finished runs.

    A metric that is not defined in a run, such as ROC-AUC of a test with one class, does not count
    there, and a note says so.

    Args:
        recipe: The recipe of all runs.
        repeats: What was repeated.
        runs: The runs.
        results: Their results.
    """
    splits = list(dict.fromkeys(split for one in results for split in one["metrics"]))
    mean: dict[str, dict[str, float]] = {}
    spread: dict[str, dict[str, float]] = {}
    notes = []
    for split in splits:
        rows = [one["metrics"].get(split, {}) for one in results]
        mean[split], spread[split] = {}, {}
        for name in dict.fromkeys(name for row in rows for name in row):
            there = [_known(row.get(name)) for row in rows]
            values = [value for value in there if value is not None]
            mean[split][name] = statistics.fmean(values) if values else math.nan
            spread[split][name] = statistics.stdev(values) if len(values) > 1 else math.nan
            if lost := [run.name for run, value in zip(runs, there, strict=True) if value is None]:
                notes.append(
                    f"{name} of {split} is not defined in {', '.join(lost)} (one class only, or no "
                    "labels there), so its mean is that of the others."
                )
    return {
        "recipe": recipe.model_dump(),
        "seeds": list(repeats.seeds),
        "folds": repeats.folds,
        "metric": results[0]["metric"],
        "shifted": results[0]["shifted"],
        "metrics": mean,
        "spread": spread,
        "runs": [
            {
                "name": run.name,
                "seed": run.seed,
                "metrics": result["metrics"],
                "hardware": result.get("hardware", {}),
            }
            for run, result in zip(runs, results, strict=True)
        ],
        "notes": notes,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def write_summary(out: Path, summary: dict[str, Any]) -> None:
    """Write the result of repeats, and of folds all predictions as one table, by row."""
    if summary["folds"]:
        tables = [_read_table(out / run["name"] / PREDICTIONS) for run in summary["runs"]]
        header, rows = tables[0][0], [row for _, rows in tables for row in rows]
        if (out / UNREADABLE).is_file() and header[-1].endswith(REASON):  # not in older folders
            empty = [""] * (len(header) - 2)
            rows += [[row, *empty, reason] for row, reason in _read_table(out / UNREADABLE)[1]]
        _write_table(out / PREDICTIONS, header, sorted(rows, key=lambda row: int(row[0])))
    save_json(out / RESULT, summary)


def write_test_predictions(path: Path, model: Model, dataset: Dataset) -> None:
    """Write the test rows of a fold: row and name in the file, fold, labels and predictions.

    The last column, a reason, is filled for rows that could not be read, which no fold has.
    """
    graphs = dataset.splits["test"]
    found, y = model.predict(graphs).logits, graphs.labels(model.task.level)
    assert y is not None
    if model.task.level == "node" and graphs.mask is not None:
        found, y = found[graphs.mask], y[graphs.mask]
    targets = target_names(model)[: 1 if model.task.kind == "multiclass" else None]
    header = ["row", "name", "fold", *free_names(targets, ["row", "name", "fold"])]
    header += free_names([*answer_names(model), REASON], header)
    origin, fold = dataset.origin, dataset.origin.split["fold"][0]
    labels = [[_label(model, value) for value in row] for row in y.view(len(found), -1).tolist()]
    rows = [
        [str(row), str(name), str(fold), *truth, *answer, ""]
        for row, name, truth, answer in zip(
            origin.rows["test"], origin.names["test"], labels, answers(model, found), strict=True
        )
    ]
    _write_table(path, header, rows)


def _label(model: Model, value: float) -> str:
    """A label as the user's file has it; empty if it is missing."""
    task = model.task
    if math.isnan(value) or (task.kind == "multiclass" and value < 0):
        return ""
    if task.kind == "regression":
        return number_text(value)
    named = task.kind == "multiclass" or task.outputs == 1
    return class_names(model)[int(value)] if named else str(int(value))


def _write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(inert, row) for row in [header, *rows])
    save_text(path, text.getvalue())


def _read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows
