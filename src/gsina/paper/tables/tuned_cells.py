"""The same small tuning budget for every method: three values of one setting, chosen on validation.

A tuned cell has *trials*: recipes that are run once each, with seed 0. When all are done, the one
with the best validation metric (of equal ones the first, which has the published value) decides the
recipe that all seeds of the cell are run with; the trial is then its seed 0. Test data play no part
in that, and every trial is a result file like any other, so the choice can be checked. A trial may
stand for other cells too: what is chosen then is how many steps to go from the cell's own value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gsina.files import save_json
from gsina.methods import make_config
from gsina.metrics import METRICS
from gsina.paper.grid.results import Results, metric_of
from gsina.paper.tables.table import TRIAL_SEED, Cell, Table
from gsina.runs.job import Job
from gsina.runs.recipe import Recipe


@dataclass(frozen=True)
class Knob:
    """The setting of a method that is tuned, and how far the values beside the recipe's own are.

    Attributes:
        name: Its name; an option of the method, or ``learning_rate``.
        how: ``times`` and divided by ``step``, or ``plus`` and minus it.
        step: How far the other two values are.
        least: Smallest value that is tried.
        most: Largest.
    """

    name: str
    how: Literal["times", "plus"]
    step: float
    least: float = 0.0
    most: float = math.inf

    def move(self, centre: float, steps: int) -> float:
        """The value some steps from another, or the end of the range if that is nearer."""
        if steps == 0:
            return centre
        value = centre * self.step**steps if self.how == "times" else centre + steps * self.step
        least, most = min(self.least, centre), max(self.most, centre)
        return float(f"{min(max(value, least), most):.6g}")

    def steps(self, centre: float) -> tuple[int, int, int]:
        """None, one down and one up; two to the other side if the centre is at an end."""
        if self.move(centre, 1) == centre:
            return 0, -2, -1
        return (0, 1, 2) if self.move(centre, -1) == centre else (0, -1, 1)


_PENALTY = Knob("penalty", "times", 10.0)
_RATIO = Knob("ratio", "plus", 0.15, 0.05, 0.95)
_CONTRAST = Knob("contrast", "times", 2.0, 0.5, 32.0)
#: The main coefficient of every method; the plain network has only its learning rate.
KNOBS: dict[str, Knob] = {
    "erm": Knob("learning_rate", "times", 3.0),
    "irm": _PENALTY,
    "vrex": _PENALTY,
    "eiil": _PENALTY,
    "ib-irm": _PENALTY,
    "cnc": replace(_CONTRAST, step=8.0),  # no value is published: both ends of CIGA's range
    "asap": _RATIO,
    "gib": Knob("information", "times", 3.0),
    "dir": Knob("alpha", "times", 10.0),
    "cigav1": _CONTRAST,
    "cigav2": _CONTRAST,
    "sugar": Knob("diversity", "times", 10.0),
    "igm": Knob("environment_mixup", "times", 5.0, 0.1, 1.0),
    "gsat": Knob("information", "times", 10.0, 0.01, 1.0),  # what its authors tried
    "gsina": _RATIO,
}
#: Where the contrast was searched in a smaller range than that of Spurious-Motif and DrugOOD.
CONTRASTS = dict.fromkeys(("nci1", "nci109", "proteins", "dd"), (0.5, 2.0)) | dict.fromkeys(
    ("graph-sst5", "graph-twitter", "sst5-text", "twitter-text"), (1.0, 8.0)
)


def knob_of(recipe: Recipe) -> Knob:
    """The knob of a recipe's method, in the range for its data."""
    knob = KNOBS[recipe.method.name]
    if knob.name != _CONTRAST.name:
        return knob
    least, most = CONTRASTS.get(recipe.data.name, (knob.least, knob.most))
    return replace(knob, least=least, most=most)


def candidates(recipe: Recipe, steps: tuple[int, ...] | None = None) -> tuple[Recipe, ...]:
    """The recipe with other values of its method's knob: first its own, then two beside it.

    Args:
        recipe: The recipe.
        steps: How many steps every value is from the recipe's own; by default those of its knob.
    """
    knob, centre = knob_of(recipe), value_of(recipe)
    values = [knob.move(centre, step) for step in steps or knob.steps(centre)]
    return tuple(recipe if value == centre else _with(recipe, knob, value) for value in values)


def value_of(recipe: Recipe) -> float:
    """The value of the tuned setting in a recipe."""
    knob = KNOBS[recipe.method.name]
    if knob.name == "learning_rate":
        return recipe.optimiser.learning_rate
    return float(getattr(make_config(recipe.method.name, recipe.method.options), knob.name))


def _with(recipe: Recipe, knob: Knob, value: float) -> Recipe:
    values = recipe.model_dump()
    part = "optimiser" if knob.name == "learning_rate" else "method"
    target = values[part] if part == "optimiser" else values[part]["options"]
    target[knob.name] = value
    return Recipe.parse(values)


def with_trials(cell: Cell, at: Recipe | None = None) -> Cell:
    """The cell with trials: of its own recipe, or of the recipe ``at``, for other data."""
    tried = cell.recipe if at is None else at
    steps = knob_of(tried).steps(value_of(tried))
    return replace(cell, trials=candidates(tried, steps), choices=candidates(cell.recipe, steps))


def parts(table: Table) -> list[Table]:
    """The table in parts that can be tuned and run one after the other, in its own order.

    A part is a run of cells of one column; without trials the whole table is one.
    """
    if not any(cell.trials for cell in table.cells):
        return [table]
    groups = itertools.groupby(table.cells, key=lambda cell: cell.column)
    return [replace(table, cells=tuple(cells)) for _, cells in groups]


def resolve(table: Table, results: Results) -> Table:
    """The table with a recipe in every cell whose trials are done, and a note of the choices."""
    cells = tuple(_resolve(cell, results) for cell in table.cells)
    notes = table.notes
    if any(cell.trials for cell in table.cells):
        chosen = _choices(
            new
            for old, new in zip(table.cells, cells, strict=True)
            if old.trials and not new.trials
        )
        waiting = sum(bool(cell.trials) for cell in cells)
        notes = (
            *notes,
            "Tuned: one setting per method, three values, the one with the best validation metric "
            f"of seed {TRIAL_SEED}.",
            *([f"Chosen: {'; '.join(chosen)}."] if chosen else []),
            *([f"Cells whose trials are not done: {waiting}."] if waiting else []),
        )
    return replace(table, cells=cells, notes=notes)


def _choices(cells: Iterable[Cell]) -> list[str]:
    """What was chosen, by method: ``GSINA ratio 0.75 (NCI1), 0.3 (DD)``."""
    places: dict[str, list[str]] = {}
    for cell in cells:
        knob = KNOBS[cell.recipe.method.name].name
        found = places.setdefault(f"{cell.row} {knob}", [])
        found.append(f"{value_of(cell.recipe):g} ({cell.column})")
    return [f"{setting} {', '.join(found)}" for setting, found in places.items()]


def jobs_of(table: Table, results: Results) -> list[Job]:
    """Every job of a table once, as far as it is known: trials, and seeds of what they chose."""
    cells = [*table.cells, *resolve(table, results).cells]
    return list({job.name: job for cell in cells for job in cell.jobs}.values())


def _resolve(cell: Cell, results: Results) -> Cell:
    scores = trial_scores(cell, results)
    if not cell.trials or None in scores:
        return cell
    ranked = [-math.inf if score is None else score for score in scores]
    best = ranked.index(max(ranked))
    return replace(cell, recipe=cell.choices[best], trials=(), choices=())


def trial_scores(cell: Cell, results: Results) -> list[float | None]:
    """Validation metric of every trial, larger is better; ``None`` where it is not run."""
    scores: list[float | None] = []
    for trial in cell.trials:
        job = Job(trial, TRIAL_SEED)
        result = results.load(job)
        if result is not None:
            scores.append(_validation(result))
        else:
            scores.append(-math.inf if results.diverged(job) else None)
    return scores


def _validation(result: dict[str, Any]) -> float:
    """Validation metric at the selected epoch; a metric that is not defined is the worst."""
    metric = metric_of(result)
    value = result["metrics"]["val"][metric]
    if value is None or math.isnan(value):
        return -math.inf
    return float(value) if METRICS[metric].larger_is_better else -float(value)


def describe(recipe: Recipe) -> str:
    """The tuned setting of a recipe in words, such as ``ratio 0.25``."""
    return f"{KNOBS[recipe.method.name].name} {value_of(recipe):g}"


def save_choices(table: Table, results: Results) -> Path | None:
    """Write what was tried and what was chosen beside the results; ``None`` if nothing is tuned."""
    rows = []
    for cell in table.cells:
        scores = trial_scores(cell, results)
        if cell.trials and None not in scores:
            rows.append(
                {
                    "row": cell.row,
                    "column": cell.column,
                    "setting": KNOBS[cell.recipe.method.name].name,
                    "trials": [
                        {
                            "value": value_of(trial),
                            "validation": score,
                            "result": Job(trial, TRIAL_SEED).name,
                        }
                        for trial, score in zip(cell.trials, scores, strict=True)
                    ],
                    # Trials may be of other data: then the chosen value is as many steps away.
                    "candidates": [value_of(choice) for choice in cell.choices],
                    "chosen": value_of(_resolve(cell, results).recipe),
                }
            )
    if not rows:
        return None
    path = results.root / "tuning" / f"{table.name}.json"
    save_json(path, {"table": table.name, "seed": TRIAL_SEED, "cells": rows})
    return path
