"""Folders of runs and models of version 0.1 are still read."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.runs import records, result
from gsina import load_model
from gsina.errors import InputError
from gsina.estimators import GraphClassifier
from gsina.runs.data import FileData, NamedData
from gsina.runs.folder import read_run
from gsina.runs.trained import load_run

KEPT = Path(__file__).parents[1] / "kept" / "v0.1"
NODES = ("--nodes", "nodes.csv", "--edges", "edges.csv")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The kept folders, with the paths in them as they are here."""
    shutil.copytree(KEPT, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("*/*.json"):
        path.write_text(path.read_text().replace("FOLDER", str(tmp_path)))
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def same_answers(found: Path, expected: Path) -> None:
    ours, theirs = rows(found), rows(expected)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.keys() == other.keys()
        for name, cell in one.items():
            try:
                assert float(cell) == pytest.approx(float(other[name]), abs=2e-5)
            except ValueError:
                assert cell == other[name]


def test_models_of_files_predict_what_they_did(gsina: Callable[..., object], old: Path) -> None:
    assert gsina("predict", "molecules", "molecules.csv", "-o", "out.csv").exit_code == 0
    same_answers(old / "out.csv", old / "molecules-expected.csv")
    assert gsina("predict", "nodes", *NODES, "-o", "nodes-out.csv").exit_code == 0
    same_answers(old / "nodes-out.csv", old / "nodes-expected.csv")
    assert GraphClassifier.load(old / "molecules").classes_.tolist() == ["0", "1"]


def test_a_run_on_a_named_dataset_has_a_model_again(
    gsina: Callable[..., object], old: Path
) -> None:
    model = load_model(old / "named")
    assert model.metrics == result(old / "named")["metrics"]
    finished = load_run(old / "named")
    scores = finished.model.score(finished.dataset.test)
    assert scores["accuracy"] == pytest.approx(model.metrics["test"]["accuracy"])
    graph = {"nodes": finished.dataset.test[[0]].x.tolist(), "edges": [[0, 1], [1, 2]]}
    (old / "new.jsonl").write_text(json.dumps(graph))
    assert gsina("predict", "named", "new.jsonl", "-o", "out.csv").exit_code == 0
    assert rows(old / "out.csv")[0]["prediction"] in ("cycle", "house", "crane")


def test_what_was_run_is_known(old: Path) -> None:
    recipe, seed = read_run(old / "named")
    assert isinstance(recipe.data, NamedData)
    assert (recipe.data.name, seed) == ("spmotif", 3)
    recipe, seed = read_run(old / "molecules")
    assert isinstance(recipe.data, FileData)
    assert (recipe.data.format, recipe.data.files, seed) == (
        "molecules",
        (str(old / "molecules.csv"),),
        0,
    )


def test_an_unfinished_run_goes_on(gsina: Callable[..., object], old: Path) -> None:
    before = records(old / "unfinished")
    done = gsina("train", "--out", "unfinished", "--resume", "--epochs", 2)
    assert done.exit_code == 0, done.output
    assert "continuing after 1 epochs" in done.output
    assert [one["epoch"] for one in before] == [0]  # as version 0.1 counted in the log
    assert records(old / "unfinished")[:1] == [{**before[0], "epoch": 1}]
    assert result(old / "unfinished")["epochs"] == 2
    assert (old / "unfinished" / "model" / "model.json").exists()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda run: (run / "run.json").write_text('{"format": 99, "seed": 0}'), "newer gsina"),
        (lambda run: shutil.rmtree(run / "model"), "has lost its model"),
        (lambda run: (run / "result.json").unlink(), ""),
        (lambda run: (run / "model" / "model.json").write_text("{"), "is damaged"),
    ],
)
def test_broken_folders_get_one_sentence(
    break_it: Callable[[Path], object], message: str, gsina: Callable[..., object], old: Path
) -> None:
    run = old / "molecules"
    break_it(run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    done = gsina("predict", "molecules", "molecules.csv", "-o", "out.csv")
    if message:
        assert done.exit_code == 2
        assert message in " ".join(done.output.split())
        assert not (old / "out.csv").exists()
    else:  # the model is whole, and that is all a prediction needs
        assert done.exit_code == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_dataset_that_is_gone_is_named(old: Path) -> None:
    path = old / "named" / "result.json"
    path.write_text(path.read_text().replace('"spmotif"', '"spmotif-old"'))
    with pytest.raises(InputError, match="unknown dataset 'spmotif-old'; did you mean"):
        load_run(old / "named")
    (old / "molecules.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"molecules\.csv"):
        load_run(old / "molecules")
