"""``gsina tune``: from a file to a recipe that ``gsina train`` takes."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gsina.cli import show
from gsina.tuning import study as tune
from gsina.tuning.study import Search, TrialResult

pytest.importorskip("optuna")

NAMED = ("tune", "spmotif", "--data-option", "num_per_class=3", "--epochs", 2, "--batch-size", 8)


def molecules(path: Path) -> Path:
    rings = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1")
    tails = ("O", "N", "Cl", "CC", "CCO", "C(=O)O", "CN", "CCC")
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["smiles", "active"])
        table.writerows([ring + tail, int("O" in tail)] for ring in rings for tail in tails)
    return path


def test_a_file_is_tuned_and_the_recipe_trains(gsina, tmp_path):
    pytest.importorskip("rdkit")
    molecules(tmp_path / "mine.csv")
    asked = ("tune", "mine.csv", "--target", "active", "--split", "random", "--epochs", 2)
    done = gsina(*asked, "--trials", 2, "--out", "search")
    assert done.exit_code == 0, done.output
    for part in ("test data are not used", "trial 0:", "trial 1:", "best of 2 trials", "best.toml"):
        assert part in done.output
    files = {path.name for path in (tmp_path / "search").iterdir()}
    assert files == {"study.db", "trials.csv", "best.toml", "history.png", "slices.png"}

    again = gsina(*asked, "--trials", 3, "--out", "search")
    assert "continuing after 2 trials" in again.output
    assert "trial 1:" not in again.output
    assert len((tmp_path / "search" / "trials.csv").read_text().splitlines()) == 4

    line = next(line for line in again.output.splitlines() if line.startswith("train it with: "))
    arguments = shlex.split(line)[3:]
    trained = gsina(*arguments[arguments.index("train") :])
    assert trained.exit_code == 0, trained.output
    result = json.loads((tmp_path / "search" / "best" / "result.json").read_text())
    best = tomllib.loads((tmp_path / "search" / "best.toml").read_text())
    assert result["recipe"]["backbone"]["options"] == best["backbone"]["options"]
    with (tmp_path / "search" / "trials.csv").open() as file:
        told = max(float(row["val_roc_auc"]) for row in csv.DictReader(file))
    network = result["baselines"]["metrics"]["network"]  # trials judge it without trees
    assert network["val"]["roc_auc"] == pytest.approx(told)
    refused = gsina("train", "--recipe", "search/best.toml", "--target", "active")
    assert refused.exit_code == 2


def test_what_is_given_is_not_varied(gsina, tmp_path):
    done = gsina(*NAMED, "--trials", 1, "--ratio", 0.3, "--learning-rate", 0.002)
    assert done.exit_code == 0, done.output
    assert "to tune: hidden_channels, num_layers;" in done.output
    [path] = tmp_path.glob("runs/*/best.toml")
    best = tomllib.loads(path.read_text())
    assert best["method"]["options"]["ratio"] == 0.3
    assert best["optimiser"]["learning_rate"] == 0.002


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tune"], "name your file or a dataset"),
        (["tune", "spmotfi"], "did you mean 'spmotif'?"),
        (["tune", "spmotif", "--smiles", "s"], "--smiles is for your own files"),
        (["tune", "missing.csv", "--target", "a"], "there is no file missing.csv"),
        ([*NAMED, "--storage", "no://u:secret@h/d"], "the storage no://u:***@h/d cannot be used"),
        ([*NAMED, "--ray", "10.0.0.7:6379"], "cannot share an SQLite file; give --storage"),
    ],
)
def test_one_sentence(gsina, arguments, sentence):
    done = gsina(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert "secret" not in done.output + done.stderr


def test_other_settings_in_the_same_folder(gsina):
    assert gsina(*NAMED, "--trials", 1, "--out", "s").exit_code == 0
    done = gsina(*NAMED, "--trials", 1, "--out", "s", "--method", "erm")
    assert done.exit_code == 2
    assert "was started with other settings or data (method, selection, vary)" in done.stderr


#: The command, interrupted as by Ctrl-C in the second epoch of its second trial.
INTERRUPTED = """
from gsina.cli import main
from gsina.training import loop
epoch, calls = loop._epoch, []
def interrupted(*arguments):
    calls.append(0)
    if len(calls) == 4:
        raise KeyboardInterrupt
    return epoch(*arguments)
loop._epoch = interrupted
main()
"""


def test_an_interrupted_search_keeps_what_has_ended(gsina, tmp_path):
    arguments = [*NAMED, "--trials", 2, "--out", "s"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == show.INTERRUPTED, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "interrupted; 1 of 2 trials are done and kept." in done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("continue with: "))
    again = shlex.split(line)
    assert again[again.index("tune") :] == [str(one) for one in arguments]
    assert (tmp_path / "s" / "best.toml").exists()
    rest = gsina(*arguments)
    assert rest.exit_code == 0
    assert "continuing after 1 trials" in rest.output
    assert "best of 2 trials" in rest.output


def test_lines_of_a_search(gsina, monkeypatch):
    ends = [
        TrialResult(0, {"ratio": 0.5}, 0.75, "finished", 2, 61.0, 0.7),
        TrialResult(1, {"ratio": 0.1}, None, "stopped", 1, 1.0, 0.25),
        TrialResult(2, {"ratio": 0.2}, None, "diverged", 0, 0.0),
    ]

    def pretend(search: Search, *arguments, **callbacks):
        yield from ends

    monkeypatch.setattr(tune, "run_trials", pretend)
    lines = gsina(*NAMED, "--trials", 3).output.splitlines()
    assert "trial 0: 75.0 %  ratio 0.5  (2 epochs, 1:01)" in lines
    assert "trial 1: stopped early at 25.0 %  ratio 0.1  (1 epochs, 0:01)" in lines
    assert "trial 2: diverged  ratio 0.2  (0 epochs, 0:00)" in lines
    assert "no trial has finished yet, so there is no best one." in lines
