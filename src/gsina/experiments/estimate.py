"""How long runs will take, from those that are done."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

from gsina.experiments.recipe import Recipe
from gsina.experiments.results import Job, Results


def seconds_by_kind(results: Results) -> dict[tuple[str, str, str], float]:
    """Median training time of the finished runs of each dataset, backbone and method."""
    times: dict[tuple[str, str, str], list[float]] = {}
    for path in sorted(results.folder.glob("*.json")):
        try:
            result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            recipe = result["recipe"]
            kind = (recipe["data"]["name"], recipe["backbone"]["name"], recipe["method"]["name"])
            times.setdefault(kind, []).append(result["epochs"] * result["seconds_per_epoch"])
        except (ValueError, KeyError, TypeError):
            continue  # a broken file is named by the caller and run again
    return {kind: statistics.median(values) for kind, values in times.items()}


def estimate(jobs: Sequence[Job], results: Results) -> tuple[float, list[Job]]:
    """Seconds that the jobs will take in one process, and the jobs of which nothing is known."""
    known = seconds_by_kind(results)
    total, unknown = 0.0, []
    for job in jobs:
        seconds = known.get(kind_of(job.recipe))
        if seconds is None:
            unknown.append(job)
        else:
            total += seconds
    return total, unknown


def kind_of(recipe: Recipe) -> tuple[str, str, str]:
    """Dataset, backbone and method."""
    return recipe.data.name, recipe.backbone.name, recipe.method.name
