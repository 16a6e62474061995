"""Every committed result parses to its own file name: recipes mean what they meant."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gsina.runs.job import Job
from gsina.runs.recipe import Recipe

RUNS = Path(__file__).parents[2] / "results" / "runs"


def test_every_result_parses_to_its_own_name() -> None:
    files = sorted(RUNS.glob("*.json"))
    assert len(files) > 1000
    wrong = []
    for path in files:
        result = json.loads(path.read_text(encoding="utf-8"))
        recipe = Recipe.parse(result["recipe"])
        explainer = re.search(r"-seed\d+-(.*)$", path.stem)
        job = Job(recipe, result["seed"], explainer[1] if explainer else None)
        if job.name != path.stem or Recipe.parse(recipe.model_dump()) != recipe:
            wrong.append((path.stem, job.name))
    assert wrong == []
