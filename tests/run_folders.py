"""Folders of runs as far as `gsina runs` looks at them."""

from __future__ import annotations

import json
from pathlib import Path

RECIPE = '[data]\nname = "spmotif"\n[method]\nname = "gsina"\n[backbone]\nname = "gin"\n'


def make_run(
    folder: Path, seed: int = 0, score: float | None = None, metric: str = "accuracy"
) -> Path:
    """The folder of a run, finished if it has a score."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"format": 2, "seed": seed}))
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "log.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n')
    if score is not None:
        result = {
            "recipe": {"data": {"name": "spmotif"}, "method": {"name": "gsina"}},
            "seed": seed,
            "metric": metric,
            "metrics": {"val": {metric: score}, "test": {metric: score / 2}},
            "epochs": 7,
            "finished": "2026-01-02T03:04:05+00:00",
        }
        (folder / "result.json").write_text(json.dumps(result))
    return folder
