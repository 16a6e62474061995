"""`Job`: what identifies a run, and the name of its files."""

from __future__ import annotations

from dataclasses import dataclass

from gsina.runs.recipe import Recipe
from gsina.training.checkpoint import fingerprint_of


@dataclass(frozen=True)
class Job:
    """One run, by recipe and seed; with an explainer, it explains the trained model afterwards."""

    recipe: Recipe
    seed: int
    explainer: str | None = None

    @property
    def name(self) -> str:
        """A file name that says what was run, with a hash of all settings."""
        recipe = self.recipe
        parts = [recipe.data.name, recipe.backbone.name, recipe.method.name, identity(recipe)]
        suffix = [self.explainer] if self.explainer else []
        return "-".join([*parts, f"seed{self.seed}", *suffix])


def identity(recipe: Recipe) -> str:
    """A hash of the settings that differ from the defaults."""
    return fingerprint_of(recipe.essential())[:10]
