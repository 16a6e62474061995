"""Result files: one JSON a finished run, found again by what was run."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gsina.data.files import locked, save_json, write_aside
from gsina.experiments.recipe import Recipe
from gsina.training.checkpoint import fingerprint_of

#: The folder of all results, relative to where the command runs.
DEFAULT_FOLDER = Path("results")


@dataclass(frozen=True)
class Job:
    """A recipe and a seed: one run; with an explainer, one that explains its model afterwards."""

    recipe: Recipe
    seed: int
    explainer: str | None = None

    @property
    def name(self) -> str:
        """A file name that says what was run, with a hash of all settings."""
        recipe = self.recipe
        parts = [recipe.data.name, recipe.backbone.name, recipe.method.name, identity(recipe)]
        explained = [self.explainer] if self.explainer else []
        return "-".join([*parts, f"seed{self.seed}", *explained])


def identity(recipe: Recipe) -> str:
    """A hash of the settings that differ from the defaults."""
    return fingerprint_of(recipe.essential())[:10]


def ood_score(result: dict[str, Any]) -> float | None:
    """The main metric on the test split; the mean over the splits ``test-...`` of several."""
    metric = result["metric"]
    values = [
        scores[metric]
        for split, scores in result["metrics"].items()
        if split == "test" or split.startswith("test-")
    ]
    if not values or any(value is None for value in values):
        return None
    return float(sum(values) / len(values))


def _whole(result: Any) -> bool:
    """Whether this is a result, with numbers where numbers should be; NaN is none of them."""
    metrics = result.get("metrics") if isinstance(result, dict) else None
    return isinstance(metrics, dict) and all(
        isinstance(scores, dict) and all(map(_is_score, scores.values()))
        for scores in metrics.values()
    )


def _is_score(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not math.isnan(value))


class Results:
    """A folder of results; those of runs are files in its folder ``runs``."""

    def __init__(self, root: Path = DEFAULT_FOLDER) -> None:
        self.root = root
        self.folder = root / "runs"

    def path(self, job: Job) -> Path:
        """Where the result of a job is, or will be."""
        return self.folder / f"{job.name}.json"

    def load(self, job: Job) -> dict[str, Any] | None:
        """The result of a job; ``None`` if it is not there, or broken."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            result: dict[str, Any] = json.loads(self.path(job).read_text(encoding="utf-8"))
            if _whole(result) and result.get("seed", job.seed) == job.seed:
                return result
        return None

    def broken(self) -> list[Path]:
        """Files of the folder that are not whole results; they are run again."""
        bad = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                whole = _whole(json.loads(path.read_text(encoding="utf-8")))
            except ValueError:
                whole = False
            if not whole:
                bad.append(path)
        return bad

    def save(self, job: Job, result: dict[str, Any]) -> Path:
        """Write a result, atomically."""
        path = self.path(job)
        save_json(path, result)
        return path

    def diverged(self, job: Job) -> bool:
        """Whether the run of a job diverged."""
        return self._diverged(job).exists()

    def save_diverged(self, job: Job, message: str) -> Path:
        """Remember that a run diverges, as it would each time: it is not tried again."""
        with write_aside(self._diverged(job)) as file:
            file.write(message.encode())
        return self._diverged(job)

    def _diverged(self, job: Job) -> Path:
        return self.folder / f"{job.name}.diverged"

    @contextlib.contextmanager
    def claim(self, job: Job) -> Iterator[bool]:
        """Hold a job against other processes; yields whether it could be had.

        The lock goes with the process, however that ends.
        """
        with locked(self.folder / f".{job.name}.lock") as mine:
            yield mine
