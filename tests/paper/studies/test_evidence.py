"""Runs of the benchmark of explanations: whole result files, and promises that hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tiny
from gsina.explain.evidence.certify import GRID
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import run_job
from gsina.paper.studies.evidence import promises, run_certified, run_evidence
from gsina.runs.job import Job
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe

QUICK = "gnnexplainer,steps=2"


def recipe(method: str = "gsina") -> Recipe:
    data = {"bias": 0.5, "num_per_class": 8}
    return default_recipe("spmotif", "gin", method, data=data, epochs=1)


@pytest.mark.parametrize(("method", "who"), [("gsina", ""), ("erm", QUICK), ("erm", "random")])
def test_a_run_has_all_measures_of_both_splits(method: str, who: str) -> None:
    found = run_evidence(recipe(method), 0, who, dataset=tiny.dataset(3))
    assert found["explainer"] == "evidence"
    assert found["explained_by"] == (who or method)
    for split in ("test", "val"):
        scores = found["metrics"][split]
        assert 0 <= scores["evidence_roc_auc"] <= 1
        assert 0 <= scores["evidence_stable_relabelling"] <= 1
        assert scores["evidence_seconds"] >= 0
        assert {"random_necessity_delete", "evidence_sufficiency_replace"} <= scores.keys()
    if method == "gsina":  # its weights do not hang on numbers of nodes
        assert found["metrics"]["test"]["evidence_stable_relabelling"] == 1
    json.dumps(found, allow_nan=False)


def test_jobs_of_the_grid_are_run_once_and_found_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    store = Results(tmp_path / "results")
    for study in ("evidence", "evidence,random", "certified"):
        job = Job(recipe(), 0, study)
        done = run_job(job, store)
        assert done.error is None
        assert store.load(job) == done.result
    names = {path.stem.partition("seed0-")[2] for path in store.folder.glob("*.json")}
    assert names == {"evidence", "evidence,random", "certified"}


def test_a_certified_run_says_what_is_seen() -> None:
    found = run_certified(recipe(), 0, "", dataset=tiny.dataset(8))["metrics"]["test"]
    assert 0.8 <= found["certified_ever"] <= found["certified_seen"] <= 1
    assert 0 < found["certified_share"] <= 1
    assert found["certified_edges"] >= 1
    assert 0 <= found["certified_shifted"] <= 1


def test_promises_are_kept_on_halves() -> None:
    generator = torch.Generator().manual_seed(0)
    needs = torch.rand(400, generator=generator)
    lost = (torch.tensor(GRID).unsqueeze(1) < needs).double()
    found = promises(lost, torch.full((400,), 50.0), 0.9)
    assert 0.89 <= found["certified_seen"] <= 0.93
    assert found["certified_seen"] == found["certified_ever"]  # nothing flickers
    assert found["certified_edges"] == pytest.approx(50 * found["certified_share"], abs=1)
