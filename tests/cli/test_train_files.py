"""A user's own files: train, predict, explain, and what can go wrong."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from gsina.cli import app
from gsina.models.folder import load_model
from gsina.training import loop

pytest.importorskip("rdkit")

QUICK = ("--epochs", 2, "--batch-size", 16)
RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1")
TAILS = ("O", "N", "Cl", "CC", "CCO", "C(=O)O", "CN", "CCC")
BROKEN = "C1CC"


def molecules(path: Path, *, count: int = 40, seed: int = 0) -> Path:
    """Rings with tails; those with an oxygen are active. One row cannot be read."""
    rows = [["id", "smiles", "active", "weight", "other"]]
    for number in range(count):
        smiles = RINGS[number % 5] + TAILS[(number // 5 + seed) % 8]
        active = "yes" if "O" in smiles else "no"
        rows.append([str(number), smiles, active, str(100 + len(smiles)), str(number % 2)])
    rows.insert(3, ["broken", BROKEN, "yes", "1", "0"])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def assert_sentence(done, *parts: str) -> None:
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run; its file is beside it."""
    folder = tmp_path_factory.mktemp("own")
    file = molecules(folder / "molecules.csv")
    arguments = ["train", file, "--target", "active", "--out", folder / "run", *QUICK]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.output)
    return folder / "run"


def test_a_run_ends_with_scores_a_model_a_page_and_the_next_command(trained):
    said = trained.with_name("said.txt").read_text()
    for part in ("in-distribution test", "OOD test", "ROC-AUC", "accuracy", "1 rows could not be"):
        assert part in said
    assert f"predict {trained} new.csv -o out.csv" in said
    names = {path.name for path in trained.iterdir()}
    assert {"model", "report.html", "unreadable.csv", "result.json", "log.jsonl"} <= names
    assert read(trained / "unreadable.csv")[0]["row"] == "4"
    assert RINGS[0] in (trained / "report.html").read_text()
    meta = json.loads((trained / "model" / "model.json").read_text())
    assert meta["featuriser"]["columns"]["smiles"] == "smiles"
    assert meta["class_names"] == ["no", "yes"]
    assert meta["data"]["split"] == "scaffold"
    # A model folder tells nothing about the machine it was made on.
    assert str(trained.parent) not in (trained / "model" / "model.json").read_text()


def test_predict_answers_every_row_in_order(gsina, trained, tmp_path):
    file = molecules(tmp_path / "new.csv", count=10, seed=3)
    done = gsina("predict", trained, file, "-o", "out.csv", "--attention")
    assert done.exit_code == 0
    assert "11 rows: 10 predicted, 1 could not be read" in done.output
    before, after = read(file), read(tmp_path / "out.csv")
    assert [{name: row[name] for name in before[0]} for row in after] == before
    for row in after:
        if row["smiles"] == BROKEN:
            assert row["prediction"] == row["probability_yes"] == row["atom_weights"] == ""
            assert "ring" in row["reason"]
            continue
        assert row["reason"] == ""
        shares = {name: float(row[f"probability_{name}"]) for name in ("no", "yes")}
        assert row["prediction"] == max(shares, key=shares.__getitem__)
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        bonds, atoms = json.loads(row["bond_weights"]), json.loads(row["atom_weights"])
        assert sum(weight for _, _, weight in bonds) == pytest.approx(0.5 * len(bonds), abs=1e-2)
        assert max(atoms) == max(weight for _, _, weight in bonds)


def test_the_file_agrees_with_the_model_in_python(gsina, trained, tmp_path, monkeypatch):
    from gsina.formats import molecule_tables

    small = partial(molecule_tables.stream_molecules, chunk=4)
    monkeypatch.setattr(molecule_tables, "stream_molecules", small)
    file = molecules(tmp_path / "new.csv", count=9)
    assert gsina("predict", trained, file, "-o", "out.csv").exit_code == 0
    rows = [row for row in read(tmp_path / "out.csv") if row["prediction"]]
    model = load_model(trained)
    shares = model.probabilities(model.predict([row["smiles"] for row in rows]).logits)[:, 0]
    found = torch.tensor([float(row["probability_yes"]) for row in rows])
    torch.testing.assert_close(found, shares, atol=1e-5, rtol=1e-5)


def test_predict_as_json_lines_and_with_names_that_are_taken(gsina, trained, tmp_path):
    (tmp_path / "a.csv").write_text("prediction,smiles\nmine,CCO\nmine,xyz\n")
    assert gsina("predict", trained, "a.csv", "-o", "out.jsonl", "--attention").exit_code == 0
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first["prediction"] == "mine"
    assert first["gsina_prediction"] in ("yes", "no")
    assert isinstance(first["probability_no"], float)
    assert first["bond_weights"][0][:2] == [0, 1]
    assert second["gsina_prediction"] is None
    assert second["reason"]
    gsina("predict", trained, "a.csv")
    assert read(tmp_path / "a-predictions.csv")[0]["gsina_prediction"] in ("yes", "no")


def test_explain_shows_the_surest(gsina, trained, tmp_path):
    file = molecules(tmp_path / "new.csv")
    done = gsina("explain", trained, file, "--top", 3, "-o", "page.html")
    assert done.exit_code == 0
    assert "1 of 41 rows could not be read" in done.output
    gsina("predict", trained, file, "-o", "out.csv")
    rows = [row for row in read(tmp_path / "out.csv") if row["prediction"]]
    rows.sort(key=lambda r: -max(float(r["probability_yes"]), float(r["probability_no"])))
    text = (tmp_path / "page.html").read_text()
    assert "3 of 41 rows" in text
    assert '["predicts","active (no, yes)"]' in text
    assert '["model","run (gsina on ' in text
    assert '["could not be read","1 of 41 rows"]' in text
    assert '"caption":"scores of the model when it was trained"' in text
    assert '"order":"Most confident","molecules":true' in text
    assert text.count('"confidence"') == 3
    assert json.dumps(rows[0]["smiles"])[1:-1] in text


def test_nothing_is_overwritten(gsina, trained, tmp_path):
    file = molecules(tmp_path / "new.csv", count=5)
    text = file.read_text()
    assert_sentence(gsina("predict", trained, file, "-o", file), "is the input itself")
    (tmp_path / "out.csv").write_text("precious")
    assert_sentence(gsina("predict", trained, file, "-o", "out.csv"), "exists already", "--force")
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert gsina("predict", trained, file, "-o", "out.csv", "--force").exit_code == 0
    assert file.read_text() == text
    (tmp_path / "latin.csv").write_bytes(b"smiles\nCCO\nC\xe9\n")
    assert_sentence(gsina("predict", trained, "latin.csv", "-o", "b.csv"), "not UTF-8")
    assert not (tmp_path / "b.csv").exists()


def test_a_run_in_the_folder_is_kept(gsina, trained, tmp_path):
    file = trained.with_name("molecules.csv")
    before = (trained / "result.json").read_text()
    again = ("train", file, "--target", "active", "--out", trained, *QUICK)
    assert_sentence(gsina(*again), "holds a finished run", "--resume", "--force")
    assert_sentence(gsina(*again, "--resume", "--seed", 1), "holds another run (seed 0, not 1)")
    # A file that cannot be read does not cost the run that is to be replaced.
    (tmp_path / "empty.csv").write_text("")
    bad = ("train", "empty.csv", "--target", "active", "--out", trained, "--force")
    assert_sentence(gsina(*bad), "empty")
    assert (trained / "result.json").read_text() == before


def interrupt_after(monkeypatch: pytest.MonkeyPatch, epochs: int) -> None:
    run, count = loop._epoch, iter(range(1000))

    def some(*arguments: object) -> dict[str, object]:
        if next(count) == epochs:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(loop, "_epoch", some)


def test_an_interrupted_training_goes_on(gsina, trained, tmp_path, monkeypatch):
    file = molecules(tmp_path / "molecules.csv")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        done = gsina("train", file, "--target", "active", "--out", "run", *QUICK)
    assert done.exit_code == 130
    assert "1 whole epochs are saved in run" in done.output
    assert "train --out run --resume" in done.output
    assert_sentence(gsina("predict", "run", file), "is not finished", "--resume")
    done = gsina("train", "--out", "run", "--resume")
    assert "continuing after 1 epochs" in done.output
    one, other = (load_file(f / "model" / "model.safetensors") for f in (trained, Path("run")))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_changed_file_is_not_resumed(gsina, tmp_path, monkeypatch):
    file = molecules(tmp_path / "molecules.csv")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        gsina("train", file, "--target", "active", "--out", "run", *QUICK)
    molecules(file, seed=1)
    assert_sentence(gsina("train", "--out", "run", "--resume"), "has changed since")
    assert_sentence(
        gsina("train", "--out", "run", "--resume", "--target", "x"), "--target cannot be given"
    )


def test_ratio_auto(gsina, tmp_path):
    file = molecules(tmp_path / "m.csv")
    done = gsina("train", file, "--target", "active", "--ratio", "auto", "--out", "run", *QUICK)
    assert done.exit_code == 0, done.output
    assert "was the best on validation data" in done.output
    tried = json.loads(Path("run/result.json").read_text())["ratios_tried"]
    assert sorted(tried) == ["0.3", "0.5", "0.7"]
    ratio = load_model(Path("run")).architecture.method_options["ratio"]
    assert tried[str(ratio)] == max(tried.values())


def test_regression_and_several_targets(gsina, tmp_path):
    file = molecules(tmp_path / "m.csv")
    done = gsina("train", file, "--target", "weight", "--task", "regression", "--out", "a", *QUICK)
    assert "RMSE" in done.output
    assert "R2" in done.output
    gsina("predict", "a", file, "-o", "a.csv")
    values = [float(row["prediction"]) for row in read(tmp_path / "a.csv") if row["prediction"]]
    assert 90 < sum(values) / len(values) < 130
    targets = ("--target", "active", "--target", "other", "--split", "random")
    done = gsina("train", file, *targets, "--method", "erm", "--out", "b", *QUICK)
    assert "ROC-AUC of" in done.output
    gsina("predict", "b", file, "-o", "b.csv")
    row = read(tmp_path / "b.csv")[0]
    assert row["prediction_other"] in ("0", "1")
    assert 0 < float(row["probability_active"]) < 1
    failed = gsina("predict", "b", file, "--attention", "-o", "c.csv")
    assert_sentence(failed, "has no attention to write")


def graphs(path: Path, count: int = 30) -> Path:
    lines = []
    for number in range(count):
        size = 4 + number % 3
        ring = number % 2 == 0
        edges = [[i, (i + 1) % size] if ring else [0, i] for i in range(size) if ring or i]
        lines.append(
            json.dumps(
                {
                    "id": f"g{number}",
                    "nodes": [[1.0, float(i)] for i in range(size)],
                    "edges": edges,
                    "label": "ring" if ring else "star",
                }
            )
        )
    lines.insert(1, "{broken")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_graphs(gsina, tmp_path):
    file = graphs(tmp_path / "graphs.jsonl")
    done = gsina("train", file, "--split", "size", "--out", "run", *QUICK)
    assert done.exit_code == 0, done.output
    assert gsina("predict", "run", file, "--attention", "-o", "out.csv").exit_code == 0
    rows = read(tmp_path / "out.csv")
    assert len(rows) == 31
    assert rows[0]["prediction"] in ("ring", "star")
    assert rows[1]["prediction"] == ""
    assert "not JSON" in rows[1]["reason"]
    assert len(json.loads(rows[0]["edge_weights"])) == 4
    assert len(json.loads(rows[0]["node_weights"])) == 4
    assert gsina("explain", "run", file, "-o", "page.html").exit_code == 0
    assert_sentence(gsina("predict", "run", file, "--nodes", file), "predicts whole graphs")
    assert_sentence(gsina("explain", "run", file, "--smiles", "id", "-o", "b.html"), "--smiles")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_graphs_with_different_fields(gsina, tmp_path, ending):
    file = graphs(tmp_path / "graphs.jsonl")
    assert gsina("train", file, "--out", "run", *QUICK).exit_code == 0
    whole = json.loads(file.read_text().splitlines()[0])
    lines = ["{broken", json.dumps(whole), json.dumps(whole | {"note": "n", "prediction": "mine"})]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    out = tmp_path / f"out.{ending}"
    assert gsina("predict", "run", "new.jsonl", "-o", out).exit_code == 0
    as_json = ending == "jsonl"
    rows = [json.loads(line) for line in out.read_text().splitlines()] if as_json else read(out)
    assert len(rows) == 3
    assert "not JSON" in rows[0]["reason"]
    assert rows[2]["note"] == "n"
    assert rows[2]["prediction"] == "mine"
    assert rows[1]["gsina_prediction"] == rows[2]["gsina_prediction"] in ("ring", "star")


def test_nodes(gsina, tmp_path):
    torch.manual_seed(0)
    lines, pairs = ["id,year,a,b,label"], ["source,target"]
    for node in range(60):
        lines.append(f"n{node},{2000 + node},{node % 2},{node % 5},{'xy'[node % 2]}")
        pairs += [f"n{node},n{other}" for other in torch.randint(0, 60, (3,)).tolist()]
    (tmp_path / "nodes.csv").write_text("\n".join(lines))
    (tmp_path / "edges.csv").write_text("\n".join(pairs))
    tables = ("--nodes", "nodes.csv", "--edges", "edges.csv")
    columns = ("--label", "label", "--split", "time", "--time", "year")
    done = gsina("train", *tables, *columns, "--epochs", 3, "--out", "run")
    assert done.exit_code == 0, done.output
    assert "nodes" in done.output
    assert (tmp_path / "run" / "report.html").exists()
    assert gsina("predict", "run", *tables, "--attention", "-o", "out.csv").exit_code == 0
    rows = read(tmp_path / "out.csv")
    assert [row["id"] for row in rows] == [f"n{node}" for node in range(60)]
    assert {row["prediction"] for row in rows} <= {"x", "y"}
    assert 0 <= float(read(tmp_path / "out-edges.csv")[0]["weight"]) <= 1
    assert gsina("explain", "run", *tables, "--top", 4, "-o", "page.html").exit_code == 0
    text = (tmp_path / "page.html").read_text()
    assert '["predicts","label (x, y)"]' in text
    assert text.count('"centre":') == 4
    assert '"labels":["n' in text
    assert '""' not in text.split('"labels":[')[1].split("]")[0]
    assert_sentence(gsina("predict", "run", "nodes.csv", "--edges", "edges.csv"), "--nodes and")
    assert_sentence(gsina("train", "--nodes", "nodes.csv", "--out", "q"), "needs both tables")
    # The weights of the edges would go where the edges are.
    beside = ("predict", "run", *tables[:2], "--edges", "g-edges.csv", "--attention", "-o", "g.csv")
    (tmp_path / "g-edges.csv").write_text("\n".join(pairs))
    assert_sentence(gsina(*beside, "--force"), "g-edges.csv is the input itself")
    assert (tmp_path / "g-edges.csv").read_text() == "\n".join(pairs)


def test_nodes_with_several_targets(gsina, tmp_path):
    torch.manual_seed(0)
    part = torch.arange(60) % 3
    tensors = {"x": torch.randn(60, 3), "edge_index": torch.randint(0, 60, (2, 150))}
    tensors |= {f"{name}_mask": part == i for i, name in enumerate(("train", "val", "test"))}
    torch.save(tensors | {"y": torch.randint(0, 2, (60, 2)).float()}, tmp_path / "a.pt")
    done = gsina("train", "a.pt", "--epochs", 2, "--out", "run")
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    for split, scores in result["metrics"].items():
        each = [result["targets"][name][split] for name in ("y 1", "y 2")]
        assert sum(each) / 2 == pytest.approx(scores["roc_auc"])
    assert "new.safetensors" in done.output  # what to do next: not two tables


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["train", "m.csv"], ["--target", "id, active, weight, other"]),
        (["train", "m.csv", "--target", "actve"], ["'actve'", "did you mean 'active'"]),
        (["train", "m.csv", "--smiles", "s", "--target", "active"], ["column", "'s'", "smiles"]),
        (["train", "no.csv", "--target", "a"], ["there is no file no.csv"]),
        (["train", "m.csv", "--target", "active", "--split", "time"], ["--time"]),
        (["train", "m.csv", "--target", "active", "--split", "sise"], ["did you mean 'size'"]),
        (["train", "m.csv", "--target", "active", "--ratio", "most"], ["number", "auto", "most"]),
        (["train", "m.csv", "--target", "active", "--ratio", "1.5"], ["(0, 1]", "1.5"]),
        (["train", "m.csv", "--target", "active", "--method", "gsnia"], ["'gsina'"]),
        (["train", "m.csv", "--target", "active", "--backbone", "gni"], ["'gin'"]),
        (["train", "m.csv", "--target", "active", "--set", "ratoi=1"], ["'ratio'"]),
        (["train", "m.csv", "--target", "active", "--bias", "1"], ["named datasets"]),
        (["train", "m.csv", "--target", "active", "--epochs", "0"], ["epochs", "0"]),
        (
            ["train", "m.csv", "--target", "active", "--method", "erm", "--ratio", "auto"],
            ["erm has no ratio"],
        ),
        (["train", "m.csv", "--target", "smiles", "--task", "regression"], ["row", "number"]),
        (["train", "spmotif", "--smiles", "x"], ["--smiles is for your own files"]),
        (["predict", "nowhere", "m.csv"], ["there is no model in nowhere"]),
    ],
)
def test_bad_input_gets_one_sentence(gsina, tmp_path, arguments, parts):
    molecules(tmp_path / "m.csv")
    assert_sentence(gsina(*arguments), *parts)
    assert not (tmp_path / "runs").exists()


def test_predicting_with_a_wrong_column_lists_the_columns(gsina, trained, tmp_path):
    (tmp_path / "a.csv").write_text("structure,name\nCCO,x\n")
    assert_sentence(gsina("predict", trained, "a.csv"), "'smiles'", "name, structure")
    assert gsina("predict", trained, "a.csv", "--smiles", "structure").exit_code == 0


def test_help_has_examples(gsina):
    for name in ("train", "predict", "explain"):
        assert f"gsina {name}" in gsina(name, "--help").output
