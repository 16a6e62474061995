"""Several runs in one folder: folds and seeds, resumed, replaced and used."""

from __future__ import annotations

import csv
import json
import shutil
import statistics
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.runs import assert_same_run, result
from cli.test_train_ensemble import graphs
from gsina.cli import app
from gsina.models.folder import load_model
from gsina.runs.trained import load_run

QUICK = ("--epochs", 1, "--batch-size", 8)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folds")
    file = graphs(folder / "graphs.jsonl")
    arguments = ["train", file, "--folds", 3, *QUICK, "--out", folder / "run"]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    assert "means over 3 runs" in done.output
    return folder / "run"


def test_every_row_is_predicted_by_the_model_that_has_not_seen_it(folds):
    rows = table(folds / "predictions.csv")
    assert [int(row["row"]) for row in rows] == list(range(1, 25))
    assert [row["label"] for row in rows] == ["ring", "star"] * 12
    for fold in range(3):
        run = load_run(folds / f"fold-{fold}")
        mine = [row for row in rows if int(row["fold"]) == fold]
        assert [int(row["row"]) for row in mine] == list(run.dataset.origin.rows["test"])
        assert not set(run.dataset.origin.rows["train"]) & {int(row["row"]) for row in mine}
        logits = run.model.predict(run.dataset.splits["test"]).logits
        shares = run.model.probabilities(logits)[:, 0].tolist()
        assert [float(row["probability_star"]) for row in mine] == pytest.approx(shares, abs=1e-5)


def test_rows_that_cannot_be_read_are_in_the_predictions_with_a_reason_and_told_once(
    gsina, tmp_path
):
    file = graphs(tmp_path / "graphs.jsonl")
    lines = file.read_text().splitlines()
    lines[4:4] = ["no graph"]
    file.write_text("\n".join(lines) + "\n")
    done = gsina("train", file, "--folds", 2, *QUICK, "--out", "run")
    assert done.exit_code == 0, done.output
    assert done.output.count("1 rows could not be read") == 1
    assert done.output.count("to predict: label") == 1
    rows = table(tmp_path / "run" / "predictions.csv")
    assert [int(row["row"]) for row in rows] == list(range(1, 26))
    assert rows[4]["reason"].startswith("it is not JSON")
    assert rows[4]["prediction"] == rows[4]["fold"] == ""
    assert all(row["reason"] == "" and row["prediction"] for row in rows if row is not rows[4])


def test_folds_of_a_rule_without_them_are_refused_before_the_file_is_read(gsina, tmp_path):
    file = tmp_path / "empty.jsonl"
    file.write_text("no graph\n")
    done = gsina("train", file, "--folds", 2, "--split", "size", *QUICK, "--out", "run")
    assert done.exit_code == 2
    assert "the split 'size' says which rows are the test" in done.stderr
    assert "fold-0" not in done.output


def test_a_fold_with_one_class_is_told_before_any_is_trained(gsina, tmp_path):
    lines = graphs(tmp_path / "all.jsonl").read_text().splitlines()
    kinds = [
        json.loads(line) | {"label": "ab"[place < 6], "site": f"s{0 if place < 6 else place % 3}"}
        for place, line in enumerate(lines)
    ]
    for one in kinds[6:]:
        one["site"] += "x"
    (tmp_path / "g.jsonl").write_text("\n".join(map(json.dumps, kinds)) + "\n")
    arguments = ("--environment", "site", "--folds", 4, *QUICK, "--out", "run")
    done = gsina("train", "g.jsonl", *arguments)
    assert done.exit_code == 2
    assert "cannot be used: the training side has class 'a' only" in done.stderr
    assert "loss" not in done.output


def test_the_result_has_means_and_spreads(folds):
    found = result(folds)
    values = [result(folds / f"fold-{fold}")["metrics"]["test"]["loss"] for fold in range(3)]
    assert found["metrics"]["test"]["loss"] == pytest.approx(statistics.fmean(values))
    assert found["spread"]["test"]["loss"] == pytest.approx(statistics.stdev(values))
    assert found["folds"] == 3


def test_a_folder_of_runs_is_no_model_but_its_runs_are(gsina, folds, tmp_path):
    file = folds.parent / "graphs.jsonl"
    done = gsina("predict", folds, file, "-o", tmp_path / "out.csv")
    assert done.exit_code == 2
    assert "holds 3 runs with a model each; name one of them, such as" in done.stderr
    assert done.stderr.count("\n") == 1
    for load in (load_model, load_run):
        with pytest.raises(FileNotFoundError, match="name one of them"):
            load(folds)
    assert gsina("predict", folds / "fold-1", file, "-o", tmp_path / "out.csv").exit_code == 0


def test_resuming_goes_on_where_it_stopped(gsina, folds, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(folds, again)
    for path in (again / "result.json", again / "predictions.csv", again / "fold-1/result.json"):
        path.unlink()
    (again / "fold-1/checkpoint.safetensors").unlink()
    shutil.rmtree(again / "fold-2")
    refused = gsina("train", folds.parent / "graphs.jsonl", "--folds", 3, *QUICK, "--out", again)
    assert refused.exit_code == 2
    assert "unfinished run already" in refused.stderr
    done = gsina("train", "--out", again, "--resume")
    assert done.exit_code == 0, done.output
    assert done.output.count("finished before") == 1
    for fold in range(3):
        assert_same_run(folds / f"fold-{fold}", again / f"fold-{fold}")
    assert (again / "predictions.csv").read_text() == (folds / "predictions.csv").read_text()
    assert result(again)["metrics"] == result(folds)["metrics"]


def test_one_run_and_several_do_not_mix(gsina, folds, tmp_path):
    file = folds.parent / "graphs.jsonl"
    done = gsina("train", file, *QUICK, "--out", folds, "--resume")
    assert done.exit_code == 2
    assert "holds several runs, not one" in done.stderr
    done = gsina("train", file, *QUICK, "--seeds", "0,1", "--out", folds, "--resume")
    assert "holds several runs, not these" in done.stderr
    other = tmp_path / "other"
    shutil.copytree(folds, other)
    (other / "mine").mkdir()
    (other / "mine" / "run.json").write_text("{}")
    assert gsina("train", file, *QUICK, "--out", other, "--force").exit_code == 0
    left = sorted(path.relative_to(other).as_posix() for path in other.glob("*/*.json"))
    assert left == ["mine/run.json", "model/model.json"]


def test_seeds_are_runs_of_their_own(gsina, folds, tmp_path):
    file, out = folds.parent / "graphs.jsonl", tmp_path / "seeds"
    assert gsina("train", file, *QUICK, "--seeds", "2,5", "--out", out).exit_code == 0
    assert gsina("train", file, *QUICK, "--seed", 5, "--out", tmp_path / "alone").exit_code == 0
    assert_same_run(out / "seed-5", tmp_path / "alone")
    assert not (out / "predictions.csv").exists()
    assert json.loads((out / "run.json").read_text())["repeats"]["seeds"] == [2, 5]


def test_options_that_do_not_go_together(gsina, folds):
    file = folds.parent / "graphs.jsonl"
    for options, sentence in (
        (("--seeds", "0,1", "--folds", 3), "either --seeds or --folds"),
        (("--seeds", "0,1", "--seed", 3), "leave --seed out"),
        (("--folds", 3, "--split", "size"), "says which rows are the test"),
        (("--folds", 3, "--show-recipe"), "not part of a recipe"),
        (("--seeds", "a"), "--seeds needs whole numbers"),
        (("--seeds", "0,1", "--baseline"), "--baseline is for one run"),
        (("--seeds", "0,1", "--ensemble", 2), "would be shared between runs"),
    ):
        done = gsina("train", file, *QUICK, *options)
        assert done.exit_code == 2
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("by", [(), ("--environment", "site")])
def test_nodes_are_divided_into_folds_too(gsina, tmp_path, by):
    nodes = [["id", "label", "site", "size"]]
    nodes += [[f"n{i}", "ab"[i % 2] if i % 7 else "", f"s{i % 5}", i % 3] for i in range(40)]
    edges = [["source", "target"], *([f"n{i}", f"n{(i + 2) % 40}"] for i in range(40))]
    for name, rows in (("nodes.csv", nodes), ("edges.csv", edges)):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    files = ("--nodes", "nodes.csv", "--edges", "edges.csv")
    done = gsina("train", *files, *by, "--feature", "size", "--folds", 2, *QUICK, "--out", "run")
    assert done.exit_code == 0, done.output
    rows = table(tmp_path / "run" / "predictions.csv")
    labelled = [row for row in nodes[1:] if row[1]]
    assert [(row["name"], row["label"]) for row in rows] == [(row[0], row[1]) for row in labelled]
    sites = {row[0]: row[2] for row in labelled}
    if by:
        apart = {(sites[row["name"]], row["fold"]) for row in rows}
        assert len(apart) == 5


def test_scaffolds_stay_together(gsina, tmp_path):
    pytest.importorskip("rdkit")
    rings = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1")
    tails = ("O", "N", "Cl", "CC", "CCO", "CN")
    rows = [f"{ring}{tail},{len(tail)}" for tail in tails for ring in rings]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,size", *rows]) + "\n")
    arguments = ("--target", "size", "--task", "regression", "--folds", 2, *QUICK)
    done = gsina("train", "m.csv", *arguments, "--out", "run")
    assert done.exit_code == 0, done.output
    found = table(tmp_path / "run" / "predictions.csv")
    assert len(found) == 30
    assert all(float(row["size"]) == len(tails[place // 5]) for place, row in enumerate(found))
    assert len({(place % 5, row["fold"]) for place, row in enumerate(found)}) == 5
