"""The page of properties: its table, and figures that are not defined."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch

import tiny
from gsina.files import to_json
from gsina.methods import Method, build_method
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec
from gsina.paper.report.properties import Row, properties_page, rows_of, write_properties
from gsina.paper.studies.properties import Properties, property_result
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run


def model(name: str, backbone: str = "gin", **options: Any) -> Method:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 16})
    return build_method(name, spec, tiny.CLASSES, options).eval()


def finished(name: str, seed: int, **options: Any) -> Run:
    """A run as if it had been trained."""
    values = {"data": {"name": "spmotif"}, "method": {"name": name, "options": options}}
    result = {
        "recipe": Recipe.parse(values).model_dump(),
        "seed": seed,
        "commit": "0123456789abcdef",
        "metrics": {},
    }
    trained = cast(Model, SimpleNamespace(method=model(name, **options)))
    return Run(trained, tiny.dataset(2), result)


def test_page(tmp_path: Path) -> None:
    runs = [finished("gsina", 0, ratio=0.3), finished("gsina", 1, ratio=0.3), finished("dir", 0)]
    results = [
        json.loads(to_json(property_result(run, 0.3, run.dataset.train, "a few graphs")))
        for run in runs
    ]
    rows = rows_of([*results, {"no": "properties"}])
    assert [row.method for row in rows] == ["gsina", "gsina", "dir"]
    path = tmp_path / "docs/properties.md"
    write_properties(path, rows)
    page = path.read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| ")][1:]
    hard, ours = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    assert (hard[0], ours[0]) == ("DIR (hard top-k), r = 0.25", "GSINA, r = 0.3")
    assert (hard[1], hard[4], hard[6]) == ("Yes", "No", "Partially")
    assert (ours[1], ours[4], ours[6]) == ("Yes", "Yes", "Fully")
    assert ours[3] == "0.300 ± 0.000"
    assert ours[7] == "100.0 ± 0.0 %"
    assert hard[2] == "100.0 % on 30 %"  # one seed has no deviation
    assert "Measured on: a few graphs. Seeds: 0, 1. Commits: 0123456789." in page


def test_page_without_rows_and_with_undefined_figures() -> None:
    assert "Not measured yet." in properties_page([])
    odd = Properties(1.0, 1.0, 1.0, 0.0, 0.0, 1.0, math.nan)
    assert "| nan |" in properties_page([Row("gsina", "r = 1.0", 0, "", "graphs", odd)])
    result = {**finished("gsina", 0).result, "properties_of": "x", "properties": asdict(odd)}
    result["properties"]["outside"] = None
    assert math.isnan(rows_of([result])[0].properties.outside)
