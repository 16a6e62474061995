"""The same small tuning budget for every method: a few recipes, one chosen on validation data.

A tuned cell has *trials*: recipes that are run once each, with the cell's trial seeds. When all are
done, the one with the best mean validation metric (of equal ones the first) decides the recipe that
all seeds of the cell are run with. Test data play no part in that, and every trial is a result file
like any other, so the choice can be checked. A trial may stand for other cells too: the choice of
the cell with the same place as the best trial is then taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from gsina.files import save_json
from gsina.methods import make_config
from gsina.metrics import METRICS
from gsina.paper.grid.hopeless import stopped_in
from gsina.paper.grid.results import Results, metric_of
from gsina.paper.tables.table import Cell, Table
from gsina.runs.job import Job
from gsina.runs.recipe import Recipe

#: Letters of what was chosen above which columns are left out.
MOST_LETTERS = 300


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
        tuned = [cell for cell in table.cells if cell.trials]
        tried = " or ".join(str(count) for count in sorted({len(cell.trials) for cell in tuned}))
        seeds = " and ".join(
            str(seed) for seed in sorted({seed for cell in tuned for seed in cell.trial_seeds})
        )
        chosen = _choices(
            (old, new)
            for old, new in zip(table.cells, cells, strict=True)
            if old.trials and not new.trials
        )
        waiting = sum(bool(cell.trials) for cell in cells)
        stopped = {
            job.name for cell in tuned for job in cell.jobs if stopped_in(cell, job, results)
        }
        notes = (
            *notes,
            f"Tuned: {tried} trials per method, the one with the best validation metric of seed "
            f"{seeds}.",
            *([f"Chosen: {chosen}."] if chosen else []),
            *([f"Trials stopped half-way: {len(stopped)}."] if stopped else []),
            *([f"Cells whose trials are not done: {waiting}."] if waiting else []),
        )
    return replace(table, cells=cells, notes=notes)


def _choices(cells: Iterable[tuple[Cell, Cell]]) -> str:
    """What was chosen, by method: ``GSINA ratio 0.75 (NCI1), 0.3 (DD)``; long ones in short."""
    places: dict[str, dict[str, list[str]]] = {}
    for tuned, chosen in cells:
        names = varied(tuned)
        values = settings_of(chosen.recipe)
        row = f"{chosen.row} {names[0]}" if len(names) == 1 else chosen.row
        text = (
            _text(values[names[0]])
            if len(names) == 1
            else ", ".join(
                f"{name} {_text(values[name])}" for name in names if values[name] is not None
            )
        )
        places.setdefault(row, {}).setdefault(text, []).append(chosen.column)
    said = {
        row: [f"{text} ({'; '.join(dict.fromkeys(at))})" for text, at in found.items()]
        for row, found in places.items()
    }
    long = sum(len(text) for texts in said.values() for text in texts) > MOST_LETTERS
    return "; ".join(
        f"{row} {' or '.join(places[row]) if long else ', '.join(texts)}"
        for row, texts in said.items()
    )


def settings_of(recipe: Recipe) -> dict[str, Any]:
    """All settings of a recipe by name: of its method, its network and its optimiser."""
    config = make_config(recipe.method.name, recipe.method.options)
    of_method = {one.name: getattr(config, one.name) for one in fields(config)}
    return {**recipe.optimiser.model_dump(), **recipe.backbone.options, **of_method}


def varied(cell: Cell) -> list[str]:
    """Names of the settings in which the candidates of a cell differ."""
    found = [settings_of(recipe) for recipe in cell.choices]
    return [name for name in found[0] if any(one.get(name) != found[0][name] for one in found)]


def describe(recipe: Recipe, names: Sequence[str]) -> str:
    """Settings of a recipe in words, such as ``ratio 0.25``."""
    values = settings_of(recipe)
    return ", ".join(f"{name} {_text(values.get(name))}" for name in names)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


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
    return [_trial_score(cell, trial, results) for trial in cell.trials]


def _trial_score(cell: Cell, trial: Recipe, results: Results) -> float | None:
    """Mean over the seeds; a run that diverged or was stopped is the worst there is."""
    scores = []
    for seed in cell.trial_seeds:
        job = Job(trial, seed)
        if stopped_in(cell, job, results):
            scores.append(-math.inf)
            continue
        result = results.load(job)
        if result is None and not results.diverged(job):
            return None
        scores.append(-math.inf if result is None else _validation(result))
    return sum(scores) / len(scores)


def _validation(result: dict[str, Any]) -> float:
    """Validation metric at the selected epoch; a metric that is not defined is the worst."""
    metric = metric_of(result)
    value = result["metrics"]["val"][metric]
    if value is None or math.isnan(value):
        return -math.inf
    return float(value) if METRICS[metric].larger_is_better else -float(value)


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
                    "setting": ", ".join(varied(cell)),
                    "trials": [
                        {
                            "value": _value(trial, varied(cell)),
                            "validation": score,
                            "result": _result_names(trial, cell.trial_seeds),
                        }
                        | _why_stopped(cell, trial, results)
                        for trial, score in zip(cell.trials, scores, strict=True)
                    ],
                    # Trials may be of other data: then the chosen value is as many steps away.
                    "candidates": [_value(choice, varied(cell)) for choice in cell.choices],
                    "chosen": _value(_resolve(cell, results).recipe, varied(cell)),
                }
            )
    if not rows:
        return None
    seeds = next(cell.trial_seeds for cell in table.cells if cell.trials)
    seed = seeds[0] if len(seeds) == 1 else list(seeds)
    path = results.root / "tuning" / f"{table.name}.json"
    save_json(path, {"table": table.name, "seed": seed, "cells": rows})
    return path


def _value(recipe: Recipe, names: Sequence[str]) -> Any:
    """The tuned setting of a recipe, or several by name."""
    values = settings_of(recipe)
    found = {name: values.get(name) for name in names}
    return found[names[0]] if len(names) == 1 else found


def _why_stopped(cell: Cell, trial: Recipe, results: Results) -> dict[str, str]:
    """What is said of a trial that was stopped."""
    found = [stopped_in(cell, Job(trial, seed), results) for seed in cell.trial_seeds]
    return {"stopped": found[0]} if found[0] else {}


def _result_names(trial: Recipe, seeds: Sequence[int]) -> str | list[str]:
    """The names of a trial's results; of one seed just that."""
    names = [Job(trial, seed).name for seed in seeds]
    return names[0] if len(names) == 1 else names
