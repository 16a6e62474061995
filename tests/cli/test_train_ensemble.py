"""Ensembles from the command line: one model of several members, which resumes where it stopped."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.runs import assert_same_run, result
from gsina.cli import app
from gsina.runs.folder import read_run
from gsina.runs.job import identity

TWO = ("--ensemble", 2, "--seed", 3, "--epochs", 2, "--batch-size", 8)


def graphs(path: Path, count: int = 24, *, numbers: bool = False) -> Path:
    """Rings and stars; or their sizes as numbers to predict."""
    lines = []
    for number in range(count):
        size, ring = 4 + number % 5, number % 2 == 0
        edges = [[i, (i + 1) % size] if ring else [0, i] for i in range(size) if ring or i]
        label = size + 0.5 if numbers else ("ring" if ring else "star")
        text = f'"nodes": {size}, "edges": {edges}, "label": '
        lines.append("{" + text + (f'"{label}"' if isinstance(label, str) else f"{label}") + "}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ensemble")
    file = graphs(folder / "graphs.jsonl")
    arguments = ["train", file, *TWO, "--out", folder / "run"]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    assert "the mean of 2 members (seeds 3 to 4)" in done.output
    for seed in (3, 4):
        assert f"gsina, baseline ERM, seed {seed} 1/2" in done.output
    return folder / "run"


def test_predictions_have_a_spread(gsina, run, tmp_path):
    out = tmp_path / "out.csv"
    done = gsina("predict", run, run.parent / "graphs.jsonl", "--attention", "-o", out)
    assert done.exit_code == 0, done.output
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    spread = [float(row["spread"]) for row in rows]
    assert len(spread) == 24
    assert all(0 <= one <= 0.5 for one in spread)
    assert max(spread) > 0
    assert all(row["set"] and row["edge_weights"] for row in rows)


def test_numbers_have_a_spread_in_their_units(gsina, tmp_path):
    file, run, out = (
        graphs(tmp_path / "n.jsonl", numbers=True),
        tmp_path / "run",
        tmp_path / "o.csv",
    )
    assert gsina("train", file, *TWO, "--task", "regression", "--out", run).exit_code == 0
    assert gsina("predict", run, file, "-o", out).exit_code == 0
    with out.open(newline="") as read:
        assert all(float(row["spread"]) >= 0 for row in csv.DictReader(read))


def test_a_resumed_ensemble_equals_an_uninterrupted_one(gsina, run, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(run, again)
    shutil.rmtree(again / "model")
    (again / "result.json").unlink()
    (again / "member-1" / "checkpoint.safetensors").unlink()
    refused = gsina("train", run.parent / "graphs.jsonl", *TWO, "--out", again)
    assert refused.exit_code == 2
    assert "unfinished run already" in refused.stderr
    done = gsina("train", "--out", again, "--resume")
    assert done.exit_code == 0, done.output
    assert_same_run(run, again)


def test_the_result_and_the_recipe_name_the_members(run):
    assert [one["seed"] for one in result(run)["members"]] == [3, 4]
    recipe, seed = read_run(run)
    assert (recipe.ensemble, seed) == (2, 3)
    one = recipe.changed(ensemble=1)
    assert "ensemble" not in one.essential()
    assert identity(one) != identity(recipe)


def test_explanations_and_states_work_as_of_one_model(gsina, run, tmp_path):
    file = run.parent / "graphs.jsonl"
    assert gsina("explain", run, file, "-o", tmp_path / "page.html").exit_code == 0
    assert gsina("embed", run, file, "-o", tmp_path / "states.npy").exit_code == 0
