"""Users' files in a grid."""

from __future__ import annotations

import json
from pathlib import Path

from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import run_job
from gsina.runs.defaults import file_recipe
from gsina.runs.job import Job


def test_parts_of_users_files_are_compared_as_by_gsina_train(tmp_path: Path) -> None:
    lines = [
        json.dumps({"nodes": 3 + i % 4, "edges": [[0, 1], [1, 2]], "label": i % 2})
        for i in range(40)
    ]
    (tmp_path / "graphs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    expected = {("erm", True): {"network", "trees"}, ("gsat", False): set()}
    expected |= {("gsina", True): {"network", "trees", "erm"}, ("gsina", False): {"erm"}}
    for (method, trees), names in expected.items():
        recipe = file_recipe(
            "graphs", (tmp_path / "graphs.jsonl",), {}, method=method, trees=trees, epochs=1
        )
        results = Results(tmp_path / f"{method}-{trees}")
        run_job(Job(recipe, 0), results)
        found = results.load(Job(recipe, 0))
        assert found is not None
        assert {*found["baselines"].get("metrics", {})} - {"model"} == names
