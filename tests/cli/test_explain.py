"""``gsina explain``: pages that can be asked, and folders of models that are damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import network_cases
from page_cases import data_of

QUICK = ("--epochs", 2, "--no-baseline")


@pytest.fixture
def run(gsina, tmp_path):
    rings, tails = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1"), ("O", "N", "CC", "CO", "Cl")
    rows = [f"{'C' * i}{ring}{tail}" for i in range(3) for ring in rings for tail in tails]
    lines = [f"{smiles},{int('O' in smiles)}" for smiles in rows]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,active", *lines]) + "\n")
    done = gsina("train", "m.csv", "--target", "active", "--out", "run", *QUICK)
    assert done.exit_code == 0, done.output
    return tmp_path / "run"


def test_the_page_of_a_run_answers_as_the_model_does(gsina, run, tmp_path):
    assert gsina("explain", "run", "m.csv", "--top", 5, "-o", "page.html").exit_code == 0
    for page in (tmp_path / "page.html", run / "report.html"):
        data = data_of(page)
        assert data["network"] is not None, data["notes"]
        found = network_cases.in_node(data)
        for one, graph in zip(found, data["graphs"], strict=True):
            assert one["logits"] == pytest.approx(graph["input"]["logits"], abs=1e-5)
            assert one["predicted"] == graph["predicted"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def lose_a_field(path: Path) -> None:
    values = json.loads(path.read_text())
    del values["architecture"]
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("name", "harm", "words"),
    [
        ("model.safetensors", cut, "is damaged or belongs to another model.json"),
        ("model.safetensors", Path.unlink, "has no model.safetensors"),
        ("model.json", cut, "is damaged"),
        ("model.json", lose_a_field, "is damaged (KeyError: 'architecture')"),
    ],
)
def test_a_damaged_model_is_one_sentence(gsina, run, tmp_path, name, harm, words):
    harm(run / "model" / name)
    done = gsina("explain", "run", "m.csv", "-o", "page.html")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert not (tmp_path / "page.html").exists()
