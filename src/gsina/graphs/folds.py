"""Folds: rows divided so that each is in the test of one fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gsina.errors import InputError
from gsina.graphs.labels import Labels
from gsina.graphs.split_rules import SHARES, Ids, Parts, by_groups, draw, strata_of

#: Rules whose rows can be divided into folds; all others have one test by their nature.
FOLDED = ("random", "scaffold", "column", "environment")


class Fold(NamedTuple):
    """One of several folds, counted from 0."""

    number: int
    of: int

    @classmethod
    def check(cls, values: Sequence[int] | None, rule: str) -> Fold | None:
        """The fold that two numbers mean.

        Raises:
            InputError: There is none of this number, or the rule does not allow folds.
        """
        if values is None:
            return None
        if len(values) != 2 or values[1] < 2 or not 0 <= values[0] < values[1]:
            raise InputError(
                f"a fold is two numbers such as 0 and 5 (the first of five), got {list(values)}."
            )
        if rule not in FOLDED:
            raise InputError(
                f"the split {rule!r} says which rows are the test, so there are no folds of it; "
                "use the split random, scaffold or column (--environment), or repeat the run with "
                "--seeds."
            )
        return cls(*values)

    def __str__(self) -> str:
        return f"fold {self.number + 1} of {self.of}"


def fold_parts(
    fold: Fold,
    labels: Labels,
    seed: int,
    groups: Sequence[str] | None = None,
    shares: tuple[float, float] = SHARES,
) -> Parts:
    """Train, val and test of a fold.

    Rows are dealt out class by class; with groups, whole ones, the largest first, each to the fold
    with the fewest rows. Validation is taken from the other folds: at random, or the smallest
    groups.

    Args:
        fold: Which of how many.
        labels: Labels of all rows.
        seed: Seed of all draws.
        groups: Group of every row; ``None`` deals out single rows.
        shares: Shares of train and val, which say what part of the other folds validates.
    """
    folds = _random(labels, fold.of, seed) if groups is None else _grouped(groups, fold.of)
    test, rest = (np.flatnonzero(inside) for inside in (folds == fold.number, folds != fold.number))
    share = shares[1] / sum(shares)
    if groups is None:
        val = draw(labels, rest, share, np.random.default_rng(seed), keep=1)
    else:
        found = by_groups([groups[row] for row in rest.tolist()], (1 - share, 0.0))
        # Of a single group nothing can be held out: validation is then drawn from its rows.
        val = rest[:0] if found is None else rest[found["test"]]
    return {"train": np.setdiff1d(rest, val), "val": val, "test": test}


def _random(labels: Labels, folds: int, seed: int) -> Ids:
    """Fold of every row ``[rows]``: the rows of each class are dealt out in turn."""
    classes, generator = strata_of(labels), np.random.default_rng(seed)
    if len(classes) < folds:
        raise InputError(
            f"{len(classes)} rows cannot be divided into {folds} folds; take fewer folds."
        )
    order = [generator.permutation(np.flatnonzero(classes == one)) for one in np.unique(classes)]
    found = np.empty(len(classes), dtype=np.int64)
    found[np.concatenate(order)] = np.arange(len(classes)) % folds
    return found


def _grouped(groups: Sequence[str], folds: int) -> Ids:
    """Fold of every row ``[rows]``, the same for all rows of a group."""
    members: dict[str, list[int]] = {}
    for row, name in enumerate(groups):
        members.setdefault(name, []).append(row)
    if len(members) < folds:
        raise InputError(
            f"{len(members)} groups cannot be divided into {folds} folds; take fewer folds, or the "
            "split random."
        )
    found = np.empty(len(groups), dtype=np.int64)
    sizes = [0] * folds
    for rows in sorted(members.values(), key=lambda rows: (-len(rows), rows[0])):
        smallest = sizes.index(min(sizes))
        found[rows] = smallest
        sizes[smallest] += len(rows)
    return found
