"""`Table` and `Cell`: a grid of recipes and what the paper prints for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gsina.errors import InputError, check_name
from gsina.paper.numbers import PaperNumber
from gsina.runs.job import Job
from gsina.runs.recipe import Recipe

#: In place of the name of a split: the mean over all test splits of a dataset.
ALL_TESTS = "all tests"
#: The seed of most trials.
TRIAL_SEED = 0
#: The seeds of most cells.
FIVE = (0, 1, 2, 3, 4)
THREE = (0, 1, 2)


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        row: Label of the row, such as ``GIN + GSINA``.
        column: Label of the column, such as ``SPMotif b = 0.5``.
        recipe: What is run for it.
        seeds: The seeds it is run with by default.
        paper: What the paper prints, if anything.
        explainer: Name of a post-hoc explainer of the recipe's model, or ``pieces``.
        trials: Recipes to try before one is chosen (:mod:`gsina.paper.tables.tuned_cells`).
        choices: The recipe of the cell for each of the trials.
        split: The split that is scored; a dataset may have several test splits, of which
            :data:`ALL_TESTS` takes the mean.
        trial_seeds: The seeds of its trials, of which the mean counts.
        baseline: Name of a baseline beside the run, whose score is the cell's; ``None``: the run's.
    """

    row: str
    column: str
    recipe: Recipe
    seeds: tuple[int, ...]
    paper: PaperNumber | None = None
    explainer: str | None = None
    trials: tuple[Recipe, ...] = ()
    choices: tuple[Recipe, ...] = ()
    split: str = "test"
    trial_seeds: tuple[int, ...] = (TRIAL_SEED,)
    baseline: str | None = None

    @property
    def jobs(self) -> list[Job]:
        """One job per seed; while the recipe is not chosen yet, one per trial and trial seed."""
        if self.trials:
            return [Job(trial, seed) for seed in self.trial_seeds for trial in self.trials]
        return [Job(self.recipe, seed, self.explainer) for seed in self.seeds]


class ExtraColumn(NamedTuple):
    """A further test metric of the same runs, as one more column: in percent, or times a number."""

    metric: str
    label: str
    percent: bool = True
    times: float = 1.0


@dataclass(frozen=True)
class Table:
    """A named table: its cells and the test metric they show.

    Attributes:
        name: The name on the command line.
        title: One line.
        metric: Key in the ``test`` metrics of a result; ``None`` for the main metric of the task.
        percent: Whether values are shown times 100.
        cells: In the order they are run, the most valuable first.
        notes: Things a reader must know.
        extra: Further metrics of the same runs.
        prepare: Makes files that the cells need; called before they are run.
        sample_std: Whether the standard deviation is the unbiased one of a sample, as this paper's
            benchmark has it, instead of the population's.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    metric: str | None = None
    percent: bool = True
    notes: tuple[str, ...] = field(default=())
    extra: tuple[ExtraColumn, ...] = ()
    sample_std: bool = False
    prepare: Callable[[], None] | None = None

    def select(self, only: Sequence[str], seeds: Sequence[int] | None) -> Table:
        """The cells whose row, column or method contain every word of ``only``.

        What fits best counts alone: a whole word of a row or column (``NCI1``, ``IRM``), else a
        whole word of names of methods, else a part of a word. ``=GIN`` is the row or column of just
        that name.
        """
        cells = list(self.cells)
        names = sorted({cell.row for cell in cells} | {cell.column for cell in cells})
        for word in only:
            if word.startswith("="):
                check_name(word[1:], names, f"row or column of the table {self.name}")
                cells = [cell for cell in cells if word[1:] in (cell.row, cell.column)]
                continue
            if not word.strip() or not any(_inside(cell, word.lower()) for cell in self.cells):
                check_name(word, names, f"row or column of the table {self.name}")
            fits = next(
                (one for one in FITS if any(one(cell, word.lower()) for cell in self.cells)),
                _inside,
            )
            cells = [cell for cell in cells if fits(cell, word.lower())]
        if not cells:
            raise InputError(
                f"no cell of the table {self.name} has all of {', '.join(only)} in its row and "
                "column; for one or the other, run the command for each."
            )
        if seeds is not None:
            cells = [replace(cell, seeds=tuple(seeds)) for cell in cells]
        return replace(self, cells=tuple(cells))


def _in_names(cell: Cell, word: str) -> bool:
    return _whole_in(f"{cell.row} {cell.column}", word)


def _is_method(cell: Cell, word: str) -> bool:
    return _whole_in(cell.recipe.method.name, word)


def _inside(cell: Cell, word: str) -> bool:
    return word in f"{cell.row} {cell.column} {cell.recipe.method.name}".lower()


def _whole_in(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text.lower()) is not None


#: How a word may fit a cell, the closest first; if none does for any cell, as a part of a word.
FITS = (_in_names, _is_method)
