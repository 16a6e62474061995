"""Baselines on the command line: by default for files, on request for named datasets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.runs import SMALL

pytest.importorskip("rdkit")

OPTIONS = ("--smiles", "smiles", "--target", "active", "--split", "random", "--batch-size", 16)


def molecules(path: Path) -> None:
    rings, tails = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1"), ("O", "N", "CC", "CO", "Cl")
    lines = ["smiles,active"]
    for head in ("", "C", "CC"):
        for ring in rings:
            lines += [f"{head}{ring}{tail},{int('O' in tail)}" for tail in tails]
    path.write_text("\n".join(lines))


def test_a_file_has_baselines_beside_it(gsina, tmp_path, monkeypatch):
    monkeypatch.setattr("gsina.models.forest.TREES", 50)
    molecules(tmp_path / "m.csv")
    done = gsina("train", "m.csv", *OPTIONS, "--epochs", 2, "--out", "run")
    assert done.exit_code == 0, done.output
    assert "gsina, baseline ERM 2/2" in done.output
    assert "baseline random forest\n" in done.output
    assert " on validation data: " in done.output
    found = json.loads((tmp_path / "run" / "result.json").read_text())["baselines"]
    assert found["metrics"].keys() == {"erm", "forest", "network", "trees", "counts"}
    assert "gsina and trees" in done.output
    monkeypatch.setattr("gsina.runs.baselines.forest_logits", pytest.fail)
    again = gsina("train", "--out", "run", "--resume")
    assert again.exit_code == 0, again.output
    assert "2/2" not in again.output
    assert found == json.loads((tmp_path / "run" / "result.json").read_text())["baselines"]


def test_without_baselines_also_when_resumed(gsina, tmp_path):
    molecules(tmp_path / "m.csv")
    done = gsina("train", "m.csv", *OPTIONS, "--epochs", 1, "--no-baseline", "--out", "run")
    assert done.exit_code == 0, done.output
    again = gsina("train", "--out", "run", "--resume", "--epochs", 2)
    assert again.exit_code == 0, again.output
    assert "baseline" not in done.output + again.output
    assert not (tmp_path / "run" / "baselines").exists()
    refused = gsina("train", "m.csv", *OPTIONS, "--no-baseline", "--show-recipe")
    assert "--baseline is not part of a recipe" in refused.stderr


def test_a_named_dataset_has_them_on_request(gsina, tmp_path):
    done = gsina(*SMALL, "--epochs", 1, "--baseline", "--out", "run")
    assert done.exit_code == 0, done.output
    assert "baseline ERM 1/1" in done.output
    plain = gsina(*SMALL, "--epochs", 1, "--force", "--out", "run")
    assert "baseline" not in plain.output
    assert not (tmp_path / "run" / "baselines").exists()
