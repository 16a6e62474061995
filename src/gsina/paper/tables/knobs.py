"""The one setting of a method that its published budget tunes: three values, the same for all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from gsina.methods import make_config
from gsina.paper.tables.table import Cell
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
    "eerm": Knob("beta", "times", 3.0),
    "gmt-lin": Knob("information", "times", 2.0, 0.1, 1.0),
    "prune": Knob("size", "plus", 0.15, 0.5, 0.85),  # about what its paper tries
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
