"""What ``gsina tune`` varies: the ratio, the learning rate, the width and the depth."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gsina.errors import InputError
from gsina.methods import make_config
from gsina.models.plan import has_option
from gsina.nn.backbones import BACKBONES
from gsina.runs.recipe import Recipe

Setting = float | int


@dataclass(frozen=True)
class Knob:
    """One setting and the range it is searched in.

    Attributes:
        name: Its name in the recipe.
        part: The part of the recipe that it belongs to.
        low: The smallest value; a whole number makes the setting whole.
        high: The largest value.
        step: Distance of neighbouring values; ``None`` for any.
        log: Whether values are spread evenly by their logarithm.
    """

    name: str
    part: str
    low: Setting
    high: Setting
    step: Setting | None = None
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers."""
        return isinstance(self.low, int)

    def suggest(self, trial: Any) -> Setting:
        """Let an Optuna trial choose a value."""
        if self.whole:
            chosen = trial.suggest_int(self.name, self.low, self.high, step=self.step)
        else:
            chosen = trial.suggest_float(
                self.name, self.low, self.high, step=self.step, log=self.log
            )
        return self.tidy(chosen)

    def tidy(self, value: Setting) -> Setting:
        """A value rounded to meaningful digits, as it is used and shown."""
        return int(value) if self.whole else float(f"{value:.3g}")

    def holds(self, value: Setting) -> bool:
        """Whether a value is one of those that can be suggested."""
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return self.low <= value <= self.high and abs(steps - round(steps)) < 1e-6

    def now(self, recipe: Recipe) -> Setting:
        """The value in a recipe, or the default behind it."""
        if self.part == "optimiser":
            value = getattr(recipe.optimiser, self.name)
        elif self.part == "method":
            value = getattr(make_config(recipe.method.name, recipe.method.options), self.name)
        else:
            usual = inspect.signature(BACKBONES[recipe.backbone.name]).parameters[self.name].default
            value = recipe.backbone.options.get(self.name, usual)
        return self.tidy(value)

    def applies(self, recipe: Recipe) -> bool:
        """Whether the recipe's method or network has the setting, and uses it."""
        if self.name == "ratio" and recipe.method.options.get("budget") is not None:
            return False
        if self.part == "method":
            return has_option(recipe.method.name, self.name)
        if self.part == "backbone":
            return self.name in inspect.signature(BACKBONES[recipe.backbone.name]).parameters
        return True


KNOBS = (
    Knob("ratio", "method", 0.1, 0.9, 0.05),
    Knob("learning_rate", "optimiser", 1e-4, 1e-2, log=True),
    Knob("hidden_channels", "backbone", 16, 128, 16),
    Knob("num_layers", "backbone", 2, 5, 1),
)


def knobs_of(recipe: Recipe, fixed: Collection[str] = ()) -> tuple[Knob, ...]:
    """What can be varied in a recipe.

    Args:
        recipe: Gives the method and the network.
        fixed: Names of settings that stay as they are.

    Raises:
        InputError: Nothing is left to tune.
    """
    knobs = tuple(knob for knob in KNOBS if knob.name not in fixed and knob.applies(recipe))
    if not knobs:
        raise InputError(
            f"nothing is left to tune: {recipe.method.name} on {recipe.backbone.name} has "
            f"none of {', '.join(knob.name for knob in KNOBS)} but those that are given."
        )
    return knobs


def with_settings(recipe: Recipe, settings: dict[str, Setting]) -> Recipe:
    """The recipe with other values of some knobs."""
    values = recipe.model_dump()
    for knob in KNOBS:
        if knob.name in settings:
            part = values[knob.part]
            (part if knob.part == "optimiser" else part["options"])[knob.name] = settings[knob.name]
    if "ratio" in settings:
        values["auto_ratio"] = False
    return Recipe.parse(values)
