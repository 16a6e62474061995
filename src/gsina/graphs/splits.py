"""Dividing a user's rows into train, val and test, so that the test is out of distribution.

Rules: ``random`` (stratified), ``scaffold`` and ``column`` (whole groups are held out, the smallest
ones), ``size`` and ``time`` (the last in an order are held out), ``own`` (a column says which).
A split that leaves validation or training without a class is repaired, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError, check_name
from gsina.graphs.folds import Fold, fold_parts
from gsina.graphs.labels import FEWEST_TO_JUDGE, Labels
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_rules import (
    SHARES,
    Filled,
    Ids,
    Parts,
    at_random,
    by_groups,
    by_marks,
    by_order,
    draw,
    filled,
    times,
)

RULES = ("scaffold", "random", "size", "column", "time", "own")
#: Rules that read a column of the file.
BY_COLUMN = ("column", "time", "own")
ID_SHARE = 0.1
FEWEST = 3
#: Training rows below which none are given away for ``id_test``.
FEWEST_FOR_ID = 5


@dataclass(frozen=True)
class Split:
    """Rows of every split.

    Attributes:
        parts: Indices of rows by split, ascending.
        warnings: What was repaired and why.
        source: Rule asked for, rule used, seed and sizes; JSON-able.
        environment: Group of every row as a number ``[rows]``, in the order of their names; only
            of the rule ``column``.
    """

    parts: Parts
    warnings: tuple[str, ...]
    source: dict[str, Any]
    environment: Ids | None = None


def check_rule(rule: str, column: str | None, rules: Sequence[str] = RULES) -> None:
    """Raise if a rule is not known or does not fit the column given with it."""
    check_name(rule, rules, "rule of the split")
    if rule in BY_COLUMN and column is None:
        raise InputError(f"the split {rule!r} needs a column; name it as split_column.")
    if rule not in BY_COLUMN and column is not None:
        raise InputError(
            f"the split {rule!r} does not use the column {column!r}; choose the split column, "
            "time or own, or leave the column out."
        )


def divide(
    rule: str,
    labels: Labels,
    rows: Sequence[int],
    *,
    graphs: PackedGraphs,
    groups: Sequence[str] = (),
    column: str | None,
    cells: Sequence[str],
    seed: int,
    file: str = "",
    fold: Fold | None = None,
) -> Split:
    """Split graphs by any rule.

    Args:
        rule: Name of the rule.
        labels: Labels of the graphs.
        rows: Row numbers, for messages.
        graphs: The graphs, for their sizes.
        groups: Scaffold of every graph.
        column: Name of the split column.
        cells: Its text, one per graph.
        seed: Seed of all draws.
        file: Name of the file, for messages.
        fold: Which fold to test; ``None`` for the one test of the rule.
    """
    if rule in BY_COLUMN:
        there = filled(cells, rows, str(column), "rows", file)
        return _by_column(rule, labels, there, column, seed, file, fold)
    if fold is not None:
        parts: Parts | None = fold_parts(fold, labels, seed, groups if rule == "scaffold" else None)
    elif rule == "scaffold":
        parts = by_groups(groups)
    elif rule == "size":
        parts = by_order(graphs.node_ptr.diff().double().numpy()) if len(rows) > 2 else None
    else:
        parts = at_random(labels, seed)
    return finish(parts, labels, rule=rule, column=column, seed=seed, fold=fold)


def _by_column(
    rule: str,
    labels: Labels,
    there: Filled,
    column: str | None,
    seed: int,
    file: str,
    fold: Fold | None,
) -> Split:
    """Split the rows that have something in the column; the others are in no split."""
    environment = None
    cells, rows, name = there.cells, there.rows, str(column)
    parts: Parts | None
    if rule == "column":
        named = [cell.strip() for cell in cells]
        codes = np.unique(named, return_inverse=True)[1]
        environment = np.full(len(labels.y), codes.max() + 1)
        environment[there.ids] = codes
        parts = fold_parts(fold, labels, seed, named) if fold else by_groups(named)
        if parts is None:
            raise InputError(
                f"column {column!r} has one value only, {cells[0]!r}; expected at least two "
                "groups: choose another column or split."
            )
    elif rule == "time":
        keys = times(cells, rows, name, file)
        parts = by_order(keys) if len(rows) > 2 else None
    else:
        parts = by_marks(cells, rows, name, file)
    split = finish(there.place(parts), labels, rule=rule, column=column, seed=seed, fold=fold)
    warnings = split.warnings + (there.notes if split.source["used"] == rule else ())
    return replace(split, environment=environment, warnings=warnings)


def finish(
    parts: Parts | None,
    labels: Labels,
    *,
    rule: str,
    column: str | None = None,
    seed: int = 0,
    shares: tuple[float, float] = SHARES,
    needed: Sequence[str] = ("train", "test"),
    fold: Fold | None = None,
) -> Split:
    """Mend a split where a class is left out, and hold out ``id_test``.

    Args:
        parts: What a rule made of the rows; ``None`` if it could make nothing of them.
        labels: Labels of all rows.
        rule: Name of the rule.
        column: The column that it read.
        seed: Seed of all draws.
        shares: Shares of train and val.
        needed: Sides that must have rows.
        fold: Which fold is tested, if one is.
    """
    count = len(labels.y)
    if count < FEWEST:
        raise InputError(f"{count} rows are too few to split; expected at least {FEWEST}.")
    notes: list[str] = []
    used = rule
    why = "it has one group only" if parts is None else _no_training(parts, labels, needed)
    if why and fold is not None:
        raise InputError(
            f"{fold} by {rule!r} cannot be used: {why}; take fewer folds, or another split."
        )
    if parts is None or why:
        if rule in ("own", "random"):
            raise InputError(f"the split {rule!r} cannot be used: {why}; choose another.")
        notes.append(
            f"the split {rule!r} could not be made ({why}), so rows are split at random and the "
            "test is not out of distribution."
        )
        parts, used = at_random(labels, seed, shares), "random"
    if used != "random" and (why := _no_validation(parts, labels, rule)):
        pool = np.union1d(parts["train"], parts["val"])
        generator = np.random.default_rng(seed)
        val = draw(labels, pool, shares[1] / sum(shares), generator, keep=1)
        parts = parts | {"train": np.setdiff1d(pool, val), "val": val}
        notes.append(
            f"the split {rule!r} leaves validation {why}, so validation is drawn at random from "
            "the training side; the test stays as it is."
        )
    if used not in ("random", "own") and len(parts["train"]) >= FEWEST_FOR_ID:
        held = draw(labels, parts["train"], ID_SHARE, np.random.default_rng(seed + 1), keep=1)
        parts = parts | {"train": np.setdiff1d(parts["train"], held), "id_test": held}
    parts = {name: ids for name, ids in parts.items() if len(ids)}
    _check_training(parts["train"], labels)
    notes += _gaps(parts, labels) + _too_few(parts, labels)
    sizes = {name: len(ids) for name, ids in parts.items()}
    source: dict[str, Any] = {"rule": rule, "used": used, "column": column, "seed": seed}
    source |= {"sizes": sizes} | ({"fold": list(fold)} if fold else {})
    return Split(parts, tuple(notes), source)


def _classes(labels: Labels, ids: Ids) -> list[set[int]]:
    """Classes that occur among rows, target by target."""
    return [set(np.unique(column).tolist()) for column in _known(labels, ids)]


def _no_training(parts: Parts, labels: Labels, needed: Sequence[str]) -> str:
    """Why a split cannot be trained on, ``""`` if it can."""
    if empty := [name for name in needed if not len(parts[name])]:
        return f"{empty[0]} has no rows"
    found = _classes(labels, np.union1d(parts["train"], parts["val"]))
    if not any(found):
        return "no training row has a label"
    if labels.task.kind != "regression" and all(len(values) < 2 for values in found):
        only = _named(labels, found[0]) if len(found) == 1 else "one class in every target"
        return f"the training side has {only} only"
    return ""


def _check_training(ids: Ids, labels: Labels) -> None:
    """Refuse training rows of a single class of a single target, by its name."""
    found = _classes(labels, ids)
    if labels.task.kind == "regression" or len(found) != 1 or len(found[0]) != 1:
        return
    count, what = int(labels.known[ids].sum()), f"{labels.task.level}s"
    raise InputError(
        f"all {count} training {what} with a label are of {_named(labels, found[0])}; expected at "
        f"least two classes: divide the {what} in another way, or add {what} of other classes."
    )


def _no_validation(parts: Parts, labels: Labels, rule: str) -> str:
    """Why validation cannot judge though it could if drawn anew, ``""`` if it can."""
    there = _classes(labels, parts["val"])
    if not any(there):
        return "without a labelled row"
    if labels.task.kind == "regression":
        return ""
    if len(there) > 1:  # ROC-AUC skips the targets with one class; one with two is needed.
        return "" if any(len(values) > 1 for values in there) else "with one class in every target"
    pool = labels.strata[np.union1d(parts["train"], parts["val"]), 0]
    values, counts = np.unique(pool[pool >= 0], return_counts=True)
    lost = set(values[counts > 1].tolist()) - there[0]
    if rule == "own" and len(there[0]) > 1:
        return ""  # Not perfect, but it is the user's wish and it can judge.
    return f"without {_named(labels, lost)}" if lost else ""


def _gaps(parts: Parts, labels: Labels) -> list[str]:
    """Sentences about classes that a split still does not have."""
    if labels.task.kind == "regression":
        return []
    notes = []
    every = _classes(labels, np.arange(len(labels.y)))
    for name, ids in parts.items():
        there = _classes(labels, ids)
        if len(every) == 1:
            if lost := every[0] - there[0]:
                notes.append(f"the split {name} has no row of {_named(labels, lost)}.")
        elif short := [
            target
            for target, values in zip(labels.target_names, there, strict=True)
            if len(values) < 2
        ]:
            notes.append(
                f"the split {name} has one class only in {len(short)} of {len(every)} targets "
                f"({', '.join(short[:5])}), which do not count in its ROC-AUC."
            )
    return notes


def _too_few(parts: Parts, labels: Labels) -> list[str]:
    """One sentence if splits have too few labels, or too few of a class, to judge a model by."""
    found = []
    for name, ids in ((name, parts[name]) for name in ("val", "test") if name in parts):
        columns = [np.unique(column, return_counts=True) for column in _known(labels, ids)]
        few = [bool(len(counts)) and counts.min() < FEWEST_TO_JUDGE for _, counts in columns]
        if len(few) > 1 and any(few):
            short = [target for target, one in zip(labels.target_names, few, strict=True) if one]
            found.append(f"{name} in {len(short)} of {len(few)} targets ({', '.join(short[:5])})")
        elif few[0]:
            classes, counts = columns[0]
            least = int(counts.argmin())
            numbers = labels.task.kind == "regression"
            of = "" if numbers else f" of {_named(labels, {int(classes[least])})}"
            found.append(f"{name} has {counts[least]}{of}")
    what = "labels" if labels.task.kind == "regression" else "labels of a class"
    return [
        f"fewer than {FEWEST_TO_JUDGE} {what} are too few to judge by, so scores there are mostly "
        f"chance: {', '.join(found)}."
    ] * bool(found)


def _known(labels: Labels, ids: Ids) -> list[NDArray[np.int64]]:
    """Classes of the rows with a label, target by target."""
    return [column[column >= 0] for column in labels.strata[ids].T]


def _named(labels: Labels, classes: set[int]) -> str:
    names = [repr(labels.class_names[index]) for index in sorted(classes)]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ("class " if len(names) == 1 else "classes ") + ", ".join(names[:5]) + more
